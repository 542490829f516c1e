"""Programs as messages, as the files of Paddle hold them: flotilla/ir/framework.proto, with texts."""

from paddle.base.messages import messages

_made = messages(
    """
    enum AttrType {
      INT = 0;
      FLOAT = 1;
      STRING = 2;
      INTS = 3;
      FLOATS = 4;
      STRINGS = 5;
      BOOLEAN = 6;
      BOOLEANS = 7;
      BLOCK = 8;
      LONG = 9;
      BLOCKS = 10;
      LONGS = 11;
      FLOAT64S = 12;
      VAR = 13;
      VARS = 14;
      FLOAT64 = 15;
      SCALAR = 16;
      SCALARS = 17;
    }
    message Complex {
      required double r = 1;
      required double i = 2;
    }
    message Scalar {
      enum Type {
        BOOLEAN = 1;
        LONG = 2;
        FLOAT64 = 3;
        COMPLEX128 = 4;
      }
      required Type type = 1;
      optional bool b = 2;
      optional int64 i = 3;
      optional double r = 4;
      optional Complex c = 5;
    }
    message OpDesc {
      message Attr {
        required string name = 1;
        required AttrType type = 2;
        optional int32 i = 3;
        optional float f = 4;
        optional string s = 5;
        repeated int32 ints = 6;
        repeated float floats = 7;
        repeated string strings = 8;
        optional bool b = 10;
        repeated bool bools = 11;
        optional int32 block_idx = 12;
        optional int64 l = 13;
        repeated int32 blocks_idx = 14;
        repeated int64 longs = 15;
        repeated double float64s = 16;
        optional string var_name = 17;
        repeated string vars_name = 18;
        optional double float64 = 19;
        optional Scalar scalar = 20;
        repeated Scalar scalars = 21;
      }
      message Var {
        required string parameter = 1;
        repeated string arguments = 2;
      }
      repeated Var inputs = 1;
      repeated Var outputs = 2;
      required string type = 3;
      repeated Attr attrs = 4;
      optional bool is_target = 5 [default = false];
    }
    message VarType {
      enum Type {
        BOOL = 0;
        INT16 = 1;
        INT32 = 2;
        INT64 = 3;
        FP16 = 4;
        FP32 = 5;
        FP64 = 6;
        SIZE_T = 19;
        UINT8 = 20;
        INT8 = 21;
        BF16 = 22;
        COMPLEX64 = 23;
        COMPLEX128 = 24;
        LOD_TENSOR = 7;
        SELECTED_ROWS = 8;
        FEED_MINIBATCH = 9;
        FETCH_LIST = 10;
        STEP_SCOPES = 11;
        LOD_RANK_TABLE = 12;
        LOD_TENSOR_ARRAY = 13;
        PLACE_LIST = 14;
        READER = 15;
        RAW = 17;
        TUPLE = 18;
        STRING = 25;
        STRINGS = 26;
        VOCAB = 27;
        FEED_LIST = 28;
        PSTRING = 29;
        SPARSE_COO = 30;
        SPARSE_CSR = 31;
      }
      message TensorDesc {
        required Type data_type = 1;
        repeated int64 dims = 2;
      }
      message LoDTensorDesc {
        required TensorDesc tensor = 1;
        optional int32 lod_level = 2 [default = 0];
      }
      message LoDTensorArrayDesc {
        required TensorDesc tensor = 1;
        optional int32 lod_level = 2 [default = 0];
      }
      message ReaderDesc {
        repeated LoDTensorDesc lod_tensor = 1;
      }
      message Tuple {
        repeated Type element_type = 1;
      }
      required Type type = 1;
      optional TensorDesc selected_rows = 2;
      optional LoDTensorDesc lod_tensor = 3;
      optional LoDTensorArrayDesc tensor_array = 4;
      optional ReaderDesc reader = 5;
      optional Tuple tuple = 7;
      optional TensorDesc string = 8;
      optional TensorDesc strings = 9;
      optional TensorDesc vocab = 10;
      optional TensorDesc sparse_coo = 11;
      optional TensorDesc sparse_csr = 12;
    }
    message VarDesc {
      message Attr {
        required string name = 1;
        required AttrType type = 2;
        optional int32 i = 3;
        optional string s = 4;
        repeated int32 ints = 5;
      }
      required string name = 1;
      required VarType type = 2;
      optional bool persistable = 3 [default = false];
      optional bool need_check_feed = 4 [default = false];
      optional bool is_parameter = 5 [default = false];
      optional bool stop_gradient = 6 [default = false];
      repeated Attr attrs = 7;
    }
    message BlockDesc {
      required int32 idx = 1;
      required int32 parent_idx = 2;
      repeated VarDesc vars = 3;
      repeated OpDesc ops = 4;
      optional int32 forward_block_idx = 5 [default = -1];
    }
    message Version {
      optional int64 version = 1 [default = 0];
    }
    message OpVersion {
      required int32 version = 1;
    }
    message OpVersionMap {
      message OpVersionPair {
        required string op_name = 1;
        required OpVersion op_version = 2;
      }
      repeated OpVersionPair pair = 1;
    }
    message ProgramDesc {
      repeated BlockDesc blocks = 1;
      optional Version version = 4;
      optional OpVersionMap op_version_map = 5;
    }
    """,
    __name__,
)
globals().update(_made)
__all__ = list(_made)
