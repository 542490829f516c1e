"""GPUs, as Paddle's programs ask for them: this build uses none."""

import sys

from paddle._words import named

from ._streams import Event, Stream, current_stream, stream_guard, synchronize  # noqa: F401

__all__ = [
    *("Event", "Stream", "current_stream", "device_count", "empty_cache", "get_device_capability"),
    *("get_device_name", "get_device_properties", "max_memory_allocated", "max_memory_reserved"),
    *("memory_allocated", "memory_reserved", "stream_guard", "synchronize"),
]

_said = []


def device_count():
    """How many GPUs programs can run on: none."""
    return 0


def empty_cache():
    """Nothing to give back: there is no memory of a GPU."""


def _bytes(word):
    def count(device=None):
        if not _said:
            _said.append(word)
            text = "there is no GPU on this machine, so its memory is counted as 0"
            print(f"paddle.device.cuda.{word}: {text}", file=sys.stderr)
        return 0

    return named(count, word, "How many bytes of a GPU's memory: 0, for there is none.")


max_memory_allocated = _bytes("max_memory_allocated")
max_memory_reserved = _bytes("max_memory_reserved")
memory_allocated = _bytes("memory_allocated")
memory_reserved = _bytes("memory_reserved")


def _nothing_of(word, what):
    def refuse(device=None):
        raise ValueError(
            f"{word} needs a GPU, but there is none on this machine; ask "
            "paddle.device.cuda.device_count() first"
        )

    return named(refuse, word, f"Refused: there is no GPU whose {what} could be told.")


get_device_capability = _nothing_of("get_device_capability", "capability")
get_device_name = _nothing_of("get_device_name", "name")
get_device_properties = _nothing_of("get_device_properties", "properties")
