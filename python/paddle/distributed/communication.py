"""What workers say to each other: on numpy arrays at once, on variables as ops of the program."""

import os

import numpy as np

import _flotilla as core
from paddle.base import state
from paddle.base.framework import Variable


class ReduceOp:
    """How values of several workers become one."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


_HOW = {
    ReduceOp.SUM: "sum",
    ReduceOp.MAX: "max",
    ReduceOp.MIN: "min",
    ReduceOp.PROD: "prod",
    ReduceOp.AVG: "avg",
}


# Of arrays; in a program, also bfloat16.
_REDUCIBLE = ("float32", "float64", "int32", "int64")


class Group:
    """Some workers of the job, by their ranks."""

    def __init__(self, id, ranks):
        self.id = id
        self.ranks = list(ranks)

    @property
    def rank(self):
        """This worker's rank in the group; -1 where it is not in it."""
        return self.get_group_rank(core.fleet.rank())

    @property
    def nranks(self):
        """How many workers are in the group."""
        return len(self.ranks)

    world_size = nranks

    @property
    def name(self):
        """The name of the group."""
        return f"_default_pg{self.id}"

    @property
    def process_group(self):
        """The group itself."""
        return self

    def is_member(self):
        """Whether this worker is in the group."""
        return self.rank >= 0

    def get_group_rank(self, rank):
        """The rank in the group of the worker with ``rank`` in the job; -1: it is not there."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def __repr__(self):
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {self.ranks}"


_groups = {}
os.register_at_fork(after_in_child=_groups.clear)


def _world():
    """The group of all workers, who are waited for."""
    if 0 not in _groups:
        _groups[0] = Group(0, range(core.fleet.meet()))
    return _groups[0]


def forget_groups():
    """Leave the other workers."""
    core.fleet.leave_workers()
    _groups.clear()


def new_group(ranks=None, backend=None, timeout=None):
    """A group of some workers. Every worker calls this, also those that are not in it."""
    world = _world()
    if ranks is not None and not isinstance(ranks, (list, tuple, range)):
        raise TypeError(f"ranks must be a list of ranks, but is {ranks!r}")
    ranks = sorted(world.ranks if ranks is None else ranks)
    if not ranks or len(set(ranks)) < len(ranks) or not set(ranks) <= set(world.ranks):
        raise ValueError(
            f"a group holds different ranks of 0 to {len(world.ranks) - 1}, but was given {ranks}"
        )
    group = Group(max(_groups) + 1, ranks)
    for worker, other in enumerate(gather_values(ranks)):
        if other != ranks:
            raise ValueError(
                f"all workers make the same groups, but this one was given {ranks}, and worker "
                f"{worker} {other}"
            )
    if group.is_member():
        core.fleet.make_ring(group.id, ranks)
    _groups[group.id] = group
    return group


def get_group(id=0):
    """The group with this number."""
    _world()
    if not isinstance(id, int) or id not in _groups:
        raise ValueError(f"there is no group {id!r}; the groups are {sorted(_groups)}")
    return _groups[id]


class _Done:
    """What a call that does not wait returns: it is done already."""

    def wait(self):
        """Nothing is left to wait for."""
        return True

    def is_completed(self):
        """Always."""
        return True


def find_group(group):
    """The group that a call names by itself, by its number, or not at all."""
    if group is None:
        return _world()
    if isinstance(group, Group):
        return group
    if isinstance(group, int) and not isinstance(group, bool):
        return get_group(group)
    raise TypeError(f"group must be a group, its number or None, but is {group!r}")


def _ring(group):
    """The number of a group; None where this worker is not in it."""
    group = find_group(group)
    return group.id if group.is_member() else None


def _member(group, rank, word):
    """The rank in the group of a worker that was named by its rank in the job."""
    group = find_group(group)
    found = group.get_group_rank(rank)
    if found < 0:
        raise ValueError(f"{word}={rank!r} is not in the group of ranks {group.ranks}")
    return found


def _how(op):
    if not isinstance(op, int) or op not in _HOW:
        raise ValueError(f"op must be ReduceOp.SUM, MAX, MIN, PROD or AVG, but is {op!r}")
    return _HOW[op]


def _writable(tensor, word, reduces=False):
    """An array that a call fills in place."""
    if not isinstance(tensor, np.ndarray):
        found = type(tensor).__name__
    elif not tensor.flags.c_contiguous:
        found = "one in another order"
    elif not tensor.flags.writeable:
        found = "one that cannot be written"
    elif reduces and tensor.dtype.name not in _REDUCIBLE:
        raise ValueError(f"{word} takes {', '.join(_REDUCIBLE)}, but got {tensor.dtype}")
    else:
        _numbers(tensor, word)
        return tensor
    raise TypeError(
        f"{word} takes a variable of a program or a writable numpy array in C order, but got {found}"
    )


def _numbers(tensor, word):
    """An array whose elements mean the same in the memory of any worker."""
    array = np.ascontiguousarray(tensor)
    if array.dtype.kind in "biufc":
        return array
    found = f"one of {array.dtype}" if isinstance(tensor, np.ndarray) else type(tensor).__name__
    raise TypeError(f"{word} takes a variable of a program or an array of numbers, but got {found}")


def _list(value, word):
    """A list that a call appends to."""
    if not isinstance(value, list):
        raise TypeError(f"{word} must be a list, but is {value!r}")
    return value


def _parts(parts, size, word):
    """What a worker has for each of a group, one behind the other."""
    if not isinstance(parts, (list, tuple)) or len(parts) != size:
        found = f"has {len(parts)}" if isinstance(parts, (list, tuple)) else f"is {parts!r}"
        raise ValueError(
            f"{word} must be a list with a part for each of {size} workers, but {found}"
        )
    arrays = [_numbers(part, word) for part in parts]
    for array in arrays:
        if (array.shape, array.dtype) != (arrays[0].shape, arrays[0].dtype):
            raise ValueError(
                f"the parts of {word} must have one shape and dtype, but some are "
                f"{arrays[0].dtype}{list(arrays[0].shape)} and {array.dtype}{list(array.shape)}"
            )
    return np.stack(arrays)


def _append(type, x, out, ring, sync_op, **attrs):
    """An op of the program instead of a call."""
    attrs.update(ring_id=ring, use_calc_stream=bool(sync_op))
    x.block.append_op(type=type, inputs={"X": [x]}, outputs={"Out": [out]}, attrs=attrs)
    return None if sync_op else _Done()


def _concat(parts):
    import paddle

    return paddle.concat(list(parts), axis=0)


def _split(variable, count):
    import paddle

    return paddle.split(variable, count, axis=0)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True):
    """Every worker's ``tensor`` becomes the sum (or max, …) of all, in place."""
    how = _how(op)
    if (ring := _ring(group)) is None:
        return None
    if isinstance(tensor, Variable):
        if how == "avg":
            raise ValueError("ReduceOp.AVG is for arrays; in a program, divide after ReduceOp.SUM")
        return _append(f"c_allreduce_{how}", tensor, tensor, ring, sync_op)
    core.fleet.all_reduce(_writable(tensor, "all_reduce", True), tensor.dtype.name, how, ring)
    return None if sync_op else _Done()


