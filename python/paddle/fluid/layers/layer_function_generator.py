"""Decorators that 1.x put on layers written in Python."""

import functools
import warnings

import _flotilla as core

__all__ = ["autodoc", "deprecated", "generate_activation_fn", "templatedoc"]


def generate_activation_fn(op_type):
    """The function of a variable that appends an operator from ``X`` to ``Out``."""

    def activation(x, name=None):
        return core.op(op_type, {"X": x}, name=name)

    activation.__name__ = activation.__qualname__ = op_type
    activation.__doc__ = core.op_doc(op_type)
    return activation


def deprecated(func_or_class):
    """Warn whenever the function, or class, is used."""

    @functools.wraps(func_or_class)
    def used(*args, **kwargs):
        warnings.warn(
            f"API {func_or_class.__name__} is deprecated", DeprecationWarning, stacklevel=2
        )
        return func_or_class(*args, **kwargs)

    return used


def autodoc(comment=""):
    """Put a comment before the text of a function."""

    def document(func):
        func.__doc__ = comment + (func.__doc__ or "")
        return func

    return document


def templatedoc(op_type=None):
    """Fill ``${comment}`` in the text of a function: what its operator does."""

    def document(func):
        if func.__doc__ and "${comment}" in func.__doc__:
            doc = core.op_doc(op_type or func.__name__)
            func.__doc__ = func.__doc__.replace("${comment}", doc)
        return func

    return document
