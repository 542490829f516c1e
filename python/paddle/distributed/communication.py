"""What workers say to each other: on numpy arrays at once, on variables as ops of the program."""

import functools
import os

import numpy as np

import _flotilla as core
from paddle.base import state
from paddle.base.framework import Variable
from paddle.tensor.manipulation import concat, split


class ReduceOp:
    """How values of several workers become one."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


_HOW = ("sum", "max", "min", "prod", "avg")  # by their numbers
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

    nranks = world_size = property(lambda self: len(self.ranks), doc="How many workers it has.")
    name = property(lambda self: f"_default_pg{self.id}", doc="The name of the group.")
    process_group = property(lambda self: self, doc="The group itself.")

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


def _member(group, rank, word):
    """The rank in the group of a worker that was named by its rank in the job."""
    group = find_group(group)
    found = group.get_group_rank(rank)
    if found < 0:
        raise ValueError(f"{word}={rank!r} is not in the group of ranks {group.ranks}")
    return found


def _how(op):
    if not isinstance(op, int) or not 0 <= op < len(_HOW):
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


def _collective(function):
    """What the workers of a group do, ``group`` being the group itself: nothing where this worker is
    not in it, otherwise it is done when it returns."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]

    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) > len(names):
            return function(*args, **kwargs)  # refuses it
        words = dict(zip(names, args), **kwargs)
        words["group"] = find_group(words.get("group"))
        if not words["group"].is_member():
            return None
        function(**words)
        return None if words.get("sync_op", True) else _Done()

    return call


def _append(type, x, out, group, sync_op, **attrs):
    """An op of the program instead of a call; ``x`` or ``out`` may be None."""
    attrs.update(ring_id=group.id, use_calc_stream=bool(sync_op))
    inputs = {} if x is None else {"X": [x]}
    outputs = {} if out is None else {"Out": [out]}
    block = (out if x is None else x).block
    block.append_op(type=type, inputs=inputs, outputs=outputs, attrs=attrs)


@_collective
def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True):
    """Every worker's ``tensor`` becomes the sum (or max, …) of all, in place."""
    how = _how(op)
    if not isinstance(tensor, Variable):
        array = _writable(tensor, "all_reduce", True)
        core.fleet.all_reduce(array, array.dtype.name, how, group.id)
    elif how == "avg":
        raise ValueError("ReduceOp.AVG is for arrays; in a program, divide after ReduceOp.SUM")
    else:
        _append(f"c_allreduce_{how}", tensor, tensor, group, sync_op)


@_collective
def reduce(tensor, dst=0, op=ReduceOp.SUM, group=None, sync_op=True):
    """The same for the worker ``dst`` alone."""
    how, root = _how(op), _member(group, dst, "dst")
    if isinstance(tensor, Variable):
        _append(f"c_reduce_{how}", tensor, tensor, group, sync_op, root_id=root)
    else:
        array = _writable(tensor, "reduce", True)
        core.fleet.reduce_to(array, array.dtype.name, how, root, group.id)


@_collective
def broadcast(tensor, src=0, group=None, sync_op=True):
    """Every worker's ``tensor`` becomes that of the worker ``src``, in place."""
    root = _member(group, src, "src")
    if isinstance(tensor, Variable):
        _append("c_broadcast", tensor, tensor, group, sync_op, root=root)
    else:
        core.fleet.broadcast(_writable(tensor, "broadcast"), root, group.id)


@_collective
def all_gather(tensor_list, tensor, group=None, sync_op=True):
    """Append every worker's ``tensor`` to ``tensor_list``, in the order of ranks."""
    _list(tensor_list, "tensor_list")
    if isinstance(tensor, Variable):
        out = tensor.block.create_var(dtype=tensor.dtype)
        _append("c_allgather", tensor, out, group, sync_op, nranks=group.nranks)
        tensor_list.extend(split(out, group.nranks))
    else:
        array = _numbers(tensor, "all_gather")
        out = np.empty((group.nranks, *array.shape), array.dtype)
        core.fleet.all_gather(array, out, group.id)
        tensor_list.extend(out)


