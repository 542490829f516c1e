"""Descriptions of data sets in files."""

from paddle._files import open_file
from paddle.base import message_text
from paddle.base.proto.data_feed_pb2 import DataFeedDesc as _Message

__all__ = ["DataFeedDesc"]


class DataFeedDesc:
    """What the text of a message in a file says of a data set: its slots, batch size and command.

    >>> fluid.DataFeedDesc("data.proto").set_use_slots(["words", "label"])
    """

    def __init__(self, proto_file):
        self.proto_desc = _Message(pipe_command="cat")
        with open_file(proto_file, "r") as file:
            message_text.merge(file.read(), self.proto_desc)

    def set_batch_size(self, batch_size):
        """How many samples a batch has."""
        self.proto_desc.batch_size = batch_size

    def set_dense_slots(self, dense_slots_name):
        """Let slots hold as many values in every sample."""
        for slot in self._slots("set_dense_slots", dense_slots_name):
            slot.is_dense = True

    def set_use_slots(self, use_slots_name):
        """Let the program use slots; the others are skipped."""
        for slot in self._slots("set_use_slots", use_slots_name):
            slot.is_used = True

    def _slots(self, word, names):
        if self.proto_desc.name != "MultiSlotDataFeed":
            raise ValueError(
                f'{word} needs a description of the name "MultiSlotDataFeed", but this one has the name '
                f'"{self.proto_desc.name}"'
            )
        known = {slot.name: slot for slot in self.proto_desc.multi_slot_desc.slots}
        for name in names:
            if name not in known:
                raise ValueError(f'there is no slot "{name}": the slots are {", ".join(known)}')
        return [known[name] for name in names]

    def desc(self):
        """The description as text."""
        return str(self.proto_desc)