def reduce(tensor, dst=0, op=ReduceOp.SUM, group=None, sync_op=True):
    """The same for the worker ``dst`` alone."""
    how = _how(op)
    if (ring := _ring(group)) is None:
        return None
    root = _member(group, dst, "dst")
    if isinstance(tensor, Variable):
        return _append(f"c_reduce_{how}", tensor, tensor, ring, sync_op, root_id=root)
    core.fleet.reduce_to(_writable(tensor, "reduce", True), tensor.dtype.name, how, root, ring)
    return None if sync_op else _Done()


def broadcast(tensor, src=0, group=None, sync_op=True):
    """Every worker's ``tensor`` becomes that of the worker ``src``, in place."""
    if (ring := _ring(group)) is None:
        return None
    root = _member(group, src, "src")
    if isinstance(tensor, Variable):
        return _append("c_broadcast", tensor, tensor, ring, sync_op, root=root)
    core.fleet.broadcast(_writable(tensor, "broadcast"), root, ring)
    return None if sync_op else _Done()


def all_gather(tensor_list, tensor, group=None, sync_op=True):
    """Append every worker's ``tensor`` to ``tensor_list``, in the order of ranks."""
    if (ring := _ring(group)) is None:
        return None
    size = get_group(ring).nranks
    _list(tensor_list, "tensor_list")
    if isinstance(tensor, Variable):
        out = tensor.block.create_var(dtype=tensor.dtype)
        done = _append("c_allgather", tensor, out, ring, sync_op, nranks=size)
        tensor_list.extend(_split(out, size))
        return done
    array = _numbers(tensor, "all_gather")
    out = np.empty((size, *array.shape), array.dtype)
    core.fleet.all_gather(array, out, ring)
    tensor_list.extend(out)
    return None if sync_op else _Done()


def all_gather_object(object_list, obj, group=None):
    """Append what every worker gave: arrays, numbers, texts, lists and dicts of them."""
    _list(object_list, "object_list")
    if (ring := _ring(group)) is not None:
        object_list.extend(gather_values(obj, ring))


def gather_values(value, ring=0):
    """What every worker of a group gave, in the order of ranks."""
    ranks = get_group(ring).ranks
    everybody = core.fleet.all_gather_bytes(state.to_bytes(value), ring)
    return [state.from_bytes(one, f"worker {rank}") for rank, one in zip(ranks, everybody)]


