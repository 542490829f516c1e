"""Variables by themselves: global ones and parameters."""

import _flotilla as core


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A variable of both programs that starts with ``value``.

    An existing name gives a second handle to the same variable.
    """
    return core.create_global_var(shape, value, dtype, persistable, name)


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A parameter by itself.

    Where ``attr`` is given and has no name, ``name`` becomes that of a layer: ``name.w_0``.
    """
    attr = name if attr is None else attr
    return core.create_parameter(shape, dtype, attr, is_bias, default_initializer, name)
