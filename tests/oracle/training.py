"""Builds a model, and trains it 20 steps from known parameters, in whichever `paddle` is imported."""

import importlib.util

import numpy as np
import paddle

import rules
from feeds import feed

try:
    import paddle.static as static
    from paddle.utils import unique_name

    place = paddle.CPUPlace()
    paddle.enable_static()
except ImportError:  # 1.8
    import paddle.fluid as static
    from paddle.fluid import unique_name

    place = static.CPUPlace()

STEPS = 20


def models():
    """Every model that this `paddle` has the words for, by name."""
    found = {}
    for words, module in (("paddle.static", "models"), ("paddle.fluid", "fluid_models")):
        if importlib.util.find_spec(words):  # 2.6.2 has no fluid, 1.8.5 nothing else
            found.update(importlib.import_module(module).MODELS)
    return found


def build(model):
    """Programs of `model` after minimize, before any run, with the names that matter in them."""
    net, optimizer = model
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), unique_name.guard():
        loss, prediction, metrics = net()
        infer = main.clone(for_test=True)
        optimizer().minimize(loss)
    return {
        "main": main,
        "startup": startup,
        "infer": infer,
        "loss": loss.name,
        "prediction": prediction.name,
        "metrics": [metric.name for metric in metrics],
        "parameters": {p.name: list(p.shape) for p in main.all_parameters() if p.trainable},
    }


def set_parameters(scope, parameters):
    """Gives every parameter the value its name stands for."""
    for name, shape in parameters.items():
        scope.find_var(name).get_tensor().set(rules.parameter(name, shape), place)


def train(name, built, perturb=0.0, steps=STEPS):
    """Losses and metrics of every step, and the checksums of the parameters after the last.

    `name` picks the feeds. `built` needs main, startup, loss, metrics and parameters, as build()
    gives them. `perturb` scales random changes of the initial parameters, to see how much a program
    amplifies them.
    """
    scope = static.Scope()
    with static.scope_guard(scope):
        executor = static.Executor(place)
        executor.run(built["startup"])
        set_parameters(scope, built["parameters"])
        if perturb:
            _shake(scope, built["parameters"], perturb)
        fetches, rows = [built["loss"], *built["metrics"]], []
        for step in range(steps):
            values = executor.run(built["main"], feed=feed(name, step), fetch_list=fetches)
            rows.append([float(np.array(value).reshape(-1)[0]) for value in values])
        final = {
            parameter: _checksum(np.array(scope.find_var(parameter).get_tensor()))
            for parameter in built["parameters"]
        }
    rows = np.array(rows)
    metrics = {metric: rows[:, i + 1].tolist() for i, metric in enumerate(built["metrics"])}
    return {"losses": rows[:, 0].tolist(), "metrics": metrics, "checksums": final}


def _checksum(array):
    """Two numbers that change with any value and with the order of values."""
    flat = array.reshape(-1).astype("float64")
    weights = rules.random_state("checksum").uniform(-1, 1, size=flat.size)
    return [float(flat.sum()), float((flat * weights).sum())]


def _shake(scope, parameters, size):
    generator = np.random.RandomState(0)
    for name in parameters:
        tensor = scope.find_var(name).get_tensor()
        value = np.array(tensor)
        noise = generator.uniform(-size, size, value.shape)
        tensor.set((value * (1 + noise)).astype("float32"), place)
