"""Ops that all workers run together."""

import _flotilla as core


_KINDS = ("sum", "prod", "max", "min")


def _allreduce(x, out=None, reduce_type="sum", sync_mode=False):
    """The sum, product, greatest or least of every worker's ``x``: the op before ``_c_allreduce``."""
    attrs = {"reduce_type": _KINDS.index(_known(reduce_type)), "sync_mode": sync_mode}
    return _op("allreduce", x, out, **attrs)


def _broadcast(x, root, sync_mode=False):
    """The ``x`` of worker ``root``, in place: the op before ``_c_broadcast``."""
    return _op("broadcast", x, x, root=root, sync_mode=sync_mode)


def _known(reduce_type):
    if reduce_type not in _KINDS:
        raise TypeError(f"reduce_type must be {' or '.join(_KINDS)}, but is {reduce_type!r}")
    return reduce_type


def _c_allreduce(x, out=None, reduce_type="sum", ring_id=0, use_calc_stream=False):
    """The sum, least, greatest or product of every worker's ``x``."""
    return _on_ring(f"c_allreduce_{_known(reduce_type)}", x, ring_id, use_calc_stream, out)


def _c_broadcast(x, root=0, ring_id=0, use_calc_stream=False):
    """The ``x`` of worker ``root``, in place."""
    return _on_ring("c_broadcast", x, ring_id, use_calc_stream, x, root=root)


def _c_allgather(x, nranks, ring_id=0, use_calc_stream=False):
    """Every worker's ``x``, one behind the other."""
    return _on_ring("c_allgather", x, ring_id, use_calc_stream, nranks=nranks)


def _c_reducescatter(x, nranks, ring_id=0, use_calc_stream=False):
    """This worker's part of the sum of every worker's ``x``."""
    return _on_ring("c_reducescatter", x, ring_id, use_calc_stream, nranks=nranks)


def _c_sync_calc_stream(x):
    """``x``: steps run in order."""
    return x


def _c_sync_comm_stream(x, ring_id):
    """``x``: steps run in order."""
    return x


def _on_ring(type, x, ring_id, use_calc_stream, out=None, **attrs):
    return _op(type, x, out, ring_id=ring_id, use_calc_stream=use_calc_stream, **attrs)


def _op(type, x, out, **attrs):
    if out is None:
        return core.op(type, {"X": x}, attrs)
    x.block.append_op(type=type, inputs={"X": [x]}, outputs={"Out": [out]}, attrs=attrs)
    return out
