"""Which names real Paddle has, in which release, and which of them are here.

The lists names_<version>.txt were made by tools/oracle/record_names.py from Paddle itself.
"""

import functools
import importlib
import importlib.util
import pathlib
import re

import _flotilla as core

# Eras, the oldest first, and the release that stands for each.
RELEASES = {"1.8": "1.8.5", "2.x": "2.6.2"}

_TRAINER = (
    *("BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent"),
    *("Inferencer", "Trainer"),
)
# Names that were gone by the releases above, and that documents of their time use.
_GONE = {
    "0.14": {
        "paddle.fluid": _TRAINER,
        "paddle.fluid.contrib": _TRAINER,
        "paddle.fluid.contrib.inferencer": ("Inferencer",),
        "paddle.fluid.contrib.trainer": _TRAINER[:-2] + ("Trainer",),
        "paddle.fluid.inferencer": ("Inferencer",),
        "paddle.fluid.trainer": _TRAINER[:-2] + ("Trainer",),
    },
    "2.0": {"paddle": ("data",), "paddle.common_ops_import": ("core",)},
}

_STATIC = (
    "Flotilla trains static programs; build the model after paddle.enable_static() and run it with "
    "paddle.static.Executor"
)
NO_ADVICE = "not implemented"
# What to do about names under these.
_ADVICE = {
    f"paddle.{name}": advice
    for advice, names in (
        (_STATIC, "DataParallel Model autograd callbacks flops fluid.dygraph hapi jit summary"),
        ("leave it out; training runs in single precision", "amp fluid.contrib.mixed_precision"),
        ("use a system profiler such as perf", "fluid.profiler profiler"),
        ("not part of Flotilla", "audio fluid.contrib.slim quantization sparse"),
        ("gradients are part of the program; use paddle.static.gradients", "grad"),
        ("save the model with paddle.static.save_inference_model, in Paddle's format", "onnx"),
    )
    for name in names.split()
}


@functools.cache
def modules(era):
    """From each module to its names, in one of RELEASES."""
    text = (pathlib.Path(__file__).parent / f"names_{RELEASES[era]}.txt").read_text()
    rows = (line.split(": ") for line in text.splitlines())
    return {module: tuple(names.split()) for module, names in rows}


@functools.cache
def _all_modules():
    """Modules of any era, and the packages around them."""
    named = [*modules("1.8"), *modules("2.x"), *_GONE["0.14"], *_GONE["2.0"]]
    parts = [name.split(".") for name in named]
    return {".".join(one[:length]) for one in parts for length in range(1, len(one) + 1)}


@functools.cache
def _eras():
    """From each name to the eras that have it."""
    found = {}
    for era, table in [*_GONE.items(), *((era, modules(era)) for era in RELEASES)]:
        for module, names in table.items():
            for name in names:
                found.setdefault(f"{module}.{name}", []).append(era)
    return found


def eras(name):
    """The eras that have a name, the oldest first."""
    return sorted(_eras().get(name, ()))


def is_module(name):
    """Whether it is a module, of real Paddle or here; a function of the same name comes first."""
    return name not in _eras() and (name in _all_modules() or _spec(name))


def _spec(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@functools.cache
def has(name):
    """Whether Flotilla has a name, which may be a module, and can do what it is for."""
    module, _, leaf = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), leaf) if module else None
        return not getattr(found, "_refuses", False) if module else name == "paddle"
    except AttributeError:
        return False
    except ImportError:
        return _spec(name)


def value(name):
    """What a name that is here stands for. REQUIRES: has(name)"""
    module, _, leaf = name.rpartition(".")
    return getattr(importlib.import_module(module), leaf)


def lacks_method(kind, method):
    """Whether a class that is here lacks an attribute; of anything else nothing is known."""
    found = value(kind) if has(kind) and "." in kind else None
    return (
        isinstance(found, type) and not hasattr(found, method) and not hasattr(found, "__getattr__")
    )


@functools.cache
def _one_of(kind):
    """An object of a class that is here and needs no arguments, or None."""
    found = value(kind) if has(kind) and "." in kind else None
    try:
        return found() if isinstance(found, type) else None
    except Exception:  # whatever a class says that is made for something else
        return None


def lacks_setting(kind, name):
    """Whether objects of a class that is here have no attribute to assign to. Of private names, and of
    classes that need arguments, nothing is known: programs keep what they like in objects."""
    made = None if name.startswith("_") else _one_of(kind)
    return made is not None and not hasattr(made, name)


@functools.cache
def _supported():
    """From the last part of each name that is here, without regard to its style, to the names."""
    found = {}
    for name in _eras():
        if has(name):
            found.setdefault(_plain(name.rpartition(".")[2]), []).append(name)
    return found


def _plain(word):
    return re.sub("_|(v2|op)$", "", word.lower())


def known_advice(name):
    """What this file says of a name or of the module around it, or None."""
    for prefix in sorted(_ADVICE, key=len, reverse=True):
        if name == prefix or name.startswith(prefix + "."):
            return _ADVICE[prefix]
    return None


def advice(name):
    """What to do about a name that is not here."""
    known = known_advice(name)
    if known:
        return known
    module, _, leaf = name.rpartition(".")
    same = _supported().get(_plain(leaf))
    if same:
        return f"use {max(same, key=lambda one: (_shared(one, name), -len(one)))}"
    here = [one.rpartition(".")[2] for one in _eras() if one.startswith(f"{module}.") and has(one)]
    if _one_of(module) is not None:
        here = [one for one in dir(_one_of(module)) if not one.startswith("_")]
    near = core.nearest(leaf, here)
    return f"nearest: {module}.{near}" if near else NO_ADVICE


def _shared(one, other):
    """How many parts two names share from the start."""
    pairs = zip(one.split("."), other.split("."))
    return next((count for count, (a, b) in enumerate(pairs) if a != b), 99)
