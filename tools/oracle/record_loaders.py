"""Writes tests/oracle/recorded/loaders_<version>.json: what samplers and loaders choose.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_loaders.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_loaders.py
"""

import json
import sys
from pathlib import Path

import numpy as np
import paddle

ORACLE = Path(__file__).resolve().parents[2] / "tests" / "oracle"
sys.path.insert(0, str(ORACLE))

import loader_cases as cases  # noqa: E402


def of_26():
    found = {name: cases.sampled(make) for name, make in cases.samplers().items()}
    for name, words in cases.DISTRIBUTED.items():
        found[name] = cases.distributed(*words)
    paddle.enable_static()
    for workers in (0, 2):
        found[f"loader {workers}"] = cases.loaded(cases.numbers(), workers)
    return json.loads(json.dumps(found, default=lambda x: np.asarray(x).tolist()))


def of_18():
    return {name: cases.fed(make) for name, make in cases.generators().items()}


def main():
    found = of_18() if paddle.__version__.startswith("1.8") else of_26()
    file = ORACLE / "recorded" / f"loaders_{paddle.__version__}.json"
    file.write_text(json.dumps(found, sort_keys=True) + "\n")


main()
