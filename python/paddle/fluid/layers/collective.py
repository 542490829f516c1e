"""Ops that all workers run together."""

import _flotilla as core


def _c_allreduce(x, out=None, reduce_type="sum", ring_id=0, use_calc_stream=False):
    """The sum, least, greatest or product of every worker's ``x``."""
    if reduce_type not in ("sum", "prod", "max", "min"):
        raise TypeError(f"reduce_type must be sum, prod, max or min, but is {reduce_type!r}")
    return _op(f"c_allreduce_{reduce_type}", x, ring_id, use_calc_stream, out=out)


def _c_broadcast(x, root=0, ring_id=0, use_calc_stream=False):
    """The ``x`` of worker ``root``, in place."""
    return _op("c_broadcast", x, ring_id, use_calc_stream, out=x, root=root)


def _c_allgather(x, nranks, ring_id=0, use_calc_stream=False):
    """Every worker's ``x``, one behind the other."""
    return _op("c_allgather", x, ring_id, use_calc_stream, nranks=nranks)


def _c_reducescatter(x, nranks, ring_id=0, use_calc_stream=False):
    """This worker's part of the sum of every worker's ``x``."""
    return _op("c_reducescatter", x, ring_id, use_calc_stream, nranks=nranks)


def _c_sync_calc_stream(x):
    """``x``: steps run in order."""
    return x


def _c_sync_comm_stream(x, ring_id):
    """``x``: steps run in order."""
    return x


def _op(type, x, ring_id, use_calc_stream, out=None, **attrs):
    attrs = {"ring_id": ring_id, "use_calc_stream": use_calc_stream, **attrs}
    if out is None:
        return core.op(type, {"X": x}, attrs)
    x.block.append_op(type=type, inputs={"X": [x]}, outputs={"Out": [out]}, attrs=attrs)
    return out
