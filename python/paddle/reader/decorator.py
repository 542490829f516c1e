"""The wrappers of readers."""

import itertools
import random

from .processes import samples_of_processes
from .threads import samples_in_order, samples_of_mappers, samples_of_thread


class ComposeNotAligned(ValueError):
    """One of the readers that ``compose`` puts side by side ended before the others."""


def shuffle(reader, buf_size):
    """Samples in random order: each ``buf_size`` of them are shuffled among themselves.

    The order comes from Python's ``random``, so ``random.seed`` governs it.
    """

    def shuffled():
        gathered = []
        for sample in reader():
            gathered.append(sample)
            if len(gathered) >= buf_size:
                random.shuffle(gathered)
                yield from gathered
                gathered = []
        if gathered:
            random.shuffle(gathered)
            yield from gathered

    return shuffled


def chain(*readers):
    """The samples of one reader after those of the other."""

    def chained():
        for reader in readers:
            yield from reader()

    return chained


_nothing = object()


def compose(*readers, check_alignment=True):
    """Tuples of the samples of several readers, side by side: (1, 2) and 3 give (1, 2, 3).

    Readers of different lengths raise ``ComposeNotAligned``; without ``check_alignment`` the
    shortest ends all.
    """

    def composed():
        iterators = [reader() for reader in readers]
        if not check_alignment:
            for parts in zip(*iterators):
                yield _joined(parts)
            return
        for count, parts in enumerate(itertools.zip_longest(*iterators, fillvalue=_nothing)):
            ended = [i for i, part in enumerate(parts) if part is _nothing]
            if ended:
                goes_on = next(i for i, part in enumerate(parts) if part is not _nothing)
                raise ComposeNotAligned(
                    f"composed readers must have the same number of samples, but reader {ended[0]} "
                    f"of {len(parts)} ended after {count}, and reader {goes_on} continues (with "
                    "check_alignment=False, the shortest one ends all)"
                )
            yield _joined(parts)

    return composed


def _joined(parts):
    return tuple(itertools.chain.from_iterable(p if isinstance(p, tuple) else (p,) for p in parts))


def map_readers(func, *readers):
    """What ``func`` returns for a sample of each reader; the shortest reader ends all."""

    def mapped():
        yield from map(func, *[reader() for reader in readers])

    return mapped


def firstn(reader, n):
    """The first ``n`` samples."""

    def first():
        yield from itertools.islice(reader(), n)

    return first


def cache(reader):
    """Samples from memory. ``reader`` is read once, at once."""
    samples = tuple(reader())

    def cached():
        yield from samples

    return cached


def buffered(reader, size):
    """Samples that a thread reads ahead, up to ``size`` of them."""

    def read_ahead():
        yield from samples_of_thread(reader, size)

    return read_ahead


def xmap_readers(mapper, reader, process_num, buffer_size, order=False):
    """What ``mapper`` returns for each sample, called by ``process_num`` threads.

    Up to ``buffer_size`` results wait to be read. They come as they are ready, or, with ``order``,
    as the reader gave the samples.
    """
    if process_num < 1:
        raise ValueError(
            f"xmap_readers needs at least one thread, but process_num is {process_num}"
        )

    def mapped():
        run = samples_in_order if order else samples_of_mappers
        yield from run(mapper, reader, process_num, buffer_size)

    return mapped


def multiprocess_reader(readers, use_pipe=True, queue_size=1000):
    """Samples of several readers, each read by a process of its own, as they come.

    The processes are forked, so readers need not be picklable; samples must be. Both values of
    ``use_pipe`` do the same: samples come through a pipe, and the processes work ahead by about
    ``queue_size`` of them.
    """
    readers = list(readers)
    if not readers:
        raise ValueError("multiprocess_reader needs at least one reader, but the list is empty")
    if queue_size < 1:
        raise ValueError(f"queue_size must be 1 or more, but is {queue_size}")

    def gathered():
        yield from samples_of_processes(readers, queue_size)

    return gathered
