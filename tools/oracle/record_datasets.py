"""Writes tests/oracle/recorded/datasets_<version>.json: what training from files prints and learns.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_datasets.py
"""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import dataset_cases  # noqa: E402
import paddle  # noqa: E402

paddle.enable_static()
recorded = dataset_cases.outputs()
for case in recorded.values():
    case["parameters"] = [[float(f"{v:.7g}") for v in values] for values in case["parameters"]]
file = TESTS / "recorded" / f"datasets_{paddle.__version__}.json"
file.write_text(json.dumps(recorded) + "\n")
