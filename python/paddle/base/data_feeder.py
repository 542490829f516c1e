"""From samples in Python to what a run is fed, and checks of what layers are called with."""

import numpy as np

import _flotilla as core

from .dtype import convert_dtype
from .framework import Variable, default_main_program


class DataFeeder:
    """Turns a batch, a list of samples, into a feed.

    ``feed_list`` names the variables that the fields of a sample go to, in order.

    >>> DataFeeder([x, y], paddle.CPUPlace()).feed([([1.0, 2.0], 0), ([3.0, 4.0], 1)])
    """

    def __init__(self, feed_list, place, program=None):
        block = (program or default_main_program()).global_block()
        self.place = place
        # A variable stands for itself, also one of another program.
        self.feed_vars = [block.var(one) if isinstance(one, str) else one for one in feed_list]
        core.names_of(self.feed_vars)  # refuses what is neither

    def feed(self, iterable):
        """The feed of a batch: a dict from names to arrays, LoDTensors for sequences."""
        samples = [tuple(sample) for sample in iterable]
        for sample in samples:
            if len(sample) != len(self.feed_vars):
                raise ValueError(
                    f"a sample must have {len(self.feed_vars)} fields, one for each variable of "
                    f"feed_list, but one has {len(sample)}"
                )
        columns = zip(*samples) if samples else [()] * len(self.feed_vars)
        return {var.name: _column(var, list(c)) for var, c in zip(self.feed_vars, columns)}

    def feed_parallel(self, iterable, num_places=None):
        """The feeds of several batches, one for each place."""
        return [self.feed(batch) for batch in iterable]

    def decorate_reader(self, reader, multi_devices, num_places=None, drop_last=True):
        """A reader of feeds for a reader of batches; with ``multi_devices`` of lists of one feed,
        since a process is one place."""

        def feeds():
            for batch in reader():
                yield [self.feed(batch)] if multi_devices else self.feed(batch)

        return feeds


def _column(var, values):
    lengths = []
    for _ in range(var.lod_level):
        lengths.append([len(sequence) for sequence in values])
        values = [item for sequence in values for item in sequence]
    array = np.array(values, var.dtype.dtype)
    if array.ndim != len(var.shape):
        array = array.reshape(var.shape)
    if not lengths:
        return array
    tensor = core.LoDTensor()
    tensor.set(array)
    tensor.set_recursive_sequence_lengths(lengths)
    return tensor


# ---- checks that layers make of their arguments


def check_variable_and_dtype(input, input_name, expected_dtype, op_name, extra_message=""):
    """Refuse what is no variable, or a variable that holds none of these element types."""
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)


def check_type(input, input_name, expected_type, op_name, extra_message=""):
    """Refuse an argument of a layer that is of none of these types."""
    if not isinstance(input, expected_type):
        kinds = expected_type if isinstance(expected_type, tuple) else (expected_type,)
        wanted = " or ".join(kind.__name__ for kind in kinds)
        found = type(input).__name__
        raise TypeError(
            f"{input_name} of {op_name} must be a {wanted}, but is a {found}" + _more(extra_message)
        )


def check_dtype(input_dtype, input_name, expected_dtype, op_name, extra_message=""):
    """Refuse an argument of a layer that holds none of these element types."""
    if convert_dtype(input_dtype) not in expected_dtype:
        listed = isinstance(expected_dtype, (list, tuple, set, frozenset))
        wanted = " or ".join(map(str, expected_dtype)) if listed else str(expected_dtype)
        found = convert_dtype(input_dtype)
        raise TypeError(
            f"{input_name} of {op_name} must hold {wanted}, but holds {found}"
            + _more(extra_message)
        )


def check_shape(
    shape,
    op_name,
    expected_shape_type=(list, tuple, Variable),
    expected_element_type=(int, Variable),
    expected_tensor_dtype=("int32", "int64"),
):
    """Refuse what cannot be the shape that a layer is given: numbers and variables of whole ones."""
    check_type(shape, "shape", expected_shape_type, op_name)
    if expected_element_type is not None and not isinstance(shape, Variable):
        for extent in shape:
            check_type(extent, "an element of shape", expected_element_type, op_name)
            if expected_tensor_dtype is not None and isinstance(extent, Variable):
                check_dtype(extent.dtype, "an element of shape", expected_tensor_dtype, op_name)
    if expected_tensor_dtype is not None and isinstance(shape, Variable):
        check_dtype(shape.dtype, "shape", expected_tensor_dtype, op_name)


def _more(said):
    return f". {said}" if said else ""
