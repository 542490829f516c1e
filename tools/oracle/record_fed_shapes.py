"""Records what real Paddle does with the feeds of tests/oracle/fed_shapes.py.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_fed_shapes.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_fed_shapes.py

Writes tests/oracle/recorded/fed_shapes_<version>.json.
"""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import fed_shapes  # noqa: E402
import paddle  # noqa: E402


def main():
    found = fed_shapes.answers()
    path = TESTS / "recorded" / f"fed_shapes_{paddle.__version__}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} feeds recorded with Paddle {paddle.__version__}")


if __name__ == "__main__":
    main()
