"""GPUs, as Paddle's programs ask for them."""

import sys

import _flotilla as core
from paddle._words import named
from paddle.base.place import gpu_of, to_place

from ._streams import Event, Stream, current_stream, stream_guard, synchronize  # noqa: F401

__all__ = [
    *("Event", "Stream", "current_stream", "device_count", "empty_cache", "get_device_capability"),
    *("get_device_name", "get_device_properties", "max_memory_allocated", "max_memory_reserved"),
    *("memory_allocated", "memory_reserved", "stream_guard", "synchronize"),
]

_said = []


def device_count():
    """How many GPUs programs can run on."""
    return core.gpu_count()


def empty_cache():
    """Nothing to give back: what lies idle belongs to plans."""


def _gpu(device):
    """The GPU that a place, a number or a word stands for; the current one for None."""
    if device is None or isinstance(device, int):
        device = f"gpu:{device}" if device is not None else "gpu"
    number = gpu_of(to_place(device))
    return None if number is None else core.gpu(number)


def _bytes(word, asked):
    def count(device=None):
        gpu = _gpu(device)
        if gpu is not None:
            return asked(gpu)
        if not _said:
            _said.append(word)
            text = "there is no GPU on this machine, so its memory is counted as 0"
            print(f"paddle.device.cuda.{word}: {text}", file=sys.stderr)
        return 0

    return named(count, word, "How many bytes of a GPU's memory; without a GPU 0.")


max_memory_allocated = _bytes("max_memory_allocated", core.Gpu.most_allocated)
max_memory_reserved = _bytes("max_memory_reserved", core.Gpu.most_allocated)
memory_allocated = _bytes("memory_allocated", core.Gpu.allocated)
memory_reserved = _bytes("memory_reserved", core.Gpu.allocated)


def _of_gpu(word, what, asked):
    def tell(device=None):
        gpu = _gpu(device)
        if gpu is not None:
            return asked(gpu)
        raise ValueError(
            f"{word} needs a GPU, but there is none on this machine; ask "
            "paddle.device.cuda.device_count() first"
        )

    return named(tell, word, f"The {what} of a GPU; refused without one.")


class _Properties:
    def __init__(self, gpu):
        self.name, self.major, self.minor = gpu.name, gpu.major, gpu.minor
        self.total_memory, self.multi_processor_count = gpu.memory_bytes, gpu.processors

    def __repr__(self):
        shown = ", ".join(f"{word}={value!r}" for word, value in vars(self).items())
        return f"_gpuDeviceProperties({shown})"


get_device_capability = _of_gpu(
    "get_device_capability", "capability", lambda gpu: (gpu.major, gpu.minor)
)
get_device_name = _of_gpu("get_device_name", "name", lambda gpu: gpu.name)
get_device_properties = _of_gpu("get_device_properties", "properties", _Properties)
