"""Predictions with saved models: a Config says which, a Predictor runs it.

>>> predictor = create_predictor(Config("mnist.pdmodel", "mnist.pdiparams"))
>>> predictor.get_input_handle("image").copy_from_cpu(images)
>>> predictor.run()
>>> scores = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
"""

import enum

import numpy as np

import _flotilla as core
from paddle import version

from .config import Config, PrecisionType

__all__ = [
    "PrecisionType",
    *("Config", "DataType", "PlaceType", "Tensor", "Predictor"),
    *("create_predictor", "get_version", "get_num_bytes_of_data_type", "PredictorPool"),
    *("get_trt_compile_version", "get_trt_runtime_version"),
]


class DataType(enum.IntEnum):
    """Types of elements."""

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2
    UINT8 = 3
    INT8 = 4
    FLOAT16 = 5
    BOOL = 6
    FLOAT64 = 7


class PlaceType(enum.IntEnum):
    """Where values are."""

    UNK = -1
    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM = 3


class Tensor:
    """An input or an output of a predictor, by its name."""

    def __init__(self, predictor, name, value):
        self._predictor, self._name, self._value = predictor, name, value

    def name(self):
        """The name of the variable."""
        return self._name

    def copy_from_cpu(self, data):
        """Set an input to the elements of an array, which are copied."""
        if not isinstance(data, np.ndarray):
            raise TypeError(f"copy_from_cpu() takes a numpy array, but got {type(data).__name__}")
        self._predictor.copy_input(self._name, data)

    def share_external_data(self, data):
        """Set an input to an array or a tensor, whose memory each run reads."""
        self._predictor.share_input(self._name, data)

    def reshape(self, shape):
        """Set an input to zeros of this shape."""
        self._predictor.reshape_input(self._name, shape)

    def set_lod(self, lod):
        """Say where the sequences of an input begin."""
        self._predictor.set_input_lod(self._name, lod)

    def copy_to_cpu(self):
        """The elements as an array."""
        return self._value(self._name).numpy()

    def shape(self):
        """The extents."""
        return self._value(self._name).shape()

    def lod(self):
        """Where sequences begin, level by level."""
        return self._value(self._name).lod()

    def type(self):
        """The type of the elements."""
        return DataType[self._value(self._name)._dtype().upper()]


class Predictor:
    """A model that predicts, for one thread: others take a ``clone()``."""

    def __init__(self, config, _core=None):
        self._core = _core or core.Predictor(config._model(), config.cpu_math_library_num_threads())

    def get_input_names(self):
        """The names of the inputs."""
        return self._core.input_names()

    def get_output_names(self):
        """The names of the outputs."""
        return self._core.output_names()

    def get_input_handle(self, name):
        """The input of this name."""
        self._core.input(name)  # refuses names that are unknown
        return Tensor(self._core, name, self._core.input)

    def get_output_handle(self, name):
        """The output of this name, of the run before."""
        self._core.output(name)
        return Tensor(self._core, name, self._core.output)

    def run(self, inputs=None):
        """Predict what the inputs ask for. ``inputs``: their values, in order; then the outputs are
        returned."""
        if inputs is None:
            return self._core.run()
        names = self._core.input_names()
        if len(inputs) != len(names):
            raise ValueError(f"the model has {len(names)} inputs, but run() got {len(inputs)}")
        for name, value in zip(names, inputs):
            self._core.share_input(name, value)
        self._core.run()
        return [self._core.output(name) for name in self._core.output_names()]

    def clone(self):
        """Another predictor with the same weights, for another thread."""
        return type(self)(None, self._core.clone())

    def clear_intermediate_tensor(self):
        """Give back the memory of runs."""
        self._core.shrink()

    def try_shrink_memory(self):
        """Give back the memory of runs; returns how many bytes Flotilla holds on to."""
        self._core.shrink()
        return core.memory_use()[0]


class PredictorPool:
    """Several predictors of one model, one for each thread."""

    def __init__(self, config, size=1):
        if size < 1:
            raise ValueError(f"a pool needs at least one predictor, but size is {size}")
        first = Predictor(config)
        self._predictors = [first, *(first.clone() for _ in range(size - 1))]

    def retrive(self, index):
        """The predictor with this index."""
        if not 0 <= index < len(self._predictors):
            raise IndexError(f"index must lie in [0, {len(self._predictors)}), but is {index}")
        return self._predictors[index]


def create_predictor(config):
    """A predictor of the model that ``config`` names."""
    if not isinstance(config, Config):
        raise TypeError(f"create_predictor() takes a Config, but got {type(config).__name__}")
    return Predictor(config)


def get_version():
    """The version of the package."""
    return f"version: {version.full_version}\n"


def get_num_bytes_of_data_type(dtype):
    """How many bytes an element takes."""
    return np.dtype(DataType(dtype).name.lower()).itemsize


def get_trt_compile_version():
    """(0, 0, 0): TensorRT is not part of it."""
    return (0, 0, 0)


get_trt_runtime_version = get_trt_compile_version
