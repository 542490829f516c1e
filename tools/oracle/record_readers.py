"""Records what real Paddle's readers and data sets yield.

    FLT_TEST_DATA=... $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_readers.py
    FLT_TEST_DATA=... $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_readers.py

Writes tests/oracle/recorded/readers_<version>.json: hashes and small values. Without scipy, which
only 1.8.5's environment has, flowers are left out.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import paddle  # noqa: E402
import paddle.dataset  # noqa: E402
import reader_cases as cases  # noqa: E402


def main():
    found = {"readers": cases.readers(), "real": cases.real(os.environ["FLT_TEST_DATA"])}
    for case in cases.SETS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[case.__name__] = case(folder)
            except (ImportError, AttributeError) as error:
                if "scipy" not in str(error):
                    raise
                print(f"left out {case.__name__}: {error}")
    path = TESTS / "recorded" / (f"readers_{paddle.__version__}.json")
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    print(f"{len(found)} cases recorded with Paddle {paddle.__version__}")


if __name__ == "__main__":
    main()
