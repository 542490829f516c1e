"""Inputs of programs."""

import _flotilla as core

from .dtype import dtype as _dtype
from .dtype import get_default_dtype


def data(name, shape, dtype="float32", lod_level=0):
    """Declare what a run is fed: the whole shape, with None where any extent will do.

    What is fed must have the declared rank, fixed extents and dtype.
    """
    return core.data(name, shape, get_default_dtype() if dtype is None else dtype, lod_level)


class InputSpec:
    """Shape, dtype and name of an input."""

    def __init__(self, shape, dtype="float32", name=None, stop_gradient=False):
        self.shape = tuple(-1 if extent is None else int(extent) for extent in shape)
        self.dtype = _dtype(dtype)
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_numpy(cls, ndarray, name=None):
        """The shape and dtype of an array."""
        return cls(ndarray.shape, ndarray.dtype, name)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """The shape and dtype of a variable."""
        return cls(tensor.shape, tensor.dtype, name or tensor.name)

    def __repr__(self):
        shape = list(self.shape)
        return f"InputSpec(shape={shape}, dtype={self.dtype}, name={self.name})"

    def __eq__(self, other):
        return isinstance(other, InputSpec) and vars(self) == vars(other)

    def __hash__(self):
        return hash((self.shape, self.dtype, self.name))
