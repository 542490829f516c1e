"""Records the kinds of the attributes of real Paddle's operators, for tests/oracle/test_attrs.py.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_attrs.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_attrs.py

Writes tests/oracle/recorded/attrs_<era>.json.gz: {op: {attribute: kind}}.
"""

import gzip
import json
from pathlib import Path

import paddle

try:
    from paddle.base import framework
    from paddle.base.proto import framework_pb2
except ImportError:  # 1.8
    from paddle.fluid import framework
    from paddle.fluid.proto import framework_pb2

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"


def main():
    era = "1x" if paddle.__version__.startswith("1.") else "2x"
    kinds = {
        name: {attr.name: framework_pb2.AttrType.Name(attr.type) for attr in proto.attrs}
        for name, proto in framework.OpProtoHolder.instance().op_proto_map.items()
    }
    text = json.dumps(kinds, sort_keys=True).encode()
    (TESTS / "recorded" / f"attrs_{era}.json.gz").write_bytes(gzip.compress(text, mtime=0))
    print(f"{len(kinds)} operators recorded with Paddle {paddle.__version__}")


if __name__ == "__main__":
    main()
