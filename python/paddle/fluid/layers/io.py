"""Inputs in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of

__all__ = ["data"]


def data(
    name, shape, append_batch_size=True, dtype="float32", lod_level=0, type=7, stop_gradient=True
):
    """Declare what a run is fed; an unknown batch extent is put before ``shape``.

    >>> fluid.layers.data(name="x", shape=[13]).shape
    (-1, 13)
    """
    return core.data(
        name,
        shape,
        dtype,
        lod_level,
        append_batch_size=append_batch_size,
        need_check_feed=False,
        stop_gradient=stop_gradient,
    )


__getattr__, __dir__ = names_of(__name__)
