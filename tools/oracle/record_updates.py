"""Records the optimizers of tests/oracle/update_cases.py as Paddle 1.8 writes and runs them.

    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_updates.py

Writes tests/oracle/recorded/updates_<version>.npz: for each optimizer its serialized programs and
the parameter after every step.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import update_cases  # noqa: E402
from record_loads import serialized  # noqa: E402

recorded = {}
for name in update_cases.OPTIMIZERS:
    main, startup = update_cases.build(name)
    recorded[f"{name}/main"], recorded[f"{name}/startup"] = serialized(main), serialized(startup)
    recorded[f"{name}/steps"] = update_cases.train(main, startup)
np.savez_compressed(TESTS / "recorded" / f"updates_{paddle.__version__}.npz", **recorded)
