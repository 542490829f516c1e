"""Calls of paddle.distributed that cannot be: one sentence on every worker, and nobody waits for ever.

A worker that has been refused goes on, so that one job makes all mistakes that leave the workers together.
"""

import pytest
from job import Job

HEAD = """
    import time
    import numpy as np
    import paddle
    import paddle.distributed as dist

    rank, size = dist.get_rank(), dist.get_world_size()

    def ones(*shape, dtype="float32"):
        return np.ones(shape, dtype)

    def refusal(call):
        try:
            call()
        except (TypeError, ValueError, RuntimeError) as error:
            return str(error)
        return "nothing was wrong"

    def expect(said, call):
        heard = refusal(call)
        assert said in heard and chr(10) not in heard, (said, heard)
"""

# Seen by each worker alone, before it talks to anybody.
ALONE = """
    expect("there is no group 3; the groups are [0]", lambda: dist.get_group(3))
    dist.init_parallel_env()
    first = dist.new_group([0])

    array = "takes a variable of a program or a writable numpy array in C order, but got "
    read_only = ones(3)
    read_only.setflags(write=False)
    for wrong, what in [
        (None, "NoneType"), ([1.0], "list"), (1.0, "float"), ("x", "str"), (np.float32(1), "float32"),
        (np.asfortranarray(ones(3, 4)), "one in another order"), (ones(6)[::2], "one in another order"),
        (read_only, "one that cannot be written"),
    ]:
        expect("all_reduce " + array + what, lambda: dist.all_reduce(wrong))
        expect("reduce " + array + what, lambda: dist.reduce(wrong))
        expect("broadcast " + array + what, lambda: dist.broadcast(wrong))
        expect("recv " + array + what, lambda: dist.recv(wrong, src=(rank + 1) % size))
        expect("reduce_scatter " + array + what, lambda: dist.reduce_scatter(wrong, [ones(1)] * size))
    for dtype in ["bool", "int8", "uint16", "float16", "complex64", "object", "<U3"]:
        takes = f"all_reduce takes float32, float64, int32, int64, but got {dtype}"
        expect(takes, lambda: dist.all_reduce(ones(2).astype(dtype)))
    numbers = "takes a variable of a program or an array of numbers, but got "
    expect("broadcast " + numbers + "one of object", lambda: dist.broadcast(np.array([{}])))
    expect("all_gather " + numbers + "one of <U1", lambda: dist.all_gather([], np.array(["a"])))
    expect("all_gather " + numbers + "str", lambda: dist.all_gather([], "a"))
    expect("send " + numbers + "NoneType", lambda: dist.send(None, (rank + 1) % size))

    for op in [17, "sum", [1], None]:
        said = f"op must be ReduceOp.SUM, MAX, MIN, PROD or AVG, but is {op!r}"
        expect(said, lambda: dist.all_reduce(ones(2), op=op))
    expect("there is no group 99; the groups are [0, 1]", lambda: dist.barrier(group=99))
    for group in ["x", [0, 1], True, 0.5]:
        said = f"group must be a group, its number or None, but is {group!r}"
        expect(said, lambda: dist.all_reduce(ones(2), group=group))
        expect(said, lambda: dist.get_rank(group))
        expect(said, lambda: dist.get_world_size(group))
    ranks = list(range(size))
    for wrong in [size, -1, "0", 0.5, None]:
        expect(f"dst={wrong!r} is not in the group of ranks {ranks}", lambda: dist.reduce(ones(2), wrong))
        expect(f"src={wrong!r} is not in the group of ranks {ranks}", lambda: dist.broadcast(ones(2), wrong))
        expect(f"dst={wrong!r} is not in the group of ranks {ranks}", lambda: dist.send(ones(2), wrong))
        expect(f"src={wrong!r} is not in the group of ranks {ranks}", lambda: dist.recv(ones(2), wrong))
        expect(f"src={wrong!r} is not in the group of ranks {ranks}",
               lambda: dist.scatter(ones(2), [ones(2)] * size, wrong))
    expect(f"send: rank {rank} cannot send to itself", lambda: dist.send(ones(2), rank))
    expect(f"recv: rank {rank} cannot receive from itself", lambda: dist.recv(ones(2), rank))
    assert dist.get_rank(first) == (0 if rank == 0 else -1)
    if rank == 0:
        expect("src=1 is not in the group of ranks [0]", lambda: dist.broadcast(ones(2), 1, first))
    else:
        kept = ones(2)
        dist.all_reduce(kept, group=first)  # of others: nothing
        dist.barrier(first)
        assert kept.tolist() == [1, 1]

    for wrong in [[0, size], [0, 0], [], [-1], ["0"]]:
        said = f"a group holds different ranks of 0 to {size - 1}, but was given {wrong}"
        expect(said, lambda: dist.new_group(wrong))
    for wrong in ["01", 3, {0: 1}]:
        expect(f"ranks must be a list of ranks, but is {wrong!r}", lambda: dist.new_group(wrong))

    for wrong in [None, (), 3]:
        said = f"must be a list, but is {wrong!r}"
        expect("tensor_list " + said, lambda: dist.all_gather(wrong, ones(2)))
        expect("object_list " + said, lambda: dist.all_gather_object(wrong, 1))
        expect("object_list " + said, lambda: dist.broadcast_object_list(wrong, 0))
        expect("out_tensor_list " + said, lambda: dist.alltoall([ones(2)] * size, wrong))
    expect("but one value is of type function", lambda: dist.all_gather_object([], lambda: 1))
    parts = f"must be a list with a part for each of {size} workers, but "
    for wrong, what in [(None, "is None"), ([ones(2)], "has 1"), ([], "has 0")]:
        expect("tensor_list " + parts + what, lambda: dist.reduce_scatter(ones(2), wrong))
        expect("in_tensor_list " + parts + what, lambda: dist.alltoall(wrong, []))
        expect("tensor_list " + parts + what, lambda: dist.scatter(ones(2), wrong, src=rank))
    ragged = [ones(2)] * (size - 1) + [ones(3)]
    said = "must have one shape and dtype, but some are float32[2] and float32[3]"
    expect(said, lambda: dist.reduce_scatter(ones(2), ragged))
    expect(said, lambda: dist.alltoall(ragged, []))
    expect(f"{size} workers divide {3 * size} elements, but the result has 2",
           lambda: dist.reduce_scatter(ones(2), [ones(3)] * size))
    expect(f"{size} workers get 8 bytes each, but there are {12 * size}",
           lambda: dist.scatter(ones(2), [ones(3)] * size, src=rank))
    dist.barrier()
    print("done")
"""

