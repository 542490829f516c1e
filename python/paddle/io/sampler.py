"""In which order the samples of a data set come, and which of them make a batch.

Orders are drawn from numpy's global generator, so ``np.random.seed`` repeats them, bit by bit as in
Paddle. Samplers of this module know their order as one array (``_order``): a loader of a data set
in memory takes it whole instead of asking for one number after the other.
"""

import math
import os

import numpy as np

import _flotilla as core

from .dataset import IterableDataset, permutation


class Sampler:
    """The order of one pass: an iterator over the numbers of samples."""

    def __init__(self, data_source=None):
        self.data_source = data_source

    def __iter__(self):
        """The numbers of one pass; a class of its own must say them."""
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class _Known(Sampler):
    """A sampler that knows its order as one array."""

    def __iter__(self):
        return iter(self._order().tolist())

    def _order(self):
        raise NotImplementedError


class SequenceSampler(_Known):
    """The samples as they lie in the data set."""

    def _order(self):
        return np.arange(len(self.data_source))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(_Known):
    """All samples in a random order; with ``replacement`` each draw is from the whole set.

    ``generator``: an iterator over numbers to take instead of numpy's.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super().__init__(data_source)
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement must be True or False, but is {replacement!r}")
        if num_samples is not None and not replacement:
            raise ValueError("num_samples can be given only together with replacement=True")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples must be at least 1, but is {self.num_samples!r}")

    @property
    def num_samples(self):
        """How many numbers a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        if self.generator is None:
            return super().__iter__()
        return (next(self.generator) for _ in range(self.num_samples))

    def _order(self):
        if self.generator is not None:
            return np.fromiter(iter(self), dtype=np.int64)
        count = len(self.data_source)
        return np.random.choice(np.arange(count), self.num_samples, replace=self.replacement)

    def __len__(self):
        return self.num_samples


class WeightedRandomSampler(_Known):
    """Draws number i with a probability in proportion to ``weights[i]``."""

    def __init__(self, weights, num_samples, replacement=True):
        super().__init__()
        self.weights = np.asarray(weights, dtype=np.float64)
        self.num_samples = num_samples
        self.replacement = replacement
        if not isinstance(num_samples, int) or num_samples <= 0:
            raise ValueError(f"num_samples must be at least 1, but is {num_samples!r}")
        if self.weights.ndim != 1 or not len(self.weights) or (self.weights < 0).any():
            raise ValueError("weights must be a list of non-negative numbers")
        drawable = int((self.weights > 0).sum())
        if drawable == 0 or (not replacement and num_samples > drawable):
            raise ValueError(
                f"{num_samples} different indices cannot be drawn from {drawable} positive weights"
            )

    def _order(self):
        weights = self.weights / self.weights.sum()
        return np.random.choice(len(weights), self.num_samples, replace=self.replacement, p=weights)

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(_Known):
    """These numbers in a random order, which ``paddle.seed`` decides."""

    def __init__(self, indices):
        super().__init__()
        if not len(indices):
            raise ValueError("indices must hold at least one number")
        self.indices = indices

    def _order(self):
        return np.asarray(self.indices)[permutation(len(self.indices))]

    def __len__(self):
        return len(self.indices)


class BatchSampler(Sampler):
    """Lists of numbers, one for each batch, in the order of a sampler.

    Without ``sampler`` the order is that of ``dataset``, or random for ``shuffle``.
    """

    def __init__(self, dataset=None, sampler=None, shuffle=False, batch_size=1, drop_last=False):
        if (dataset is None) == (sampler is None):
            raise ValueError("BatchSampler takes either a dataset or a sampler")
        if isinstance(dataset, IterableDataset):
            raise TypeError("an IterableDataset is not indexable, so it cannot be sampled")
        if sampler is not None and shuffle:
            raise ValueError(
                "shuffle has no effect together with a sampler, which defines its own order"
            )
        if not hasattr(dataset if sampler is None else sampler, "__iter__") and sampler is not None:
            raise TypeError(f"sampler must be iterable, but is {type(sampler).__name__}")
        self.sampler = sampler
        if sampler is None:
            self.sampler = (RandomSampler if shuffle else SequenceSampler)(dataset)
        self.shuffle = _bool("shuffle", shuffle)
        self.batch_size = positive("batch_size", batch_size)
        self.drop_last = _bool("drop_last", drop_last)

    def __iter__(self):
        batch = []
        for number in self.sampler:
            batch.append(number)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        spare = 0 if self.drop_last else self.batch_size - 1
        return (len(self.sampler) + spare) // self.batch_size

    def _batches(self):
        """The same as arrays, where the order is known as one."""
        return _cut(self.sampler._order(), self.batch_size, self.drop_last)


class DistributedBatchSampler(BatchSampler):
    """The batches of this process, where several share a data set.

    All get the same number of samples: the first ones are repeated to fill up. ``set_epoch`` gives
    all processes of an epoch the same order.
    """

    def __init__(
        self, dataset, batch_size, num_replicas=None, rank=None, shuffle=False, drop_last=False
    ):
        self.dataset = dataset
        self.batch_size = positive("batch_size", batch_size)
        self.shuffle = _bool("shuffle", shuffle)
        self.drop_last = _bool("drop_last", drop_last)
        if num_replicas is None:
            num_replicas = int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
        if rank is None:
            rank = int(os.environ.get("PADDLE_TRAINER_ID", 0))
        self.nranks = positive("num_replicas", num_replicas)
        self.local_rank = rank
        if not isinstance(rank, int) or not 0 <= rank < self.nranks:
            raise ValueError(f"rank must lie in [0, {self.nranks}), but is {rank!r}")
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self):
        return (batch.tolist() for batch in self._batches())

    def __len__(self):
        spare = 0 if self.drop_last else self.batch_size - 1
        return (self.num_samples + spare) // self.batch_size

    def set_epoch(self, epoch):
        """Says which epoch comes next: its number decides the order."""
        self.epoch = epoch

    def _batches(self):
        seed = None
        if self.shuffle:
            seed, self.epoch = self.epoch, self.epoch + 1
        indices = core.distributed_indices(
            len(self.dataset), self.local_rank, self.nranks, self.batch_size, seed
        )
        return _cut(indices, self.batch_size, self.drop_last)


def batches_of(batch_sampler):
    """The batches of one pass, as arrays where the sampler is one of ours that nobody changed."""
    kind = type(batch_sampler)
    if kind is DistributedBatchSampler:
        return batch_sampler._batches()
    if kind is BatchSampler and type(batch_sampler.sampler) in _KNOWN:
        return batch_sampler._batches()
    return iter(batch_sampler)


_KNOWN = (SequenceSampler, RandomSampler, WeightedRandomSampler, SubsetRandomSampler)


def _cut(order, size, drop_last):
    order = np.ascontiguousarray(order, dtype=np.int64)
    end = len(order) // size * size if drop_last else len(order)
    for begin in range(0, end, size):
        yield order[begin : begin + size]


def positive(name, value):
    """A number of things as an integer: 4, and 4.0, which programs compute."""
    whole = isinstance(value, (int, np.integer)) or isinstance(value, float) and value.is_integer()
    if isinstance(value, bool) or not whole or value <= 0:
        raise ValueError(f"{name} must be a whole number of at least 1, but is {value!r}")
    return int(value)


def _bool(name, value):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, but is {value!r}")
    return bool(value)
