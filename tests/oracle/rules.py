"""Numbers by rule, so that recordings hold only what real Paddle answered.

Every array is drawn from a RandomState seeded by the CRC of a key; numpy keeps that stream fixed
over its versions. A rule in a recording is a list: ["uniform", low, high], ["integers", low, high],
["values", [...]], ["full", value], ["special", low, high]: uniform, but one in eight is NaN or
infinite; or ["patches", low, high, cells]: images of cells x cells squares under noise, because the
examples of a batch must differ in more than noise for batch norm to be tame.
"""

import zlib

import numpy as np


def random_state(key):
    return np.random.RandomState(zlib.crc32(key.encode()))


def draw(key, shape, dtype, rule):
    """The array of `shape` and `dtype` that `rule` gives for `key`."""
    kind, *arguments = rule
    if kind == "uniform":
        array = random_state(key).uniform(*arguments, size=shape)
    elif kind == "special":
        array = random_state(key).uniform(*arguments, size=shape)
        kinds = random_state(key + "/kinds").randint(24, size=shape)
        for which, number in enumerate((np.nan, np.inf, -np.inf)):
            array[kinds == which] = number
    elif kind == "integers":
        array = random_state(key).randint(*arguments, size=shape)
    elif kind == "patches":
        low, high, cells = arguments
        height, width = shape[-2] // cells, shape[-1] // cells
        coarse = random_state(key).uniform(low, high, size=[*shape[:-2], cells, cells])
        array = np.kron(coarse, np.ones([height, width]))
        array += 0.3 * random_state(key + "/noise").uniform(low, high, size=shape)
    elif kind == "values":
        array = np.array(arguments[0]).reshape(shape)
    elif kind == "full":
        array = np.full(shape, arguments[0])
    else:
        known = "uniform, special, integers, patches, values, full"
        raise ValueError(f"unknown rule {kind}; known: {known}")
    return np.asarray(array).astype(dtype)


def parameter(name, shape):
    """The value of parameter `name` before the first step: scaled as initializers do, not flat."""
    shape = tuple(int(size) for size in shape)
    unit = random_state(name).uniform(-1, 1, size=shape)
    if name.startswith("bn"):
        array = _batch_norm(name, unit)
    elif len(shape) < 2:
        array = 0.1 * unit
    else:
        fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
        fan_out = shape[1] if len(shape) == 2 else int(np.prod(shape)) // shape[1]
        array = unit * np.sqrt(6 / (fan_in + fan_out))
    return array.astype("float32")


def _batch_norm(name, unit):
    """Scales and offsets that keep values away from the kink of the ReLU behind.

    In a small ResNet one activation that rounds to the other side of zero changes the gradients
    below it by up to a hundredth, and after 20 steps no two implementations would agree. So each
    channel lies five deviations above or below zero, and a residual branch adds little.
    """
    level = 0.1 if "branch2b" in name or "branch2c" in name else 0.5
    if name.endswith("_scale"):
        return level * (1 + 0.1 * unit)
    return np.sign(unit) * level * (5 + np.abs(unit))


def relative_error(found, expected):
    """The largest difference, relative to the largest magnitude that was expected.

    What was expected to be NaN or infinite must be just that.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    if found.size != expected.size:
        return np.inf
    found, expected = found.reshape(-1).astype("float64"), expected.reshape(-1).astype("float64")
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return np.inf
    found, expected = found[finite], expected[finite]
    if expected.size == 0:
        return 0.0
    scale = max(np.abs(expected).max(), 1e-30)
    return float(np.abs(found - expected).max() / scale)


def same_shape(found, expected):
    """Scalars are shape () in late releases of Paddle and (1,) in the others; both will do."""
    return found == expected or (found in ((), (1,)) and expected in ((), (1,)))
