"""paddle.io.shard: the union over ranks is the data set, nothing twice, equal counts."""

import itertools
import random
import subprocess
import sys

import numpy as np
import paddle
import pytest
from paddle.io import shard


class Range(paddle.io.Dataset):
    def __init__(self, size):
        self.size = size

    def __getitem__(self, i):
        return i

    def __len__(self):
        return self.size


def of_ranks(function, *args, ranks, **options):
    return [function(*args, rank=rank, ranks=ranks, say=False, **options) for rank in range(ranks)]


@pytest.mark.parametrize("tail", ["drop", "pad", "keep"])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("passes", [1, 3])
def test_samples_without_replacement(tail, shuffle, passes):
    draw = random.Random(0)
    for _ in range(30):
        size, ranks = draw.randint(8, 200), draw.randint(1, 8)
        options = dict(tail=tail, shuffle=shuffle, passes=passes, seed=draw.randint(0, 99))
        shards = of_ranks(shard.samples, size, ranks=ranks, **options)
        taken = sorted(itertools.chain.from_iterable(shards))
        every = sorted(list(range(size)) * passes)
        rest = size * passes % ranks
        if tail == "keep":
            assert taken == every
            assert shards[0].counts.equal() == (rest == 0)
        else:
            assert len({len(one) for one in shards}) == 1
            assert shards[0].counts.equal()
        if tail == "drop":
            assert len(taken) == len(every) - rest == len(every) - shards[0].counts.dropped
            assert all(taken.count(i) <= passes for i in range(size))
        if tail == "pad":
            assert set(taken) == set(range(size))
            assert len(taken) - len(every) == (-(size * passes) % ranks)


def test_samples_with_replacement():
    shards = of_ranks(
        shard.samples, 50, ranks=3, with_replacement=True, shuffle=True, passes=2, seed=4
    )
    assert all(sorted(one) == sorted([*range(50)] * 2) for one in shards)
    assert len({tuple(one) for one in shards}) == 3


def test_files_of_one_sample():
    names = [f"image_{i}" for i in range(11)]
    shards = of_ranks(shard.files, names, ranks=3, tail="keep", shuffle=True)
    assert sorted(itertools.chain.from_iterable(shards)) == sorted(names)


@pytest.mark.parametrize("whole_files", [False, True])
def test_files_of_several_samples(whole_files):
    names, sizes = ["a", "b", "c", "d"], [5, 1, 9, 3]
    shards = of_ranks(
        shard.files, names, sizes, ranks=2, tail="keep", whole_files=whole_files, shuffle=True
    )
    taken = [
        (name, i)
        for name, begin, count in itertools.chain.from_iterable(shards)
        for i in range(begin, begin + count)
    ]
    assert sorted(taken) == [(n, i) for n, size in zip(names, sizes) for i in range(size)]
    assert shards[0].counts.equal()  # 18 samples: 9 and 9 both ways


def test_reader_of_one_file():
    def creator():
        yield from range(10)

    def read(tail):
        return [list(shard.reader(creator, tail, rank, 4)()) for rank in range(4)]

    assert read("drop") == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert read("pad") == [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]
    assert read("keep") == [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]
    assert [list(shard.reader(lambda: iter([7]), "pad", r, 3)()) for r in range(3)] == [[7]] * 3


def test_block_is_get_file_shard():
    assert shard.block("abcde", 0, 2) == ["a", "b", "c"]
    assert shard.block("ab", 2, 3) == []


def test_batches_change_with_the_epoch_and_agree_between_ranks():
    def sampler(rank):
        return shard.ShardedBatchSampler(
            Range(20), 4, rank=rank, ranks=2, shuffle=True, seed=1, say=False
        )

    first, second = sampler(0), sampler(1)
    epoch_0 = [*first, *second]
    assert sorted(itertools.chain.from_iterable(epoch_0)) == [*range(20)]
    assert len(first) == len(second) == 3 == len(epoch_0) / 2
    assert [*first, *second] != epoch_0
    first.set_epoch(0), second.set_epoch(0)
    assert [*first, *second] == epoch_0


def test_counts_are_said_once():
    program = """
from paddle.io import shard
for rank in range(3):
    for epoch in range(3):
        shard.samples(10, batch_size=2, rank=rank, ranks=3, epoch=epoch, tail="keep")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    said = done.stdout + done.stderr
    assert said.count("10 samples without replacement over 3 ranks") == 1
    assert said.count("because 10 samples do not divide over 3 ranks") == 1


def test_rank_and_ranks_come_from_the_environment(monkeypatch):
    assert shard.samples(4, say=False) == [0, 1, 2, 3]
    monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "a:1,a:2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    assert shard.samples(4, say=False) == [1, 3]
    assert shard.block("abc") == ["c"]


def test_refusals():
    with pytest.raises(ValueError, match='tail must be "drop", "pad" or "keep", but is "cut"'):
        shard.samples(4, tail="cut")
    said = "samples_in_file must hold a number for each of the 2 files, but holds 1"
    with pytest.raises(ValueError, match=said):
        shard.files(["a", "b"], [1])
    with pytest.raises(ValueError, match="use fewer ranks, a smaller batch, or pad the tail"):
        shard.samples(3, rank=0, ranks=4)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_loader_of_a_shard(num_workers):
    loader = paddle.io.DataLoader(
        Range(20),
        batch_sampler=shard.ShardedBatchSampler(Range(20), 4, rank=1, ranks=2, say=False),
        num_workers=num_workers,
        return_list=True,
    )
    batches = [paddle_array(batch) for batch in loader]
    assert batches == [[1, 3, 5, 7], [9, 11, 13, 15], [17, 19]]
    assert len(loader) == 3


def paddle_array(batch):
    value = batch[0] if isinstance(batch, (list, tuple)) else batch
    return np.array(value).tolist()
