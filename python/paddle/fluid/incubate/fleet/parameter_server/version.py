"""Which kind of fleet the package is built for."""

from paddle.fluid.incubate.fleet.base.mode import Mode

BUILD_MODE = Mode.TRANSPILER


def is_transpiler():
    """Whether programs are divided between workers and servers: always."""
    return BUILD_MODE == Mode.TRANSPILER