def broadcast_object_list(object_list, src=0, group=None):
    """Every worker's list becomes that of the worker ``src``."""
    root, lists = _member(group, src, "src"), []
    _list(object_list, "object_list")
    mine = find_group(group).rank == root
    all_gather_object(lists, list(object_list) if mine else None, group)
    if lists:
        object_list[:] = lists[root]


def reduce_scatter(tensor, tensor_list, op=ReduceOp.SUM, group=None, sync_op=True):
    """``tensor`` becomes the sum (or max, …) of the parts that all have for this worker."""
    how = _how(op)
    if (ring := _ring(group)) is None:
        return None
    size = get_group(ring).nranks
    if isinstance(tensor, Variable):
        parts = tensor_list if isinstance(tensor_list, Variable) else _concat(tensor_list)
        return _append("c_reducescatter", parts, tensor, ring, sync_op, nranks=size)
    out = _writable(tensor, "reduce_scatter", True)
    parts = _parts(tensor_list, size, "tensor_list").astype(out.dtype, copy=False)
    core.fleet.reduce_scatter(parts, out, out.dtype.name, how, ring)
    return None if sync_op else _Done()


def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True):
    """``tensor`` becomes this worker's part of the list of the worker ``src``."""
    if (ring := _ring(group)) is None:
        return None
    root, size = _member(group, src, "src"), get_group(ring).nranks
    mine = get_group(ring).rank == root
    if isinstance(tensor, Variable):
        parts = _concat(tensor_list if mine else [tensor] * size)
        return _append("c_scatter", parts, tensor, ring, sync_op, root=root, nranks=size)
    out = _writable(tensor, "scatter")
    parts = _parts(tensor_list, size, "tensor_list") if mine else np.empty(0)
    core.fleet.scatter(parts.astype(out.dtype, copy=False), out, root, ring)
    return None if sync_op else _Done()


def alltoall(in_tensor_list, out_tensor_list, group=None, sync_op=True):
    """Append to ``out_tensor_list`` what every worker has for this one."""
    if (ring := _ring(group)) is None:
        return None
    size = get_group(ring).nranks
    _list(out_tensor_list, "out_tensor_list")
    if in_tensor_list and isinstance(in_tensor_list[0], Variable):
        if len(in_tensor_list) != size:
            raise ValueError(f"{len(in_tensor_list)} parts for {size} workers")
        parts = _concat(in_tensor_list)
        out = parts.block.create_var(dtype=parts.dtype)
        done = _append("alltoall", parts, out, ring, sync_op)
        out_tensor_list.extend(_split(out, size))
        return done
    parts = _parts(in_tensor_list, size, "in_tensor_list")
    out = np.empty_like(parts)
    core.fleet.all_to_all(parts, out, ring)
    out_tensor_list.extend(out)
    return None if sync_op else _Done()


def send(tensor, dst=0, group=None, sync_op=True):
    """Send ``tensor`` to the worker ``dst``, which receives one of the same size."""
    if (ring := _ring(group)) is None:
        return None
    peer = _member(group, dst, "dst")
    if isinstance(tensor, Variable):
        attrs = {"ring_id": ring, "peer": peer, "use_calc_stream": bool(sync_op)}
        tensor.block.append_op(type="send_v2", inputs={"X": [tensor]}, attrs=attrs)
    else:
        core.fleet.send(_numbers(tensor, "send"), peer, ring)
    return None if sync_op else _Done()


def recv(tensor, src=0, group=None, sync_op=True):
    """Fill ``tensor`` with what the worker ``src`` sends."""
    if (ring := _ring(group)) is None:
        return None
    peer = _member(group, src, "src")
    if isinstance(tensor, Variable):
        attrs = {"ring_id": ring, "peer": peer, "use_calc_stream": bool(sync_op)}
        attrs.update(out_shape=list(tensor.shape), dtype=int(tensor.dtype))
        tensor.block.append_op(type="recv_v2", outputs={"Out": [tensor]}, attrs=attrs)
    else:
        core.fleet.recv(_writable(tensor, "recv"), peer, ring)
    return None if sync_op else _Done()


def isend(tensor, dst=0, group=None):
    """:func:`send`; the result is done already."""
    return send(tensor, dst, group, sync_op=False)


def irecv(tensor, src=0, group=None):
    """:func:`recv`; the result is done already."""
    return recv(tensor, src, group, sync_op=False)


def barrier(group=None):
    """Wait until every worker of the group is here."""
    ring = _ring(group)
    if ring is not None:
        core.fleet.barrier(ring)


def wait(tensor, group=None, use_calc_stream=True):
    """Nothing: calls are done when they return."""
