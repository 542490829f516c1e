"""How a loader reads a data set without calling Python for every sample.

A map-style data set whose items are made of arrays or of image files has a method
``_flt_arrays()``. It returns a list with one field for each value of an item, in their order, or
None where only ``dataset[i]`` can tell, as with a transform that is the user's own function. What
the fields describe is exactly what ``dataset[i]`` gives, in bits, shapes and dtypes::

    fields = arrays_of(dataset)
    if fields is not None:
        batch = [field.take(indices) for field in fields]

A field has

- ``column()``: the ``_flotilla.Column`` (flotilla/data/column.h) that gathers samples in C++;
- ``draw``: None, or a function of the indices of a batch: what is random in it, int32 [samples,
  params], from Python's and numpy's generators, in the order in which ``dataset[i]`` would ask them
  for one sample after the other. Call it in the process and thread that a user's seed belongs to,
  once for each batch and field, fields in their order;
- ``shape`` and ``dtype`` of one sample, ``len()``, ``take(indices)`` and ``select(indices)``.
"""

import numpy as np

import _flotilla as core


class Field:
    """Sample i is ``array[i]``, or what ``chain`` makes of the image ``array[i]``.

    The chain is a ``_flotilla.ImageChain`` (flotilla/data/image/chain.h); then ``array`` is uint8,
    and ``array[i]`` [height, width] or [height, width, channels].
    """

    def __init__(self, array, chain=None, draw=None):
        self.array = np.ascontiguousarray(array)
        self.chain = chain
        self.draw = draw
        self._column = None

    def __len__(self):
        return len(self.array)

    @property
    def shape(self):
        """The shape of one sample."""
        return tuple(self.array.shape[1:] if self.chain is None else self.chain.shape)

    @property
    def dtype(self):
        """The dtype of one sample, as numpy has it."""
        return self.array.dtype if self.chain is None else np.dtype(self.chain.dtype)

    def take(self, indices):
        """The samples at ``indices``, stacked."""
        indices = np.asarray(indices, dtype=np.int64)
        if self.chain is None:
            return self.array[indices]
        drawn = [] if self.draw is None else self.draw(indices).ravel()
        return core.gather_column(self.column(), indices, drawn)

    def select(self, indices):
        """The field of the samples at ``indices`` alone."""
        return Field(self.array[np.asarray(indices, dtype=np.int64)], self.chain, self.draw)

    def column(self):
        """The ``_flotilla.Column`` that gathers this field in C++."""
        if self._column is None:
            if self.chain is None:
                self._column = core.rows(self.array)
            else:
                self._column = core.image_rows(self.array, self.chain)
        return self._column


class FileField:
    """Sample i is what ``chain`` makes of the image in the file ``files[i]``.

    ``draw_one(height, width)`` draws for one sample; None where nothing is random.
    """

    def __init__(self, files, chain, draw_one=None, threads=1, upright=False):
        self.files = list(files)
        self.chain = chain
        self.threads = threads
        self.upright = upright  # as the chain
        self._draw_one = draw_one
        self._sizes = {}
        self._column = None

    def __len__(self):
        return len(self.files)

    @property
    def shape(self):
        return tuple(self.chain.shape)

    @property
    def dtype(self):
        return np.dtype(self.chain.dtype)

    @property
    def draw(self):
        return None if self._draw_one is None else self._draw

    def _draw(self, indices):
        new = [int(i) for i in indices if int(i) not in self._sizes]
        sizes = core.image_sizes([self.files[i] for i in new], self.upright)
        self._sizes.update(zip(new, sizes))
        drawn = [self._draw_one(*self._sizes[int(i)]) for i in indices]
        return np.array(drawn, np.int32).reshape(len(drawn), self.chain.params)

    def take(self, indices):
        indices = np.asarray(indices, dtype=np.int64)
        drawn = [] if self.draw is None else self.draw(indices).ravel()
        return core.gather_column(self.column(), indices, drawn)

    def select(self, indices):
        files = [self.files[int(i)] for i in indices]
        return FileField(files, self.chain, self._draw_one, self.threads, self.upright)

    def column(self):
        if self._column is None:
            self._column = core.image_files(self.files, self.chain, self.threads)
        return self._column


def arrays_of(dataset):
    """The fields of ``dataset``, or None where each sample has to be asked for.

    A class that replaces ``__getitem__`` or ``__len__`` of one that has arrays is asked: its items
    are its own.
    """
    for kind in type(dataset).__mro__:
        if "_flt_arrays" in vars(kind):
            return dataset._flt_arrays()
        if "__getitem__" in vars(kind) or "__len__" in vars(kind):
            return None
    return None
