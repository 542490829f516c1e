"""Inputs in the words of 1.x."""

import _flotilla
from paddle._rows import rows
from paddle.base.framework import default_main_program, default_startup_program
from paddle.base.scope import global_scope
from paddle.base.unique_name import generate
from paddle.io.generator import GeneratorLoader

__all__ = [
    *rows(globals()),
    *("create_py_reader_by_data", "double_buffer", "py_reader", "read_file"),
]


class _Reader(GeneratorLoader):
    """A reader of the oldest programs: ``read_file`` makes variables of it.

    ``decorate_paddle_reader`` and ``decorate_tensor_provider`` say where batches come from,
    ``start()`` and ``reset()`` enclose a pass, which ends with EOFException.
    """

    _kind = "reader of py_reader()"
    _ways = "decorate_paddle_reader or decorate_tensor_provider"

    def __init__(self, capacity, slots, name, use_double_buffer):
        self._feed_list = []
        self._capacity, self._iterable, self._return_list = int(capacity), False, False
        self._drop_last, self._places, self._make, self._thread = True, [None], None, None
        self._fields = None
        self._queue = _flotilla.BatchQueue(self._capacity)
        reader = name or generate("create_py_reader")
        startup = default_startup_program().global_block()
        _flotilla.create_py_reader(startup, generate("lod_tensor_blocking_queue"), reader, slots)
        block = default_main_program().current_block()
        _flotilla.declare_reader(block, startup.var(reader))
        _flotilla.set_reader(global_scope(), reader, self._queue)
        self.name = reader
        if use_double_buffer:
            self.name = generate("double_buffer")
            _flotilla.double_buffer(block, reader, self.name)

    def decorate_paddle_reader(self, reader, places=None):
        """``reader()`` yields lists of samples, as ``paddle.batch`` does."""
        if not self._feed_list:
            raise RuntimeError("call read_file(reader) before decorate_paddle_reader")
        self.set_sample_list_generator(reader, places)

    decorate_sample_list_generator = decorate_paddle_reader

    def decorate_tensor_provider(self, reader, places=None):
        """``reader()`` yields batches of arrays."""
        self.set_batch_generator(reader, places)

    decorate_batch_generator = decorate_tensor_provider


def py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True):
    """A reader of batches with these fields; ``read_file`` gives the variables."""
    levels = lod_levels or [0] * len(shapes)
    slots = [(list(s), d, n, False) for s, d, n in zip(shapes, dtypes, levels)]
    return _Reader(capacity, slots, name, use_double_buffer)


def create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True):
    """A reader of batches whose fields are as these variables; ``read_file`` gives new ones."""
    slots = [(list(v.shape), v.dtype, v.lod_level, v.need_check_feed) for v in feed_list]
    return _Reader(capacity, slots, name, use_double_buffer)


def double_buffer(reader, place=None, name=None):
    """A reader that is one batch ahead of another; every reader of ours is."""
    made = name or generate("create_double_buffer_reader")
    _flotilla.double_buffer(default_main_program().current_block(), reader.name, made)
    reader.name = made
    return reader


def read_file(reader):
    """The variables that each run reads from a reader: one, or a list of them."""
    block = default_main_program().current_block()
    stem = generate("read_file")
    made = []
    for i, (shape, dtype, lod_level) in enumerate(_flotilla.reader_slots(block.var(reader.name))):
        made.append(
            block.create_var(
                name=f"{stem}.tmp_{i}", shape=shape, dtype=dtype, lod_level=lod_level,
                stop_gradient=True,
            )
        )  # fmt: skip
    _flotilla.read(block, reader.name, made)
    reader._feed_list = made
    reader._fields = _flotilla.BatchFields(made)
    return made[0] if len(made) == 1 else made
