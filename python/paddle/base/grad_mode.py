"""Guards around gradients: accepted, without effect, as in real Paddle's static programs.

There a variable has no gradient if its ``stop_gradient`` says so.
"""

import contextlib


class no_grad(contextlib.ContextDecorator):
    """``with paddle.no_grad():`` or ``@paddle.no_grad()``: lets what is inside be built."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class enable_grad(no_grad):
    """``with paddle.enable_grad():`` lets what is inside be built."""


class set_grad_enabled(no_grad):
    """``with paddle.set_grad_enabled(mode):`` lets what is inside be built."""

    def __init__(self, mode):
        self.mode = mode


def is_grad_enabled():
    """Always False: nothing is differentiated while a program is built."""
    return False
