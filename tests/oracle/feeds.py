"""What the recorded programs eat: the batch of every step, by rule."""

import rules

BATCHES = 4  # different batches; a run goes round them


def labels(batch, classes):
    return [batch, 1], "int64", ["integers", 0, classes]


DIGITS = {"x": ([64, 1, 28, 28], "float32", ["uniform", -1, 1]), "y": labels(64, 10)}
FEW_DIGITS = {"x": ([16, 1, 28, 28], "float32", ["uniform", -1, 1]), "y": labels(16, 10)}
IMAGES = {"x": ([8, 3, 64, 64], "float32", ["patches", -1, 1, 8]), "y": labels(8, 10)}
HOUSES = {
    "x": ([20, 13], "float32", ["uniform", -1, 1]),
    "y": ([20, 1], "float32", ["uniform", 5, 50]),
}
GOLDEN = {"x": ([5, 2, 6, 6], "float32", ["uniform", -1, 1]), "y": labels(5, 3)}


def clicks(slots, rows):
    ids = {f"C{i}": labels(32, rows) for i in range(1, slots + 1)}
    dense = [32, 13], "float32", ["uniform", 0, 1]
    return {"dense_input": dense, **ids, "label": labels(32, 2)}


FEEDS = {
    "mlp": DIGITS,
    "lenet": FEW_DIGITS,
    "resnet18": IMAGES,
    "resnet50": IMAGES,
    "wide_deep": clicks(26, 1001),
    "linear_regression": HOUSES,
    "branches": HOUSES,
    "loops": HOUSES,
    "fluid_mlp": DIGITS,
    "fluid_linear_regression": HOUSES,
    "fluid_branches": HOUSES,
    "fluid_resnet18": IMAGES,
    "fluid_wide_deep": clicks(4, 101),
    "golden": GOLDEN,
}


def feed(model, step, names=None):
    """The batch of `step`, by variable, restricted to the variables `names`."""
    return {
        name: rules.draw(f"{name}/{step % BATCHES}", shape, dtype, rule)
        for name, (shape, dtype, rule) in FEEDS[model].items()
        if names is None or name in names
    }
