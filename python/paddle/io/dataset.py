"""Data sets: what a loader takes samples from."""

import bisect
import itertools

import numpy as np

import _flotilla as core
from paddle.base.executor import _generator

from ._arrays import Field, arrays_of


class Dataset:
    """A data set whose samples are numbered: ``dataset[i]`` and ``len(dataset)``."""

    def __getitem__(self, idx):
        """Sample number ``idx``; a class of its own must say it."""
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __len__(self):
        """How many samples there are; a class of its own must say it."""
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")


class IterableDataset(Dataset):
    """A data set whose samples come one after the other: ``iter(dataset)``.

    In a worker process ``get_worker_info()`` tells which part of the samples is this worker's.
    """

    def __iter__(self):
        """The samples of one pass; a class of its own must say them."""
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __getitem__(self, idx):
        """Refused: the samples have no numbers."""
        raise RuntimeError(f"{type(self).__name__}, an IterableDataset, does not support indexing")

    def __len__(self):
        """Refused: how many samples there are shows only at the end."""
        raise RuntimeError(f"{type(self).__name__}, an IterableDataset, has no length")


class TensorDataset(Dataset):
    """Arrays or tensors of one length: sample i holds element i of each.

    >>> TensorDataset([np.zeros([10, 3]), np.arange(10)])[4]
    """

    def __init__(self, tensors):
        self.tensors = [np.asarray(tensor) for tensor in tensors]
        for position, tensor in enumerate(self.tensors):
            if tensor.ndim == 0 or len(tensor) != len(self.tensors[0]):
                raise ValueError(
                    "all tensors of a TensorDataset must have the same first extent, but tensor 0 "
                    f"has shape {list(self.tensors[0].shape)} and tensor {position} has shape "
                    f"{list(tensor.shape)}"
                )

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return len(self.tensors[0])

    def _flt_arrays(self):
        return [Field(tensor) for tensor in self.tensors]


class ComposeDataset(Dataset):
    """Data sets of one length side by side: sample i holds the fields of each sample i."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        _need_some(self, self.datasets)
        for dataset in self.datasets:
            _need_numbers(self, dataset)
            if len(dataset) != len(self.datasets[0]):
                raise ValueError(
                    "the data sets of a ComposeDataset must have the same length, but the first "
                    f"has {len(self.datasets[0])} samples and another {len(dataset)}"
                )

    def __len__(self):
        return len(self.datasets[0])

    def __getitem__(self, idx):
        samples = (dataset[idx] for dataset in self.datasets)
        return tuple(itertools.chain.from_iterable(map(_fields_of, samples)))


class ChainDataset(IterableDataset):
    """IterableDatasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        _need_some(self, self.datasets)
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(
                    "a ChainDataset joins IterableDatasets, but one is of type "
                    f"{type(dataset).__name__}; use ConcatDataset for indexable data sets"
                )

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)


class ConcatDataset(Dataset):
    """Indexable data sets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        _need_some(self, self.datasets)
        for dataset in self.datasets:
            _need_numbers(self, dataset)
        self.cumulative_sizes = list(itertools.accumulate(len(one) for one in self.datasets))

    @staticmethod
    def cumsum(sequence):
        """The lengths added up."""
        return list(itertools.accumulate(len(one) for one in sequence))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if not -len(self) <= idx < len(self):
            raise ValueError(f"index {idx} is outside the data set of {len(self)} samples")
        idx = idx % len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class Subset(Dataset):
    """Some samples of a data set, by their numbers."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        return self.dataset[self.indices[idx]]

    def __len__(self):
        return len(self.indices)

    def _flt_arrays(self):
        fields = arrays_of(self.dataset)
        if fields is None:
            return None
        indices = np.asarray(self.indices, dtype=np.int64)
        return [field.select(indices) for field in fields]


def random_split(dataset, lengths, generator=None):
    """Cuts a data set at random into Subsets of these lengths, or of these fractions of it.

    ``paddle.seed`` decides the cut.
    """
    total = len(dataset)
    if 0 < sum(lengths) <= 1 + 1e-9 and any(isinstance(one, float) for one in lengths):
        lengths = _of_fractions(total, lengths)
    if sum(lengths) != total:
        raise ValueError(
            f"the lengths {list(lengths)} of a random_split add up to {sum(lengths)}, but the data "
            f"set has {total} samples"
        )
    order = permutation(total).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(lengths, ends)]


def permutation(count):
    """A random order that ``paddle.seed`` decides."""
    return np.random.RandomState(core.draw_seed(_generator)).permutation(count)


def _of_fractions(total, fractions):
    """Lengths that add up to the total where the fractions do; the first ones get the rest."""
    lengths = [int(total * fraction) for fraction in fractions]
    if abs(sum(fractions) - 1) < 1e-9:
        for i in range(total - sum(lengths)):
            lengths[i % len(lengths)] += 1
    return lengths


def _fields_of(sample):
    return sample if isinstance(sample, (list, tuple)) else (sample,)


def _need_some(owner, datasets):
    if not datasets:
        raise ValueError(f"a {type(owner).__name__} needs at least one data set")


def _need_numbers(owner, dataset):
    if isinstance(dataset, IterableDataset):
        raise TypeError(
            f"a {type(owner).__name__} needs indexable data sets, but one is a "
            f"{type(dataset).__name__}, an IterableDataset"
        )
