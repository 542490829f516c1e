"""Decorators that keep the name, the words and the text of what they wrap."""

import contextlib
import functools


__all__ = ["signature_safe_contextmanager", "wrap_decorator"]


def wrap_decorator(decorator_func):
    """The decorator, whose results look like the functions that they wrap."""

    @functools.wraps(decorator_func)
    def wrap(function):
        return functools.wraps(function)(decorator_func(function))

    return wrap


signature_safe_contextmanager = wrap_decorator(contextlib.contextmanager)
