"""FLAGS_*: set by the program or by the environment."""

import ast
import collections.abc
import functools
import os

import _flotilla as core
from paddle._names import did_you_mean
from paddle._words import of_kind

# Flags that mean something here, with what they are unless set. Others are accepted, so that
# programs written for Paddle run, and have no effect.
_DEFAULTS = {
    "FLAGS_require_gpu": False,
    "FLAGS_paddle_num_threads": 1,
    "FLAGS_selected_gpus": "",
    "FLAGS_check_nan_inf": False,
    "FLAGS_cpu_deterministic": True,
    "FLAGS_cudnn_deterministic": True,
    "FLAGS_benchmark": False,
}
_set = {}


@functools.cache
def _of_paddle():
    """The other flags of Paddle 1.8.5 and 2.6.2, with what they are there unless set: a program may
    ask for them."""
    with open(os.path.join(os.path.dirname(__file__), "flags.txt")) as file:
        rows = [line.split(" = ", 1) for line in file]
    return {f"FLAGS_{name}": ast.literal_eval(value) for name, value in rows}


# What the core is told.
_TOLD = {
    "FLAGS_paddle_num_threads": lambda name, value: core.set_threads(int(value)),
    # The core reads it from the environment when it takes memory of a GPU.
    "FLAGS_gpu_memory_limit_mb": lambda name, value: os.environ.update({name: str(int(value))}),
    "FLAGS_check_nan_inf": lambda name, value: core.set_check_numbers(_truth(name, value)),
}


def set_flags(flags):
    """Set flags from a dict: ``set_flags({"FLAGS_require_gpu": True})``."""
    for name, value in of_kind(flags, dict, "flags must be a dict, but is").items():
        _check(name)
        _set[name] = value
        if name in _TOLD:
            _TOLD[name](name, value)


def get_flags(flags):
    """The values of one flag or of a list of flags, as a dict."""
    names = [flags] if isinstance(flags, str) else list(flags)
    return {name: _value(name) for name in names}


class _Flags(collections.abc.MutableMapping):
    """All flags: ``fluid.core.globals()["FLAGS_benchmark"] = True``."""

    def __getitem__(self, name):
        return _value(name)

    def __setitem__(self, name, value):
        set_flags({name: value})

    def __delitem__(self, name):
        raise TypeError(f"{name} cannot be taken away: give it another value")

    def __iter__(self):
        return iter({**_of_paddle(), **_DEFAULTS, **_set})

    def __len__(self):
        return len(list(iter(self)))

    def __contains__(self, name):
        return name in set(self)


def all_flags():
    """All flags, as a dict that sets them, too: ``fluid.core.globals()``."""
    return _Flags()


def _truth(name, value):
    if isinstance(value, str):
        value = {"0": 0, "1": 1, "false": 0, "true": 1, "": 0}.get(value.lower(), value)
    if isinstance(value, str):
        raise ValueError(f"{name} must be True or False, but is {value!r}")
    return bool(value)


def _check(name):
    if not isinstance(name, str) or not name.startswith("FLAGS_"):
        raise ValueError(f"the name of a flag must begin with FLAGS_, but is {name!r}")


def _value(name):
    _check(name)
    if name in _set:
        return _set[name]
    if name in os.environ:
        return _parse(name, os.environ[name])
    known = _DEFAULTS if name in _DEFAULTS else _of_paddle()
    if name in known:
        return known[name]
    raise ValueError(f"{name} is not set." + did_you_mean(name, [*_DEFAULTS, *known]))


def _parse(name, text):
    if isinstance(_DEFAULTS.get(name), bool):
        return core.env_flag(name, False)
    if isinstance(_of_paddle().get(name), bool) and text.lower() in ("0", "1", "false", "true"):
        return text.lower() in ("1", "true")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
