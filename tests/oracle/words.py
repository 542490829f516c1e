"""Words of the API: expressions that real Paddle and Flotilla both understand, and their values.

A line of words_2x.txt or words_1x.txt is a Python expression over the inputs below; its value, one
variable or several, is run, and so is the gradient of the first with respect to every input of
floats that it depends on, unless the line says "values only" (real Paddle refuses that gradient, or
computes it wrong).
"""

from pathlib import Path

import numpy as np
import paddle

import rules

try:
    import paddle.nn.functional as F
    import paddle.static as static
    from paddle import nn
    from paddle.utils import unique_name

    paddle.enable_static()
    place = paddle.CPUPlace()
    WORDS = {"paddle": paddle, "F": F, "nn": nn, "static": static, "np": np}
except ImportError:  # 1.8
    import paddle.fluid as static
    from paddle.fluid import unique_name

    place = static.CPUPlace()
    WORDS = {"np": np}

HERE = Path(__file__).parent
FLOATS, WHOLE = "float32", "int64"
INPUTS = {
    "x": ([3, 4], FLOATS, ["uniform", -2, 2]),
    "y": ([3, 4], FLOATS, ["uniform", -2, 2]),
    "p": ([3, 4], FLOATS, ["uniform", 0.5, 1.5]),
    "u": ([3, 4], FLOATS, ["uniform", -0.9, 0.9]),
    "b": ([4], FLOATS, ["uniform", -1, 1]),
    "v": ([4], FLOATS, ["uniform", 0.2, 1.2]),
    "v3": ([3], FLOATS, ["uniform", 0, 1]),
    "v1": ([1], FLOATS, ["full", 2.5]),
    "m": ([2, 3, 4], FLOATS, ["uniform", -2, 2]),
    "img": ([2, 3, 8, 8], FLOATS, ["uniform", -2, 2]),
    "i": ([3, 1], WHOLE, ["values", [0, 2, 1]]),
    "ic": ([3], WHOLE, ["values", [0, 2, 1]]),
    "i01": ([3, 1], WHOLE, ["values", [0, 1, 1]]),
    "mi": ([2, 4], WHOLE, ["integers", 0, 3]),
    "k": ([3, 4], WHOLE, ["integers", 0, 9]),
    "k1": ([3, 4], WHOLE, ["integers", 1, 4]),
    "idx": ([2], WHOLE, ["values", [2, 0]]),
    "nd": ([2, 2], WHOLE, ["values", [0, 1, 2, 3]]),
    "rep": ([4], WHOLE, ["values", [1, 0, 1, 1]]),
    "rep2": ([2, 2], WHOLE, ["values", [2, 0, 2, 1]]),
    "no": ([0], WHOLE, ["values", []]),
    "c": ([3, 4], "bool", ["integers", 0, 2]),
    "c2": ([2, 3], "bool", ["integers", 0, 2]),
    "none": ([3, 4], "bool", ["full", 0]),
    "empty": ([0, 4], FLOATS, ["uniform", -1, 1]),
    "d": ([3, 4], "float64", ["uniform", -2, 2]),
    "sl": (
        [3, 4],
        FLOATS,
        ["values", [0.1, 0.2, 0.3, 0.4, 0.25, 0.25, 0.3, 0.2, 0.7, 0.1, 0.1, 0.1]],
    ),
    "pr": ([3, 4], FLOATS, ["uniform", 0.05, 0.95]),
    "pr1": ([3, 1], FLOATS, ["uniform", 0.05, 0.95]),
    "pr2": ([3, 2], FLOATS, ["uniform", 0.05, 0.95]),
    "lab": ([3, 4], FLOATS, ["integers", 0, 2]),
    "lab1": ([3, 1], FLOATS, ["integers", 0, 2]),
    "W45": ([4, 5], FLOATS, ["uniform", -1, 1]),
    "B5": ([5], FLOATS, ["uniform", -1, 1]),
    "E": ([5, 3], FLOATS, ["uniform", -1, 1]),
    "K": ([4, 3, 3, 3], FLOATS, ["uniform", -1, 1]),
    "CB": ([4], FLOATS, ["uniform", -1, 1]),
    "BM": ([3], FLOATS, ["uniform", -1, 1]),
    "BV": ([3], FLOATS, ["uniform", 0.5, 1.5]),
    "BS": ([3], FLOATS, ["uniform", -1, 1]),
    "BB": ([3], FLOATS, ["uniform", -1, 1]),
    "LS": ([4], FLOATS, ["uniform", -1, 1]),
    "LB": ([4], FLOATS, ["uniform", -1, 1]),
}