# Seen only by comparing with what the others call. Afterwards they are together again.
TOGETHER = """
    dist.init_parallel_env()
    odd = rank == size - 1
    same = (
        "all members of a group must make the same calls with the same lengths and types, in the "
        "same order"
    )

    def expect_both(mine, other, call):
        heard = refusal(call)
        assert mine in heard and other in heard and same in heard, (mine, other, heard)
        assert f"rank {size - 1} " in heard and chr(10) not in heard, heard

    for n in [0, 1, 300, 200_000]:
        more = n + 1 if odd else n
        both = [f"of {n * 4} bytes", f"of {n * 4 + 4} bytes"]
        expect_both(*both, lambda: dist.all_reduce(ones(more)))
        expect_both(*both, lambda: dist.reduce(ones(more), dst=1))
        expect_both(*both, lambda: dist.broadcast(ones(more), src=1))
        expect_both(*both, lambda: dist.all_gather([], ones(more)))
        expect_both(*both, lambda: dist.reduce_scatter(ones(more), [ones(more)] * size))
        expect_both(*both, lambda: dist.alltoall([ones(more)] * size, []))
        expect_both(*both, lambda: dist.scatter(ones(more), [ones(more)] * size, src=0))
    other = "int32" if odd else "float32"
    expect_both("bytes f32 (sum)", "bytes i32 (sum)", lambda: dist.all_reduce(ones(2, dtype=other)))
    # As many bytes, which would become numbers of another type.
    for types, both in [
        (("float32", "int64"), ("of 8 bytes f32", "of 8 bytes i64")),
        (("complex64", "uint64"), ("of 8 bytes c64", "of 8 bytes u64")),
        (("bool", "int8"), ("of 8 bytes bool", "of 8 bytes i8")),
    ]:
        mine = np.ones(8 // np.dtype(types[odd]).itemsize, types[odd])
        expect_both(*both, lambda: dist.broadcast(mine, src=1))
        expect_both(*both, lambda: dist.all_gather([], mine))
        expect_both(*both, lambda: dist.alltoall([mine] * size, []))
        expect_both(*both, lambda: dist.scatter(mine, [mine] * size, src=0))
    op = dist.ReduceOp.MAX if odd else dist.ReduceOp.MIN
    expect_both("f32 (max)", "f32 (min)", lambda: dist.all_reduce(ones(2), op))
    expect_both("reduce of 8 bytes f32 (sum) to 0", "reduce of 8 bytes f32 (sum) to 1",
                lambda: dist.reduce(ones(2), int(odd)))
    expect_both("broadcast of 8 bytes f32 from 0", "broadcast of 8 bytes f32 from 1",
                lambda: dist.broadcast(ones(2), int(odd)))
    expect_both("barrier", "all_gather of 8 bytes",
                lambda: dist.barrier() if odd else dist.all_gather([], ones(2)))
    # One finds its mistake alone and goes on; the others hear of it by its next call.
    if odd:
        expect("tensor_list must be a list", lambda: dist.scatter(ones(2), None, src=rank))
    expect_both("barrier", "scatter of 8 bytes",
                lambda: dist.barrier() if odd else dist.scatter(ones(2), None, src=size - 1))

    said = f"this one was given {[0, 1] if odd else [0]}, and worker {0 if odd else size - 1} "
    expect(said, lambda: dist.new_group([0, 1] if odd else [0]))

    # What looks odd and is right.
    nothing, scalar, gathered = ones(0, 3), np.array(float(rank)), []
    dist.all_reduce(nothing)
    dist.broadcast(nothing, 1)
    dist.all_gather(gathered, nothing)
    assert [one.shape for one in gathered] == [(0, 3)] * size
    dist.reduce_scatter(ones(0), [ones(0)] * size)
    dist.all_reduce(scalar)
    assert scalar == size * (size - 1) / 2
    if rank == 0:
        dist.send(nothing, 1)
    elif rank == 1:
        dist.recv(nothing, 0)
    dist.barrier()
    print("done")
"""

