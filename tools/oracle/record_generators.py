"""Writes tests/oracle/recorded/generators_<version>.json: what data generators print.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_generators.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_generators.py
"""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import generator_cases  # noqa: E402
import paddle  # noqa: E402

recorded = generator_cases.outputs()
if not paddle.__version__.startswith("1.8"):
    recorded["zipped"] = generator_cases.zipped()
file = TESTS / "recorded" / f"generators_{paddle.__version__}.json"
file.write_text(json.dumps(recorded, indent=1) + "\n")
