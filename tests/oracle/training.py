"""Trains a recorded program in whichever `paddle` is imported, 20 steps from known parameters."""

import importlib.util

import numpy as np
import paddle

import model as model_parts

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
    return model_parts.build_training(model, static, unique_name)


def train(model, built, perturb=0.0, steps=STEPS):
    """Losses and metrics of every step, and the checksums of the parameters after the last.

    `built` needs main, startup, loss, metrics and parameters, as build() gives them. `perturb`
    scales random changes of the initial parameters, to see how much a program amplifies them.
    """
    scope = static.Scope()
    with static.scope_guard(scope):
        executor = static.Executor(place)
        executor.run(built["startup"])
        model_parts.set_parameters(scope, built["parameters"], place)
        if perturb:
            _shake(scope, built["parameters"], perturb)
        fetches, rows = [built["loss"], *built["metrics"]], []
        for step in range(steps):
            values = executor.run(built["main"], feed=model.feed(step), fetch_list=fetches)
            rows.append([float(np.array(value).reshape(-1)[0]) for value in values])
        final = {
            name: model_parts.checksum(np.array(scope.find_var(name).get_tensor()))
            for name in built["parameters"]
        }
    rows = np.array(rows)
    metrics = {name: rows[:, i + 1].tolist() for i, name in enumerate(built["metrics"])}
    return {"losses": rows[:, 0].tolist(), "metrics": metrics, "checksums": final}


def _shake(scope, parameters, size):
    generator = np.random.RandomState(0)
    for name in parameters:
        tensor = scope.find_var(name).get_tensor()
        value = np.array(tensor)
        noise = generator.uniform(-size, size, value.shape)
        tensor.set((value * (1 + noise)).astype("float32"), place)
