"""A worker process of a DataLoader: makes batches when it is told to, until its socket closes.

It is forked, runs Python and numpy only, and leaves by ``os._exit``. A message is a length and a
pickled tuple; the arrays of a batch do not travel, they lie in a block, a memfd of the worker:

    to the worker      (task, indices or None, blocks that are free again)
                       ("pass", )                                     a new pass of an iterable set
    from the worker    (task, "batch", block, bytes, arrays, value)   a new block comes with its
                                                                      descriptor
                       (task, "end")                                  an iterable set has no more
                       (task, "error", pickled exception or None, its text)
"""

import contextlib
import faulthandler
import mmap
import os
import pickle
import random
import signal
import struct
import sys
import traceback
from socket import CMSG_LEN, SCM_RIGHTS, SOL_SOCKET

import numpy as np

import _flotilla as core

from ._iterators import cut
from .collate import TENSOR_DTYPES
from .dataset import IterableDataset

_HEADER = struct.Struct("<QQ")  # bytes of the message, number of descriptors
_ALIGN = 64
_info = None


class WorkerInfo:
    """Which worker this process is: ``id``, ``num_workers``, ``dataset`` and ``seed``."""

    def __init__(self, id, num_workers, dataset, seed):  # noqa: A002 (Paddle's name)
        self.id, self.num_workers, self.dataset, self.seed = id, num_workers, dataset, seed

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


def get_worker_info():
    """In a worker process of a DataLoader its WorkerInfo, elsewhere None."""
    return _info


class Array:
    """Stands for array number ``index`` of a batch in a pickled value."""

    def __init__(self, index):
        self.index = index


def send(socket, message, descriptors=()):
    """Writes one message, with descriptors."""
    data = pickle.dumps(message, protocol=4)
    header = _HEADER.pack(len(data), len(descriptors))
    if not descriptors:
        socket.sendall(header + data)
        return
    rights = struct.pack(f"{len(descriptors)}i", *descriptors)
    sent = socket.sendmsg([header], [(SOL_SOCKET, SCM_RIGHTS, rights)])
    socket.sendall(header[sent:] + data)


def receive(socket):
    """Reads one message: (value, descriptors), or None where the other side is gone."""
    header, descriptors = b"", []
    while len(header) < _HEADER.size:
        data, extra, _, _ = socket.recvmsg(_HEADER.size - len(header), CMSG_LEN(64))
        if not data:
            return None
        header += data
        for level, kind, rights in extra:
            if level == SOL_SOCKET and kind == SCM_RIGHTS:
                count = len(rights) // 4
                descriptors += struct.unpack(f"{count}i", rights[: count * 4])
    length, _ = _HEADER.unpack(header)
    body = bytearray(length)
    view, done = memoryview(body), 0
    while done < length:
        count = socket.recv_into(view[done:])
        if count == 0:
            return None
        done += count
    return pickle.loads(body), descriptors


class _Blocks:
    """The memory that batches are written into: as many blocks as are in use at once."""

    def __init__(self):
        self.descriptors, self.sizes, self.maps, self.free = [], [], [], []

    def write(self, arrays):
        """(block, its bytes, its descriptor where the other side must map it, offsets)."""
        offsets, size = [], 0
        for array in arrays:
            offsets.append(size)
            size += -(-array.nbytes // _ALIGN) * _ALIGN
        block, fresh = self._take(max(size, _ALIGN))
        memory = self.maps[block]
        for array, offset in zip(arrays, offsets):
            view = np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)
            np.copyto(view, array)
        return block, self.sizes[block], self.descriptors[block] if fresh else None, offsets

    def _take(self, size):
        fitting = [block for block in self.free if self.sizes[block] >= size]
        if fitting:
            block = min(fitting, key=self.sizes.__getitem__)
            self.free.remove(block)
            return block, False
        if self.free:
            block = self.free.pop()
        else:
            block = len(self.descriptors)
            self.descriptors.append(os.memfd_create("paddle.io batch", os.MFD_CLOEXEC))
            self.sizes.append(0)
            self.maps.append(None)
        self._grow(block, size)
        return block, True

    def _grow(self, block, size):
        page = mmap.PAGESIZE
        size = -(-(size + size // 4) // page) * page  # batches differ a little
        os.ftruncate(self.descriptors[block], size)
        self.sizes[block] = size
        self.maps[block] = mmap.mmap(self.descriptors[block], size)


def run(loader, worker, workers, seed, socket, group, crash_log):
    """The life of a worker; does not return."""
    global _info
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the training process decides
        faulthandler.enable(crash_log, all_threads=False)
        group.enter()
        core.enter_worker(worker)
        _info = WorkerInfo(worker, workers, loader.dataset, seed)
        random.seed(seed + worker)
        states = [worker, seed & 0xFFFFFFFF, seed >> 32, 0]
        np.random.seed(np.random.SeedSequence(states).generate_state(4))
        _serve(loader, worker, socket)
        status = 0
    except BaseException:  # noqa: B036 - read by the training process
        os.write(crash_log, traceback.format_exc().encode())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # there is nobody left to tell
                stream.flush()
        os._exit(status)


def _serve(loader, worker, socket):
    blocks = _Blocks()
    failed = None
    samples = None
    if loader.worker_init_fn is not None:
        try:
            loader.worker_init_fn(worker)
        except BaseException as error:  # noqa: B036 - told to the training process
            failed = error
    while True:
        received = receive(socket)
        if received is None:
            return
        message, _ = received
        if message[0] == "pass":
            samples = None
            continue
        task, indices, returned = message
        blocks.free += returned
        try:
            if failed is not None:
                raise failed
            if isinstance(loader.dataset, IterableDataset):
                if samples is None:
                    samples = _iterable(loader)
                value = next(samples, _END)
            else:
                value = _fetch(loader, indices)
            if value is _END:
                send(socket, (task, "end"))
            else:
                _answer(socket, blocks, task, value)
        except BrokenPipeError:
            return
        except BaseException as error:  # noqa: B036 - told to the training process
            send(socket, (task, "error", _pickled(error), traceback.format_exc()))


_END = object()


def _fetch(loader, indices):
    if loader.batch_sampler is None:
        return loader.collate_fn(loader.dataset[indices])
    dataset = loader.dataset
    return loader.collate_fn([dataset[i] for i in indices])


def _iterable(loader):
    return cut(iter(loader.dataset), loader.batch_size, loader.drop_last, loader.collate_fn)


def _answer(socket, blocks, task, value):
    arrays = []
    value = _lift(value, arrays)
    block, size, descriptor, offsets = blocks.write(arrays)
    described = [(a.dtype.name, a.shape, offset) for a, offset in zip(arrays, offsets)]
    descriptors = () if descriptor is None else (descriptor,)
    send(socket, (task, "batch", block, size, described, value), descriptors)


def _lift(value, arrays):
    """The value with stand-ins for its arrays, which go to ``arrays``."""
    if isinstance(value, core.LoDTensor):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.name in TENSOR_DTYPES:
        arrays.append(value)
        return Array(len(arrays) - 1)
    if isinstance(value, dict):
        return {key: _lift(one, arrays) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_lift(one, arrays) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_lift(one, arrays) for one in value)
    return value


def _pickled(error):
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # some can be written and not read
        return data
    except Exception:  # noqa: BLE001 - its text goes in its place
        return None
