"""Descriptions of data sets as messages."""

from paddle.base.messages import messages

_made = messages(
    """
    message Slot {
      required string name = 1;
      required string type = 2;
      optional bool is_dense = 3 [ default = false ];
      optional bool is_used = 4 [ default = false ];
      repeated int32 shape = 5;
    }
    message MultiSlotDesc {
      repeated Slot slots = 1;
      optional string uid_slot = 2;
    }
    message DataFeedDesc {
      optional string name = 1;
      optional int32 batch_size = 2 [ default = 32 ];
      optional MultiSlotDesc multi_slot_desc = 3;
      optional string pipe_command = 4;
      optional int32 thread_num = 5;
      optional string rank_offset = 6;
      optional int32 pv_batch_size = 7 [ default = 32 ];
      optional int32 input_type = 8 [ default = 0 ];
      optional string so_parser_name = 9;
    }
    """,
    __name__,
)
globals().update(_made)
__all__ = list(_made)