def all_gather_object(object_list, obj, group=None):
    """Append what every worker gave: arrays, numbers, texts, lists and dicts of them."""
    _list(object_list, "object_list")
    group = find_group(group)
    if group.is_member():
        object_list.extend(gather_values(obj, group.id))


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


@_collective
def reduce_scatter(tensor, tensor_list, op=ReduceOp.SUM, group=None, sync_op=True):
    """``tensor`` becomes the sum (or max, …) of the parts that all have for this worker."""
    how = _how(op)
    if isinstance(tensor, Variable):
        parts = tensor_list if isinstance(tensor_list, Variable) else concat(list(tensor_list))
        _append("c_reducescatter", parts, tensor, group, sync_op, nranks=group.nranks)
    else:
        out = _writable(tensor, "reduce_scatter", True)
        parts = _parts(tensor_list, group.nranks, "tensor_list").astype(out.dtype, copy=False)
        core.fleet.reduce_scatter(parts, out, out.dtype.name, how, group.id)


@_collective
def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True):
    """``tensor`` becomes this worker's part of the list of the worker ``src``."""
    root, size = _member(group, src, "src"), group.nranks
    mine = group.rank == root
    if isinstance(tensor, Variable):
        parts = concat(list(tensor_list) if mine else [tensor] * size)
        _append("c_scatter", parts, tensor, group, sync_op, root=root, nranks=size)
    else:
        out = _writable(tensor, "scatter")
        parts = _parts(tensor_list, size, "tensor_list") if mine else np.empty(0)
        core.fleet.scatter(parts.astype(out.dtype, copy=False), out, root, group.id)


@_collective
def alltoall(in_tensor_list, out_tensor_list, group=None, sync_op=True):
    """Append to ``out_tensor_list`` what every worker has for this one."""
    _list(out_tensor_list, "out_tensor_list")
    if in_tensor_list and isinstance(in_tensor_list[0], Variable):
        if len(in_tensor_list) != group.nranks:
            raise ValueError(f"{len(in_tensor_list)} parts for {group.nranks} workers")
        parts = concat(list(in_tensor_list))
        out = parts.block.create_var(dtype=parts.dtype)
        _append("alltoall", parts, out, group, sync_op)
        out_tensor_list.extend(split(out, group.nranks))
    else:
        parts = _parts(in_tensor_list, group.nranks, "in_tensor_list")
        out = np.empty_like(parts)
        core.fleet.all_to_all(parts, out, group.id)
        out_tensor_list.extend(out)


@_collective
def send(tensor, dst=0, group=None, sync_op=True):
    """Send ``tensor`` to the worker ``dst``, which receives one of the same size."""
    peer = _member(group, dst, "dst")
    if isinstance(tensor, Variable):
        _append("send_v2", tensor, None, group, sync_op, peer=peer)
    else:
        core.fleet.send(_numbers(tensor, "send"), peer, group.id)


@_collective
def recv(tensor, src=0, group=None, sync_op=True):
    """Fill ``tensor`` with what the worker ``src`` sends."""
    peer = _member(group, src, "src")
    if isinstance(tensor, Variable):
        what = {"out_shape": list(tensor.shape), "dtype": int(tensor.dtype)}
        _append("recv_v2", None, tensor, group, sync_op, peer=peer, **what)
    else:
        core.fleet.recv(_writable(tensor, "recv"), peer, group.id)


def isend(tensor, dst=0, group=None):
    """:func:`send`; the result is done already."""
    return send(tensor, dst, group, sync_op=False)


def irecv(tensor, src=0, group=None):
    """:func:`recv`; the result is done already."""
    return recv(tensor, src, group, sync_op=False)


@_collective
def barrier(group=None):
    """Wait until every worker of the group is here."""
    core.fleet.barrier(group.id)


def wait(tensor, group=None, use_calc_stream=True):
    """Nothing: calls are done when they return."""
