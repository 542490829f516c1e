"""Dynamic graphs: programs may import what is here, and each call of it is refused."""

import functools

from paddle._rows import rows

__all__ = [
    *rows(globals()),
    *("disable_dygraph", "enable_dygraph", "grad", "guard", "to_variable"),
]


def _refused(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        raise RuntimeError(
            f"{function.__name__}() is for dynamic graphs, which Flotilla does not run: build the "
            "program after paddle.enable_static(), and run it with paddle.static.Executor"
        )

    call._refuses = True  # for paddle.compat
    return call


@_refused
def enable_dygraph(place=None):
    """Refused: programs are always built first and run then."""


def disable_dygraph():
    """Build programs, as always."""


@_refused
def guard(place=None):
    """Refused: programs are always built first and run then."""


@_refused
def to_variable(value, name=None, zero_copy=None, dtype=None):
    """Refused: values are fed to a program when it runs."""


@_refused
def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=False,
    no_grad_vars=None,
):
    """Refused: gradients become part of a program by ``paddle.static.gradients``."""
