"""Which samples and files each process of a job reads.

A data set comes in one of three layouts, and each has its function:

* one sample in each file: :func:`files`;
* several samples in each file: :func:`files` with ``samples_in_file``;
* one file that is the whole set: :func:`samples`, or :func:`reader` for a reader of such a file.

``rank`` and ``ranks`` come from the environment of the job unless they are given. Without
replacement the ranks divide the set; with ``with_replacement`` each goes through all of it. The
set is taken ``passes`` times, and shuffled over all of them. ``tail`` says what becomes of samples
that cannot be divided evenly: they are left out ("drop"), filled up by taking some twice ("pad"), or
kept, so that some ranks have more ("keep"). With ``shuffle`` all ranks agree on one order for a
``seed`` and an ``epoch``. Rank 0 says the counts of all ranks in one line, in epoch 0.
"""

import _flotilla as core

from .sampler import BatchSampler

__all__ = ["SampleShard", "ShardedBatchSampler", "block", "files", "reader", "samples"]


def _options(
    batch_size=1,
    drop_last=False,
    with_replacement=False,
    passes=1,
    shuffle=False,
    seed=0,
    epoch=0,
    tail="drop",
    whole_files=False,
    rank=None,
    ranks=None,
):
    job = core.data_role_from_environment() if rank is None or ranks is None else None
    return core.ShardOptions(
        rank=job.index if rank is None else rank,
        ranks=job.workers if ranks is None else ranks,
        batch_size=batch_size,
        drop_last=drop_last,
        with_replacement=with_replacement,
        passes=passes,
        shuffle=shuffle,
        seed=seed,
        epoch=epoch,
        tail=tail,
        whole_files=whole_files,
    )


class SampleShard(list):
    """What one rank reads, in the order of training; ``counts`` is what every rank gets."""

    def __init__(self, elements, counts):
        super().__init__(elements)
        self.counts = counts


def samples(data, say=True, **options):
    """The numbers of this rank's samples of a data set, or of a set with ``data`` samples."""
    options = _options(**options)
    indices, counts = core.shard_samples(data if isinstance(data, int) else len(data), options)
    if say:
        core.say_shard(counts, options)
    return SampleShard(indices.tolist(), counts)


def files(names, samples_in_file=None, say=True, **options):
    """This rank's files, where each holds one sample.

    With ``samples_in_file``, how many samples each holds, this rank's parts of files: tuples
    ``(name, first sample, number of samples)``. Two ranks may then share a file; with
    ``whole_files`` none do, and counts are as even as files allow.
    """
    names = list(names)
    if samples_in_file is None:
        if not names:
            raise ValueError("the list of files is empty")
        shard = samples(len(names), say=say, **options)
        return SampleShard([names[i] for i in shard], shard.counts)
    sizes = list(samples_in_file)
    if len(sizes) != len(names):
        raise ValueError(
            f"samples_in_file must hold a number for each of the {len(names)} files, but holds "
            f"{len(sizes)}"
        )
    options = _options(**options)
    parts, counts = core.shard_files(sizes, options)
    if say:
        core.say_shard(counts, options)
    return SampleShard([(names[file], begin, count) for file, begin, count in parts], counts)


def block(names, rank=None, ranks=None):
    """This rank's block of a list, as ``fleet.util.get_file_shard`` gives it: the remainder goes
    to the first ranks."""
    names = list(names)
    options = _options(rank=rank, ranks=ranks)
    begin, end = core.file_block(len(names), options.rank, options.ranks)
    return names[begin:end]


def reader(creator, tail="drop", rank=None, ranks=None):
    """A reader of this rank's samples of a reader that gives the whole set: sample i goes to rank
    i % ranks.

    Every rank parses everything, and holds back at most ``ranks`` samples to keep counts equal.
    """
    if tail not in ("drop", "pad", "keep"):
        raise ValueError(f'tail must be "drop", "pad" or "keep", but is {tail!r}')
    options = _options(rank=rank, ranks=ranks)

    def read():
        first, group = [], []
        for sample in creator():
            if tail == "pad" and len(first) < options.ranks:
                first.append(sample)
            group.append(sample)
            if len(group) == options.ranks:
                yield group[options.rank]
                group = []
        if group and tail == "pad":
            while len(group) < options.ranks:
                group += first[: options.ranks - len(group)]
        if options.rank < len(group) and tail != "drop":
            yield group[options.rank]

    return read


class ShardedBatchSampler(BatchSampler):
    """Batches of this rank's samples, for ``DataLoader(dataset, batch_sampler=...)``.

    Each pass is a new epoch with an order of its own; :meth:`set_epoch` goes to a given one.
    """

    def __init__(self, dataset, batch_size=1, **options):
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = bool(options.get("drop_last", False))
        self._say = options.pop("say", True)
        self._options = _options(batch_size=batch_size, **options)
        self._counts = core.shard_samples(len(dataset), self._options)[1]

    @property
    def counts(self):
        """What every rank gets in one epoch."""
        return self._counts

    @property
    def epoch(self):
        """The epoch that the next pass belongs to."""
        return self._options.epoch

    def set_epoch(self, epoch):
        """Let the next pass be the one of ``epoch``."""
        self._options.epoch = epoch

    def __iter__(self):
        order = self._order()
        end = len(order) - len(order) % self.batch_size if self.drop_last else len(order)
        for begin in range(0, end, self.batch_size):
            yield order[begin : begin + self.batch_size].tolist()

    def _order(self):
        order, counts = core.shard_samples(len(self.dataset), self._options)
        if self._say:
            core.say_shard(counts, self._options)
        self._options.epoch += 1
        return order

    def __len__(self):
        return self._counts.batches[self._options.rank]
