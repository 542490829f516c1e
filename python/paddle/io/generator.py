"""Loaders whose batches come from a user's generator: from_generator, and PyReader of 1.x."""

import atexit
import itertools
import threading
import weakref

import numpy as np

import _flotilla as core
from paddle.base.data_feeder import DataFeeder
from paddle.base.dataset import DatasetBase
from paddle.base.framework import default_main_program
from paddle.base.interrupts import patience
from paddle.base.place import to_place
from paddle.base.scope import global_scope

from ._ahead import Ahead
from ._iterators import grouped
from ._together import together
from .reader import _to_list
from .sampler import positive

_PATIENCE = 5.0
_live = weakref.WeakSet()  # loaders that have a thread


class GeneratorLoader:
    """Batches that a generator of yours makes, read ahead by a thread up to ``capacity``.

    Give it one of: ``set_sample_generator`` (yields single samples), ``set_sample_list_generator``
    (yields lists of samples), ``set_batch_generator`` (yields whole batches).

    ``iterable=True``: ``for data in loader(): exe.run(feed=data)``; ``return_list=True`` gives
    lists of tensors instead of feeds. ``iterable=False``: the program reads by itself; ``start()``
    before each pass, ``exe.run()`` without a feed until it raises ``EOFException``, ``reset()``
    after it. A program has such a loader from the moment it is made.

    ``use_multiprocess`` is accepted: the generator runs in a thread all the same. ``drop_last``:
    batches that do not go round all places are left out.
    """

    def __init__(
        self,
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=False,
        use_multiprocess=False,
        drop_last=True,
    ):
        if not iterable and return_list:
            raise ValueError("return_list=True is not supported by a loader with iterable=False")
        if capacity is not None and capacity <= 0:
            raise ValueError(f"capacity must be at least 1, but is {capacity}")
        if feed_list is None and not (iterable and return_list):
            raise ValueError("feed_list must name the variables that batches go to")
        block = default_main_program().global_block()
        self._feed_list = [
            block.var(one) if isinstance(one, str) else one for one in feed_list or []
        ]
        self._capacity = 2 if capacity is None else int(capacity)
        self._iterable = iterable
        self._return_list = return_list
        self._drop_last = drop_last
        self._places = [None]
        self._make = None
        self._fields = core.BatchFields(self._feed_list) if self._feed_list else None
        self._queue = self._thread = None
        if not iterable:
            self._queue = core.BatchQueue(self._capacity)
            name = core.read_from_loader(self._feed_list, use_double_buffer)
            core.set_reader(global_scope(), name, self._queue)

    @property
    def iterable(self):
        """Whether the loader is iterated over, and not part of a program."""
        return self._iterable

    @property
    def queue(self):
        """What a program reads from; None for a loader that is iterated over."""
        return self._queue

    # ---- where batches come from

    def set_sample_generator(self, reader, batch_size, drop_last=True, places=None):
        """``reader()`` yields single samples, a tuple or list of fields."""
        batch_size = positive("batch_size", batch_size)

        def batches():
            samples = iter(reader())
            while True:
                batch = list(itertools.islice(samples, batch_size))
                if len(batch) == batch_size or (batch and not drop_last):
                    yield batch
                if len(batch) < batch_size:
                    return

        return self.set_sample_list_generator(batches, places)

    def set_sample_list_generator(self, reader, places=None):
        """``reader()`` yields lists of samples, as ``paddle.batch`` does."""
        feeder = DataFeeder(self._feed_list, None) if self._feed_list else None
        names = None if feeder is None else self._fields.names

        def batches():
            for samples in reader():
                if feeder is None:
                    yield [np.stack(field) for field in zip(*samples)]
                else:
                    feed = feeder.feed(samples)
                    yield [feed[name] for name in names]

        return self.set_batch_generator(batches, places)

    def set_batch_generator(self, reader, places=None):
        """``reader()`` yields batches: a list or tuple of arrays, one for each field."""
        self._make = reader
        if places is not None:
            self._places = [to_place(place) for place in _to_list(places)]
        return self

    # ---- iterating over it

    def __iter__(self):
        if not self._iterable:
            raise RuntimeError(
                "a loader with iterable=False is part of its program: call start() and run the "
                "program without a feed"
            )
        self._need_generator()
        tensors = _tensors(self._make, self._fields)
        return together(self, _Feeds(self, Ahead(tensors, self._capacity)))

    def __call__(self):
        return self.__iter__()

    # ---- being part of a program

    def start(self):
        """Begins a pass."""
        if self._iterable:
            raise RuntimeError("a loader with iterable=True has no start(): iterate over it")
        self._need_generator()
        self.reset()
        self._thread = threading.Thread(
            target=_fill,
            args=(self._queue.start(), _tensors(self._make, self._fields)),
            name="paddle.io reader",
            daemon=True,
        )
        self._thread.start()
        _live.add(self)

    def reset(self):
        """Ends a pass: after EOFException, or before it."""
        if self._iterable:
            raise RuntimeError("a loader with iterable=True has no reset(): iterate over it")
        self._queue.reset()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(patience(_PATIENCE))
        self._thread = None

    _kind = "loader of DataLoader.from_generator()"
    _ways = "set_sample_generator, set_sample_list_generator or set_batch_generator"

    def _need_generator(self):
        if self._make is None:
            raise RuntimeError(f"the {self._kind} has no generator yet: call {self._ways} first")

    def __del__(self):
        if getattr(self, "_thread", None) is not None:
            self.reset()


