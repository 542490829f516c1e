"""How a loader reads a data set that lies in memory without calling Python for every sample.

A map-style data set that holds arrays has a method ``_flt_arrays()``. It returns a list with one
``Field`` for each value of an item, in their order, or None where only ``dataset[i]`` can tell, as
with a transform that is the user's own function. What the fields describe is exactly what
``dataset[i]`` gives, in bits, shapes and dtypes::

    fields = arrays_of(dataset)
    if fields is not None:
        batch = [field.take(indices) for field in fields]

A loader that gathers in C++ reads ``field.array`` and ``field.chain`` itself:

- ``chain`` is None: sample i is ``array[i]``. The first axis counts samples; memory is in C order.
- ``chain`` is a ``_flotilla.ImageChain`` (flotilla/data/image/chain.h): ``array`` is uint8 and
  ``array[i]`` an image [height, width] or [height, width, channels]. The chain crops, flips,
  normalises and transposes it in one pass into float32 or uint8 of ``chain.shape``.
- ``draw`` is None, or a function of a number of samples: what is random in the chain, int32
  [samples, chain.params], from Python's and numpy's generators in the order in which
  ``dataset[i]`` would ask them for one sample after the other. Call it in the process and thread
  that a user's seed belongs to, once for each batch.
"""

import numpy as np

import _flotilla as core


class Field:
    """One value of every item of a data set."""

    def __init__(self, array, chain=None, draw=None):
        self.array = np.ascontiguousarray(array)
        self.chain = chain
        self.draw = draw
        self._column = None

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
        drawn = [] if self.draw is None else self.draw(len(indices)).ravel()
        return core.gather_column(self.column(), indices, drawn)

    def column(self):
        """The ``_flotilla.Column`` that gathers this field in C++."""
        if self._column is None:
            self._column = (
                core.rows(self.array)
                if self.chain is None
                else core.image_rows(self.array, self.chain)
            )
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
