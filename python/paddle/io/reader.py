"""DataLoader: batches of a data set, shuffled, collated and read ahead."""

import _flotilla as core
from paddle.base.place import to_place

from . import _iterators
from ._together import together
from .collate import default_collate_fn, default_convert_fn, flat, to_tensors
from .dataset import IterableDataset
from .sampler import BatchSampler, positive


class _Unsaid(int):
    """True, as long as the caller did not say it."""

    def __repr__(self):
        return "True"


class DataLoader:
    """Iterates over the batches of a data set: ``for batch in loader`` or ``for batch in loader()``.

    ``feed_list``: the variables that the fields of a sample go to. With it a batch is a list with
    one feed, ``[{name: tensor}]``, for ``Executor.run(feed=batch)``; ``return_list=True``, and a
    loader without feed_list, give the fields as a list. ``places``: one feed for each of them.

    ``batch_size``, ``shuffle`` and ``drop_last``, or ``batch_sampler`` instead of the three, say
    which samples make a batch; ``batch_size=None`` gives single samples. ``collate_fn`` makes a
    batch of a list of samples. ``num_workers`` processes call the data set and ``collate_fn``, each
    up to ``prefetch_factor`` batches ahead; they are forked, so nothing needs to be pickled.
    ``timeout`` seconds are waited for a batch at most, for ever if 0. ``worker_init_fn(id)`` is
    called in each worker first. ``persistent_workers`` live from pass to pass.

    Without workers a thread reads ahead, unless ``use_buffer_reader`` is False; a data set in
    memory (TensorDataset, paddle.vision's) is gathered in C++. ``use_shared_memory`` is accepted:
    batches of workers lie in shared memory that does not need /dev/shm.
    """

    def __init__(
        self,
        dataset,
        feed_list=None,
        places=None,
        return_list=_Unsaid(True),
        batch_sampler=None,
        batch_size=1,
        shuffle=False,
        drop_last=False,
        collate_fn=None,
        num_workers=0,
        use_buffer_reader=True,
        prefetch_factor=2,
        use_shared_memory=True,
        timeout=0,
        worker_init_fn=None,
        persistent_workers=False,
    ):
        self.dataset = dataset
        self.feed_list = _to_list(feed_list)
        self.places = [to_place(place) for place in _to_list(places) or [None] if place is not None]
        by_feed_list = isinstance(return_list, _Unsaid) and self.feed_list is not None
        self.return_list = not by_feed_list and bool(return_list)
        if not self.return_list and self.feed_list is None:
            raise ValueError("return_list=False gives feeds, so feed_list must name the variables")
        self._fields = None if self.feed_list is None else core.BatchFields(self.feed_list)
        self.use_buffer_reader = use_buffer_reader
        self.use_shared_memory = use_shared_memory
        self.prefetch_factor = _at_least("prefetch_factor", prefetch_factor, 1)
        self.num_workers = _at_least("num_workers", num_workers, 0)
        self.timeout = _at_least("timeout", timeout, 0)
        self.worker_init_fn = worker_init_fn
        self.persistent_workers = persistent_workers
        self.collate_fn = collate_fn
        self._pool = None
        self._choose_batches(batch_sampler, batch_size, shuffle, drop_last)
        if collate_fn is None:
            single = self.batch_size is None and self.batch_sampler is None
            self.collate_fn = default_convert_fn if single else default_collate_fn

    def _choose_batches(self, batch_sampler, batch_size, shuffle, drop_last):
        self.batch_sampler, self.batch_size = batch_sampler, batch_size
        self.shuffle, self.drop_last = shuffle, drop_last
        iterable = isinstance(self.dataset, IterableDataset)
        if iterable and shuffle:
            raise ValueError(
                "an IterableDataset defines its own order: shuffle=True is not supported"
            )
        if batch_sampler is not None:
            if iterable:
                raise ValueError(
                    "an IterableDataset is not indexable: a batch_sampler is not supported"
                )
            if batch_size != 1 or shuffle or drop_last:
                raise ValueError(
                    "batch_size, shuffle and drop_last must not be given together with a "
                    "batch_sampler"
                )
            self.batch_size = None
            return
        if batch_size is not None:
            _at_least("batch_size", batch_size, 1)
            self.batch_size = batch_size = positive("batch_size", batch_size)
            if not iterable:
                self.batch_sampler = BatchSampler(
                    self.dataset, shuffle=bool(shuffle), batch_size=batch_size,
                    drop_last=bool(drop_last),
                )  # fmt: skip

    def __len__(self):
        if isinstance(self.dataset, IterableDataset):
            raise ValueError("a loader of an IterableDataset has no length")
        if self.batch_sampler is None:
            return len(self.dataset)
        return len(self.batch_sampler)

    def __iter__(self):
        several = len(self.places) > 1
        deliver = (lambda batch: batch) if several else self._form()
        if self.num_workers > 0:
            from ._pool import worker_batches

            batches = _iterators.Delivered(worker_batches(self), deliver)
        else:
            batches = _iterators.single_process(self, deliver)
        return together(self, self._for_places(batches) if several else batches)

    def _form(self):
        """What makes of a batch what the caller asked for."""
        if self.return_list:
            return to_tensors
        feed = self._fields.feed
        return lambda batch: [feed(flat(batch))]

    def _for_places(self, batches):
        form = self._form()
        for group in _iterators.grouped(batches, len(self.places), True):
            parts = [form(batch) for batch in group]
            yield parts if self.return_list else [feed for (feed,) in parts]

    def __call__(self):
        return self.__iter__()

    @staticmethod
    def from_generator(
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=False,
        use_multiprocess=False,
        drop_last=True,
    ):
        """A loader whose batches come from a generator of yours; see ``GeneratorLoader``."""
        from .generator import GeneratorLoader

        return GeneratorLoader(
            feed_list, capacity, use_double_buffer, iterable, return_list, use_multiprocess,
            drop_last,
        )  # fmt: skip

    @staticmethod
    def from_dataset(dataset, places, drop_last=True):
        """The batches of a QueueDataset or InMemoryDataset, as feeds for ``places``."""
        from .generator import DatasetLoader

        return DatasetLoader(dataset, places, drop_last)


def _to_list(value):
    if value is None:
        return None
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _at_least(name, value, least):
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a number of at least {least}, but is {value!r}")
    return value