class _Feeds:
    """The batches of one pass: for each step a list with a feed, or a list, for each place."""

    def __init__(self, loader, batches):
        self._source = batches
        self._batches = grouped(batches, len(loader._places), loader._drop_last)
        self._fields, self._as_list = loader._fields, loader._return_list

    def __iter__(self):
        return self

    def __next__(self):
        batches = next(self._batches)
        if self._as_list:
            return batches
        return [dict(zip(self._fields.names, batch)) for batch in batches]

    def close(self):
        """Ends the pass: nothing runs any more."""
        self._source.close()


def _tensors(make, fields):
    """A function that gives an iterator over batches as lists of tensors, checked."""

    def batches():
        for batch in make():
            if isinstance(batch, dict):
                batch = list(batch.values())
            elif isinstance(batch, (np.ndarray, core.LoDTensor)):
                batch = [batch]
            if fields is None:
                yield [core.to_lod_tensor(field) for field in batch]
            else:
                yield fields.tensors(batch)

    return batches


def _fill(channel, make):
    try:
        batches = make()
        for batch in batches:
            if not channel.push(batch):
                batches.close()
                break
        channel.close()
    except BaseException as error:  # noqa: B036 - raised by the run that reads
        channel.fail(error)


@atexit.register
def _reset_all():
    for loader in list(_live):
        loader.reset()


class PyReader(GeneratorLoader):
    """``fluid.io.PyReader``: GeneratorLoader with the names of 1.x."""

    _kind = "PyReader"
    _ways = "decorate_sample_generator, decorate_sample_list_generator or decorate_batch_generator"

    def __init__(
        self,
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=False,
    ):
        super().__init__(feed_list, capacity, use_double_buffer, iterable, return_list)

    def decorate_sample_generator(self, sample_generator, batch_size, drop_last=True, places=None):
        """``sample_generator()`` yields single samples."""
        self.set_sample_generator(sample_generator, batch_size, drop_last, places)

    def decorate_sample_list_generator(self, reader, places=None):
        """``reader()`` yields lists of samples, as ``paddle.batch`` does."""
        self.set_sample_list_generator(reader, places)

    def decorate_batch_generator(self, reader, places=None):
        """``reader()`` yields batches of arrays."""
        self.set_batch_generator(reader, places)


class DatasetLoader:
    """The batches of a file data set as feeds: ``for data in loader: exe.run(feed=data)``.

    ``drop_last`` leaves out batches that are not full, and those that do not go round all places.
    """

    def __init__(self, dataset, places, drop_last=True):
        if not isinstance(dataset, DatasetBase):
            raise TypeError(
                "from_dataset takes a QueueDataset or an InMemoryDataset, but got a "
                f"{type(dataset).__name__}"
            )
        self._dataset = dataset
        self._places = _to_list(places) or [None]
        self._drop_last = drop_last

    def __iter__(self):
        self._dataset._prepare_to_run()
        return together(self, grouped(self._feeds(), len(self._places), self._drop_last))

    def __call__(self):
        return self.__iter__()

    def _feeds(self):
        names = [var.name for var in self._dataset.use_var]
        full = self._dataset._core.batch_size if self._drop_last else 0
        batches = self._dataset._core.start()
        for tensors in iter(batches.next, None):
            lod = tensors[0].lod()
            if (len(lod[0]) - 1 if lod else len(tensors[0])) >= full:
                yield dict(zip(names, tensors))
