"""From the samples of a batch to arrays, and from arrays to what a loader yields."""

import numbers
from collections.abc import Mapping, Sequence

import numpy as np

import _flotilla as core

TENSOR_DTYPES = frozenset(
    ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
)


def default_collate_fn(batch):
    """Stacks the samples of a batch, field by field.

    Arrays gain a first axis, numbers become arrays, texts a list; tuples, lists and dicts are
    collated inside.
    """
    return _collate(batch, _stack_arrays)


def default_convert_fn(batch):
    """What a loader without batches makes of a sample: nothing changes but numpy's own numbers."""
    return batch


def collate_to_tensors(batch):
    """The same with the stacked arrays as tensors, in memory that is used again."""
    return _collate(batch, _stack_tensors)


def _collate(batch, stack):
    first = batch[0]
    if isinstance(first, (np.ndarray, core.LoDTensor, np.generic)):
        return stack(batch)
    if isinstance(first, numbers.Number):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: _collate([sample[key] for sample in batch], stack) for key in first}
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            counts = sorted({len(sample) for sample in batch})
            raise ValueError(
                "all samples of a batch must have the same number of fields, but there are samples "
                f"with {' and '.join(map(str, counts))}"
            )
        return [_collate(list(field), stack) for field in zip(*batch)]
    raise TypeError(
        "a sample must hold arrays, numbers, texts, or tuples, lists and dicts of them, but one "
        f"holds a {type(first).__name__}; give the loader a collate_fn of your own"
    )


def _stack_arrays(samples):
    arrays = [np.asarray(sample) for sample in samples]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        found = " and ".join(str(list(shape)) for shape in sorted(shapes)[:3])
        raise ValueError(
            f"the samples of a batch must have one shape, but this field has {found}; pad them, or "
            "give the loader a collate_fn of your own"
        )
    return np.stack(arrays)


def _stack_tensors(samples):
    made = core.stack(samples)
    return _stack_arrays(samples) if made is None else made


def to_tensors(value):
    """The value with tensors in place of arrays."""
    if isinstance(value, np.ndarray):
        return core.to_lod_tensor(value) if value.dtype.name in TENSOR_DTYPES else value
    if isinstance(value, Mapping):
        return {key: to_tensors(one) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(to_tensors, value))
    if isinstance(value, (list, tuple)):
        return [to_tensors(one) for one in value]
    return value


def flat(value):
    """The arrays and tensors inside a value, in order."""
    if type(value) is list and not any(isinstance(one, (list, tuple, dict)) for one in value):
        return value
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for one in value for leaf in flat(one)]
    return [value]
