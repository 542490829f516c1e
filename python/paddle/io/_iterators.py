"""What a DataLoader iterates over: batches as nested lists and dicts of tensors and arrays."""

import collections
import itertools

from . import _arrays
from ._ahead import Ahead
from .collate import collate_to_tensors, default_collate_fn, default_convert_fn
from .dataset import IterableDataset
from .sampler import batches_of

_AHEAD = 2
_GROUP = 4


class Delivered:
    """Batches in the form that the caller asked for, which ``deliver`` gives them."""

    def __init__(self, batches, deliver):
        self._batches, self._deliver = batches, deliver

    def __iter__(self):
        return self

    def __next__(self):
        return self._deliver(next(self._batches))

    def close(self):
        """Ends the pass: nothing runs any more."""
        self._batches.close()


def single_process(loader, deliver):
    """The batches of one pass, made in this process."""
    if loader.batch_sampler is not None and _is_default(loader.collate_fn):
        fields = _arrays.arrays_of(loader.dataset)
        if fields is not None:
            return gathered(fields, batches_of(loader.batch_sampler), deliver)
    if isinstance(loader.dataset, IterableDataset):
        make = iterable_batches(loader)
    else:
        make = map_batches(loader)
    batches = Ahead(make, _AHEAD) if loader.use_buffer_reader else iter(make())
    return Delivered(batches, deliver)


def gathered(fields, batches, deliver):
    """Gathered in C++, ahead of the training thread: no Python for a single sample.

    Batches are asked for in groups: waking the thread costs more than a batch's share of Python.
    """
    from _flotilla import Gatherer

    gatherer = Gatherer([field.column() for field in fields], 2 * _GROUP)
    draws = any(field.draw is not None for field in fields)

    def submit(indices):
        drawn = None
        if draws:
            drawn = [None if f.draw is None else f.draw(indices).ravel() for f in fields]
        gatherer.submit(indices, drawn)

    for indices in itertools.islice(batches, 2 * _GROUP):
        submit(indices)
    while left := gatherer.under_way:
        if left <= _GROUP:
            for indices in itertools.islice(batches, _GROUP):
                submit(indices)
        yield deliver(gatherer.next())


def map_batches(loader):
    """A function that gives an iterator over the batches of numbered samples."""
    dataset, collate = loader.dataset, _collate_of(loader)
    if loader.batch_sampler is None:  # batch_size=None: one sample at a time, as it is
        numbers = range(len(dataset))
        return lambda: (collate(dataset[i]) for i in numbers)
    batches = batches_of(loader.batch_sampler)
    return lambda: (collate([dataset[i] for i in batch]) for batch in _lists(batches))


def iterable_batches(loader):
    """A function that gives an iterator over the batches of an IterableDataset."""
    dataset, collate = loader.dataset, _collate_of(loader)
    size, drop_last = loader.batch_size, loader.drop_last
    return lambda: cut(iter(dataset), size, drop_last, collate)


def cut(samples, size, drop_last, collate):
    """Batches of ``size`` samples; without a size one sample at a time."""
    if size is None:
        yield from map(collate, samples)
        return
    while True:
        batch = list(itertools.islice(samples, size))
        if len(batch) == size or (batch and not drop_last):
            yield collate(batch)
        if len(batch) < size:
            return


def _lists(batches):
    for batch in batches:
        yield batch.tolist() if hasattr(batch, "tolist") else batch


def _is_default(collate_fn):
    return collate_fn is None or collate_fn is default_collate_fn


def _collate_of(loader):
    if not _is_default(loader.collate_fn):
        return loader.collate_fn
    single = loader.batch_size is None and loader.batch_sampler is None
    return default_convert_fn if single else collate_to_tensors


def grouped(batches, places, drop_last):
    """Lists of one batch for each place; a last list may be shorter unless ``drop_last``."""
    waiting = collections.deque()
    for batch in batches:
        waiting.append(batch)
        if len(waiting) == places:
            yield list(waiting)
            waiting.clear()
    if waiting and not drop_last:
        yield list(waiting)
