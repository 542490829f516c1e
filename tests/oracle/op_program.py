"""Builds the small program of a recorded case and runs it, in whichever `paddle` is imported.

The recorder runs it in real Paddle (1.8.5 and 2.6.2) and keeps the answers; the tests run it in
Flotilla and compare. A case is a dict:

    name    unique; seeds the inputs
    paddle  the version that answered
    vars    name -> {shape, dtype, rule}: the inputs; dtypes of other variables as {dtype}. `lod`:
            the lengths of their sequences, level by level
    ops     [{type, inputs, outputs, attrs}], slots -> variable names; attrs name -> [kind, value]
    fetch   outputs to compare
    grad    inputs whose gradients are compared, for the gradient `<out>@SEED` of each of `seeds`
    sparse  answers that are row-sparse -> their dense shape
    lods    answers whose sequences are compared too, as `<name>.lod/<level>`
    after   ops that follow the backward ones and may read `<input>@GRAD`

An input that an op also writes (a parameter of an optimizer) is a persistable variable, set in the
scope; the others are fed.
"""

import numpy as np
import paddle

import rules

try:
    import paddle.static as static

    place = paddle.CPUPlace()
    paddle.enable_static()
except ImportError:  # 1.8
    import paddle.fluid as static

    place = static.CPUPlace()


def inputs_of(case):
    """Every input array of `case`, by variable name, and the output gradients `<out>@SEED`."""
    arrays = {}
    for name, var in case["vars"].items():
        if "rule" in var:
            key = case["name"] + "/" + name
            arrays[name] = rules.draw(key, var["shape"], var["dtype"], var["rule"])
    return arrays


def run(case, keep_sparse=False):
    """Answers of `case`: name -> array. Gradients are named `<input>@GRAD`.

    A row-sparse answer comes as a dense array, unless `keep_sparse`: then as `<name>.rows` and
    `<name>.values`, read from the scope.
    """
    arrays = inputs_of(case)
    state = _written(case) & set(arrays)
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    sparse = case.get("sparse", {})
    with static.scope_guard(scope), static.program_guard(main, startup):
        variables = {
            name: _declare(main, name, array, name in state, _lod(case, name))
            for name, array in arrays.items()
            if not name.endswith("@SEED")
        }
        for op in case["ops"]:
            _append(main, case, variables, op)
        gradients = _gradients(main, case, variables, arrays)
        for op in case.get("after", ()):
            _append(main, case, {**variables, **gradients}, op)
        fetches = {name: variables[name] for name in case["fetch"]}
        if not case.get("after"):
            fetches.update(gradients)
        for name, shape in sparse.items():
            if keep_sparse:
                fetches.pop(name).persistable = True
            else:
                fetches[name] = _densify(main, fetches[name], shape)
        for name in state:
            scope.var(name).get_tensor().set(arrays[name], place)
        feed = {
            name: _with_lod(array, _lod(case, name))
            for name, array in arrays.items()
            if name not in state
        }
        executor = static.Executor(place)
        values = executor.run(
            main, feed=feed, fetch_list=list(fetches.values()), return_numpy=False
        )
        answers = dict(zip(fetches, (np.array(value) for value in values)))
        for name, value in zip(fetches, values):
            if name in case.get("lods", ()):
                for level, lengths in enumerate(value.recursive_sequence_lengths()):
                    answers[f"{name}.lod/{level}"] = np.array(lengths, "int64")
        if keep_sparse:
            for name in sparse:
                rows = scope.find_var(name).get_selected_rows()
                answers[name + ".rows"] = np.array(rows.rows(), "int64")
                answers[name + ".values"] = np.array(rows.get_tensor())
    return answers


def _written(case):
    ops = case["ops"] + case.get("after", [])
    return {name for op in ops for names in op["outputs"].values() for name in names}


def _lod(case, name):
    return case["vars"].get(name, {}).get("lod")


def _with_lod(array, lengths):
    if lengths is None:
        return array
    import paddle.fluid as fluid

    return fluid.create_lod_tensor(array, lengths, place)


def _declare(program, name, array, is_state, lod=None):
    shape, dtype = list(array.shape), str(array.dtype)
    if is_state:
        return program.global_block().create_var(
            name=name, shape=shape, dtype=dtype, persistable=True, stop_gradient=False
        )
    variable = static.data(name, shape, dtype, lod_level=len(lod or ()))
    variable.stop_gradient = not dtype.startswith("float")
    return variable


def _append(program, case, variables, op):
    block = program.global_block()
    for names in op["outputs"].values():
        for name in names:
            if name not in variables:
                dtype = case["vars"].get(name, {}).get("dtype", "float32")
                variables[name] = block.create_var(name=name, dtype=dtype)
    block.append_op(
        type=op["type"],
        inputs={slot: [variables[n] for n in names] for slot, names in op["inputs"].items()},
        outputs={slot: [variables[n] for n in names] for slot, names in op["outputs"].items()},
        attrs={name: value for name, (_, value) in op["attrs"].items()},
    )


def _gradients(program, case, variables, arrays):
    if not case.get("grad"):
        return {}
    targets = [variables[name] for name in case["seeds"]]
    seeds = []
    for name, target in zip(case["seeds"], targets):
        seed = name + "@SEED"
        lod = _lod(case, seed)
        if arrays[seed].size == 1:  # a scalar has shape () or (1,), as the release has it
            arrays[seed] = arrays[seed].reshape(target.shape)
        if arrays[seed].shape == tuple(target.shape):
            seeds.append(_declare(program, seed, arrays[seed], False, lod))
        else:  # the number of rows is known only when the program runs
            about = {"shape": list(target.shape), "dtype": str(arrays[seed].dtype)}
            about.update(is_data=True, lod_level=len(lod or ()))
            seeds.append(program.global_block().create_var(name=seed, **about))
    inputs = [variables[name] for name in case["grad"]]
    found = static.gradients(targets, inputs, target_gradients=seeds)
    for name, variable in zip(case["grad"], found):
        assert variable is not None, f"{case['name']}: no gradient for {name}"
    return {name + "@GRAD": variable for name, variable in zip(case["grad"], found)}


def _densify(program, gradient, shape):
    """`gradient` as a dense tensor: what SGD with learning rate -1 makes of zeros."""
    block = program.global_block()
    zeros = block.create_var(name=gradient.name + ".dense", dtype="float32")
    rate = block.create_var(name=gradient.name + ".rate", dtype="float32")
    for variable, size, value in ((zeros, shape, 0.0), (rate, [1], -1.0)):
        block.append_op(
            type="fill_constant",
            outputs={"Out": [variable]},
            attrs={"shape": size, "value": value, "dtype": 5},
        )
    block.append_op(
        type="sgd",
        inputs={"Param": [zeros], "Grad": [gradient], "LearningRate": [rate]},
        outputs={"ParamOut": [zeros]},
    )
    return zeros
