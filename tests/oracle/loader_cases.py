"""What samplers and loaders choose, for a seed.

The same code runs in Paddle 1.8.5 (loaders of generators), in 2.6.2 (data sets) and in Flotilla;
tools/oracle/record_loaders.py records the answers of the first two.
"""

import numpy as np
import paddle

# ---- data sets of the 2.x era


def numbers(count=11):
    """A data set whose sample i is (float32 [i], int64 [i])."""
    from paddle.io import Dataset

    class Numbers(Dataset):
        def __len__(self):
            return count

        def __getitem__(self, i):
            return np.float32([i]), np.int64([i])

    return Numbers()


def samplers():
    """Each name with a function that makes a sampler."""
    from paddle import io

    weighted = io.WeightedRandomSampler
    return {
        "sequence": lambda: io.SequenceSampler(numbers()),
        "random": lambda: io.RandomSampler(numbers()),
        "replacement": lambda: io.RandomSampler(numbers(), replacement=True, num_samples=7),
        "weighted": lambda: weighted(np.array([0.1, 0.2, 0.3, 0.4]), 6),
        "weighted_once": lambda: weighted(np.array([0.1, 0.2, 0.7]), 2, False),
        "batches": lambda: io.BatchSampler(numbers(), shuffle=True, batch_size=4),
        "full_batches": lambda: io.BatchSampler(
            numbers(), shuffle=True, batch_size=4, drop_last=True
        ),
    }


def sampled(make, passes=2):
    sampler = make()
    np.random.seed(3)
    return [list(sampler) for _ in range(passes)]


def distributed(rank, shuffle, drop_last):
    """The number of batches of one of three ranks, and the batches of three passes."""
    from paddle import io

    sampler = io.DistributedBatchSampler(
        numbers(), 2, num_replicas=3, rank=rank, shuffle=shuffle, drop_last=drop_last
    )
    passes = [list(sampler), list(sampler)]
    sampler.set_epoch(7)
    return [len(sampler), [*passes, list(sampler)]]


DISTRIBUTED = {
    f"distributed {rank} {shuffle} {drop_last}": (rank, shuffle, drop_last)
    for rank in range(3)
    for shuffle in (False, True)
    for drop_last in (False, True)
}


def loaded(dataset, workers):
    """The labels in the batches of two passes."""
    from paddle import io, static

    feed_list = [static.data("x", [None, 1]), static.data("y", [None, 1], "int64")]
    loader = io.DataLoader(
        dataset, feed_list=feed_list, places=paddle.CPUPlace(), batch_size=4, shuffle=True,
        num_workers=workers, return_list=False,
    )  # fmt: skip
    np.random.seed(5)
    return [[np.array(feed[0]["y"]).ravel().tolist() for feed in loader()] for _ in range(2)]


# ---- generators of the fluid era


def samples():
    for i in range(7):
        yield np.float32([i, i]), i


def lists():
    for i in range(3):
        yield [([i, 0.5], [i]), ([i, 1.5], [i + 1])]


def batches():
    for i in range(3):
        yield np.full([2, 2], i, "float32"), np.full([2, 1], i, "int64")


def sequences():
    for n in (1, 2, 3):
        yield (list(range(n)),)


def generators():
    """Each name with a function that makes a loader. REQUIRES: programs without variables."""
    from paddle import fluid

    x = fluid.data("x", [None, 2])
    y = fluid.data("y", [None, 1], "int64")
    ids = fluid.data("ids", [None, 1], "int64", lod_level=1)

    def loader(feed_list=(x, y), **options):
        return fluid.io.DataLoader.from_generator(list(feed_list), capacity=4, **options)

    one, two = fluid.CPUPlace(), fluid.cpu_places(2)
    return {
        "samples": lambda: loader().set_sample_generator(samples, 3, True, one),
        "samples_all": lambda: loader().set_sample_generator(samples, 3, False, one),
        "lists": lambda: loader().set_sample_list_generator(lists, one),
        "batches": lambda: loader().set_batch_generator(batches, one),
        "two_places": lambda: loader().set_batch_generator(batches, two),
        "two_places_all": lambda: loader(drop_last=False).set_batch_generator(batches, two),
        "sequences": lambda: loader([ids]).set_sample_generator(sequences, 2, False, one),
    }


def fed(make):
    """Values and sequences of all feeds."""
    return [
        [{k: [np.array(v).tolist(), v.lod()] for k, v in feed.items()} for feed in feeds]
        for feeds in make()()
    ]