def lines(era):
    """The expressions of an era, "2x" or "1x"."""
    return (HERE / f"words_{era}.txt").read_text().splitlines()


def understood(era):
    """Whether this `paddle` has the words of an era."""
    return bool(_fluid()) if era == "1x" else "nn" in WORDS


def run(line):
    """The values of an expression, as `out/<n>`, and gradients, as `grad/<input>`."""
    return execute(build(line))


def build(line):
    """The program of an expression, and what it takes to run it anywhere."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), unique_name.guard():
        inputs = {name: _declare(name) for name in INPUTS}
        fetches = _build(line, inputs, main)
    used = {name for op in main.global_block().ops for name in op.input_arg_names}
    used |= {var.name for var in fetches.values()}
    seed = main.global_block().var("seed") if "seed" in used else None
    return {
        "main": main,
        "startup": startup,
        "fetches": {label: var.name for label, var in fetches.items()},
        "inputs": [name for name in INPUTS if name in used],
        "seed": seed is not None and [list(seed.shape), _float_type(seed)],
        "parameters": {var.name: list(var.shape) for var in main.all_parameters()},
    }


def execute(built):
    """Runs what build() gave; labels of fetches -> arrays."""
    scope = static.Scope()
    feed = {name: _value(name) for name in built["inputs"]}
    if built["seed"]:
        feed["seed"] = rules.draw("words/seed", *built["seed"], ["uniform", -1, 1])
    with static.scope_guard(scope):
        executor = static.Executor(place)
        executor.run(built["startup"])
        for name, shape in built["parameters"].items():
            scope.find_var(name).get_tensor().set(_parameter(name, shape), place)
        names = list(built["fetches"].values())
        found = executor.run(built["main"], feed, names, return_numpy=False)  # some have sequences
    return dict(zip(built["fetches"], (np.array(array) for array in found)))


def _build(line, inputs, main):
    """What to fetch: label -> variable."""
    outs = _flat(eval(line, {**WORDS, **_fluid(), **inputs}))
    fetches = {f"out/{n}": out for n, out in enumerate(outs)}
    floats = [inputs[name] for name, input in INPUTS.items() if input[1] == FLOATS]
    used = {name for op in main.global_block().ops for name in op.input_arg_names}
    floats = [var for var in floats if var.name in used]
    if "# values only" not in line and _is_float(outs[0]) and floats:
        for var, grad in zip(floats, static.gradients([outs[0]], floats, _seed(outs[0]))):
            if grad is not None:
                fetches[f"grad/{var.name}"] = grad
    return fetches


def _seed(out):
    """What the gradient of `out` starts from; ones where its extents are not known."""
    if any(extent < 0 for extent in out.shape):
        return None
    return [static.data("seed", list(out.shape), _float_type(out))]


def _float_type(var):
    return "float64" if "64" in str(var.dtype) else FLOATS


def _is_float(var):
    return any(word in str(var.dtype).lower() for word in ("float", "fp32", "fp64"))


def _fluid():
    """The words of 1.x, where there are any."""
    try:
        import paddle.fluid as fluid
    except ImportError:
        return {}
    return {"fluid": fluid, "layers": fluid.layers}


def _flat(value):
    if not isinstance(value, (list, tuple)):
        return [value]
    return [one for part in value for one in _flat(part)]


def _value(name):
    shape, dtype, rule = INPUTS[name]
    return rules.draw(f"words/{name}", shape, dtype, rule)


def _declare(name):
    shape, dtype, _ = INPUTS[name]
    var = static.data(name, shape, dtype)
    var.stop_gradient = dtype != FLOATS
    return var


def _parameter(name, shape):
    value = rules.parameter(name, shape)
    return np.abs(value) + np.float32(0.5) if name.endswith(("w_2", "mv")) else value
