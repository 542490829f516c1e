"""Feeds whose shape is not the one that their variable declares: what becomes of them.

The same code runs in Paddle 1.8.5, in 2.6.2 and in Flotilla; tools/oracle/record_fed_shapes.py
records the answers of the first two: the shape of `x * 2`, "refused", or "nothing" where 1.8 gives
an empty one back as None.
"""

import numpy as np
import paddle

try:
    import paddle.static as static

    PLACE = paddle.CPUPlace()
    paddle.enable_static()
except ImportError:  # 1.8
    import paddle.fluid as static

    PLACE = static.CPUPlace()

# What a variable declares, and what it is fed.
PAIRS = [
    *[((None, 1), shape) for shape in ((4,), (4, 1), (1,), (4, 2), (4, 1, 1), (0,), (0, 1))],
    *[((None, 1, 1), shape) for shape in ((4,), (4, 1), (4, 1, 1))],
    *[((None, 3), shape) for shape in ((3,), (6,), (2, 3), (2, 4), (3, 2))],
    *[((None, 3, 1), shape) for shape in ((2, 3), (2,), (2, 1), (2, 4))],
    *[((4, 1), shape) for shape in ((4,), (5,), (5, 1))],
    *[((None, None), shape) for shape in ((4,), (4, 2))],
    *[((None,), shape) for shape in ((4,), (4, 1))],
]


def answers():
    """From `declared <- fed` to the shape of the result, as a list."""
    return {f"{list(declared)} <- {list(fed)}": _answer(declared, fed) for declared, fed in PAIRS}


def _answer(declared, fed):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", list(declared), "float32")
        y = x * 2.0
    executor = static.Executor(PLACE)
    try:
        (found,) = executor.run(main, feed={"x": np.ones(fed, "float32")}, fetch_list=[y])
    except Exception:  # noqa: BLE001 - what a release raises differs
        return "refused"
    return "nothing" if found is None else list(found.shape)
