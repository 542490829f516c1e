"""What programs take from ``fluid.core``: values, places, codes, and exceptions."""

import _flotilla

from paddle._rows import rows

from .executor import _generator

rows(globals())

# The caller's mistakes are ValueErrors, everything else is a RuntimeError; `except` takes both.
EnforceNotMet = (ValueError, RuntimeError)


def get_cuda_device_count():
    """The number of GPUs that programs can run on."""
    return 0


def set_num_threads(number):
    """How many threads a program runs on."""
    _flotilla.set_threads(int(number))


def default_cpu_generator():
    """The source of random numbers."""
    return _generator


def kEmptyVarName():  # noqa: N802 (Paddle's name)
    """The name that stands for no variable."""
    return "@EMPTY@"