# After these there is no going on.
ENDS = {
    "a message of another length": (
        """
    n = 300_000 if rank == 0 else 3
    if rank < 2:
        heard = refusal(lambda: dist.send(ones(n), 1) if rank == 0 else dist.recv(ones(n), 0))
    else:
        heard = refusal(dist.barrier)
    """,
        "rank 0 calls send of 1200000 bytes f32, but rank 1 recv of 12 bytes f32",
    ),
    "a message of another type": (
        """
    mine = ones(300_000) if rank == 0 else ones(150_000, dtype="int64")
    if rank < 2:
        heard = refusal(lambda: dist.send(mine, 1) if rank == 0 else dist.recv(mine, 0))
    else:
        heard = refusal(dist.barrier)
    """,
        "rank 0 calls send of 1200000 bytes f32, but rank 1 recv of 1200000 bytes i64",
    ),
    "a worker that has left": (
        """
    if rank == 1:
        dist.destroy_process_group()
        heard = "rank 1 of this host has closed its connection"
    else:
        heard = refusal(dist.barrier)
    """,
        "rank 1 of this host has closed its connection",
    ),
}


def run(folder, script, ranks):
    job = Job(folder, [f"--nproc_per_node={ranks}"], HEAD + script)
    assert job.wait() == 0, job.out + job.err
    for rank in range(ranks):
        assert job.log(f"workerlog.{rank}").splitlines()[-1] == "done"


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_a_worker_sees_alone(tmp_path, ranks):
    run(tmp_path, ALONE, ranks)


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_workers_see_together(tmp_path, ranks):
    run(tmp_path, TOGETHER, ranks)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", ENDS)
def test_what_ends_the_group(tmp_path, name, ranks):
    script, said = ENDS[name]
    check = f"""
    assert {said!r} in heard, heard
    if not dist.is_initialized():
        expect("this worker has left the others", lambda: dist.all_reduce(ones(2)))
        raise SystemExit(print("done"))
    heard = refusal(lambda: dist.all_reduce(ones(2)))
    assert "all_reduce of rank " in heard and {said!r} in heard, heard
    print("done")
    """
    run(tmp_path, "\n    dist.init_parallel_env()\n" + script + check, ranks)
