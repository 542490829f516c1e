"""Samples in lists: the first step from a reader to a feed."""


def batch(reader, batch_size, drop_last=False):
    """A reader of lists of ``batch_size`` samples of ``reader``.

    The last list may be shorter; ``drop_last`` leaves it out.
    """
    size = int(batch_size)
    if size <= 0:
        raise ValueError(f"batch_size must be a positive whole number, but is {batch_size!r}")

    def batched():
        gathered = []
        for sample in reader():
            gathered.append(sample)
            if len(gathered) == size:
                yield gathered
                gathered = []
        if gathered and not drop_last:
            yield gathered

    return batched
