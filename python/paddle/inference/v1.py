"""Predictions in the words of 1.8: ``fluid.core.AnalysisConfig`` and ``create_paddle_predictor``."""

import enum

import numpy as np

import _flotilla as core

from . import Tensor
from .config import Config as AnalysisConfig

__all__ = [
    *("AnalysisConfig", "NativeConfig", "PaddleBuf", "PaddleDType", "PaddlePlace"),
    *("PaddlePredictor", "PaddleTensor", "ZeroCopyTensor", "create_paddle_predictor"),
]

ZeroCopyTensor = Tensor


class PaddleDType(enum.IntEnum):
    """Types of elements."""

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2


class PaddlePlace(enum.IntEnum):
    """Where values are."""

    UNK = -1
    CPU = 0
    GPU = 1


class NativeConfig:
    """Which model a predictor runs; ``use_gpu`` and the like have no effect."""

    def __init__(self):
        self.model_dir = self.prog_file = self.param_file = ""
        self.use_gpu = self.specify_input_name = False
        self.device = 0
        self.fraction_of_gpu_memory = -1.0
        self._threads = 1

    def set_cpu_math_library_num_threads(self, count):
        """Say how many threads a run may use."""
        self._threads = count

    def cpu_math_library_num_threads(self):
        """How many threads a run may use."""
        return self._threads

    def _to_config(self):
        config = AnalysisConfig()
        config.set_prog_file(self.prog_file)
        config.set_params_file(self.param_file)
        config.set_model(self.model_dir)
        config.switch_specify_input_names(self.specify_input_name)
        config.set_cpu_math_library_num_threads(self._threads)
        return config


class PaddleBuf:
    """Elements in a row; a number makes so many bytes."""

    def __init__(self, data=()):
        self.reset(np.zeros(data, "uint8") if isinstance(data, int) else data)

    def reset(self, data):
        """Take other elements."""
        floats = isinstance(data, (list, tuple))
        self._array = np.array(data, "float32" if floats else None).reshape(-1)

    def resize(self, length):
        """So many bytes, of which new ones are zero."""
        given = self._array.view("uint8")[:length]
        self._array = np.concatenate([given, np.zeros(length - given.size, "uint8")])

    def empty(self):
        """Whether it holds nothing."""
        return self._array.size == 0

    def length(self):
        """How many bytes there are."""
        return self._array.nbytes

    def float_data(self):
        """The bytes as numbers of single precision."""
        return self._array.view("float32").tolist()

    def int64_data(self):
        """The bytes as whole numbers of 64 bits."""
        return self._array.view("int64").tolist()

    def int32_data(self):
        """The bytes as whole numbers of 32 bits."""
        return self._array.view("int32").tolist()

    def tolist(self, dtype):
        """The bytes as numbers of a type."""
        return self._array.view(dtype).tolist()


class PaddleTensor:
    """An array with a name and sequences: what goes into a predictor and comes out of it."""

    def __init__(self, data=None, name="", lod=(), copy=True):
        array = np.empty(0, "float32") if data is None else np.array(data, copy=copy or None)
        self.data, self.name, self.lod = PaddleBuf(array), name, [list(level) for level in lod]
        self.shape = list(array.shape)
        self.dtype = PaddleDType[array.dtype.name.upper()]

    def as_ndarray(self):
        """The elements as an array."""
        return np.array(self.data.tolist(self.dtype.name.lower()), self.dtype.name.lower()).reshape(
            self.shape
        )


class PaddlePredictor:
    """A model that predicts, for one thread: others take a ``clone()``."""

    Config = NativeConfig

    def __init__(self, by_name, predictor):
        self._by_name, self._core = by_name, predictor

    def get_input_names(self):
        """The names of the inputs."""
        return self._core.input_names()

    def get_output_names(self):
        """The names of the outputs."""
        return self._core.output_names()

    def get_input_tensor(self, name):
        """The input of this name."""
        return Tensor(self._core, name, self._core.input)

    def get_output_tensor(self, name):
        """The output of this name, of the run before."""
        return Tensor(self._core, name, self._core.output)

    def zero_copy_run(self):
        """Predict what the inputs ask for."""
        self._core.run()
        return True

    def run(self, inputs):
        """What is predicted for some PaddleTensors, which are inputs in order, or by their names
        where the config says so."""
        names = self._core.input_names()
        if len(inputs) != len(names):
            raise ValueError(f"the model has {len(names)} inputs, but run() got {len(inputs)}")
        for name, one in zip(names, inputs):
            name = one.name if self._by_name else name
            self._core.set_input_lod(name, one.lod)
            self._core.copy_input(name, one.as_ndarray())
        self._core.run()
        outputs = [(name, self._core.output(name)) for name in self._core.output_names()]
        return [PaddleTensor(one.numpy(), name, one.lod()) for name, one in outputs]

    def clone(self):
        """Another predictor with the same weights, for another thread."""
        return PaddlePredictor(self._by_name, self._core.clone())


def create_paddle_predictor(config):
    """A predictor of the model that ``config`` names."""
    if isinstance(config, NativeConfig):
        config = config._to_config()
    if not isinstance(config, AnalysisConfig):
        found = type(config).__name__
        raise TypeError(
            f"create_paddle_predictor() takes an AnalysisConfig or a NativeConfig, but got {found}"
        )
    made = core.Predictor(config._model(), config.cpu_math_library_num_threads())
    return PaddlePredictor(config.specify_input_name(), made)
