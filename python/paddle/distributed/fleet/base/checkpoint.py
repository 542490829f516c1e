"""Checkpoints of collective jobs: one worker writes, all wait, and any number of workers resumes.

A checkpoint (:mod:`paddle.fluid._checkpoints`) holds what the program keeps from run to run, how far
training was, and the random numbers of every worker. Saving starts the random numbers anew, from a
seed that is saved: a run that resumes draws what the run that went on draws.
"""

import os
import random
import sys

import numpy as np

import _flotilla as core
import paddle.fluid.io as _io
from paddle.base import state
from paddle.base.executor import _generator
from paddle.base.scope import global_scope
from paddle.distributed import communication
from paddle.fluid import _checkpoints

_WORKERS = "__workers__"  # beside the variables


class TrainStatus:
    """How far training is: the last epoch that is done, and steps of the next one."""

    def __init__(self, epoch_no=-1, step_no=0):
        self._epoch_no, self._step_no = epoch_no, step_no

    def next(self):
        """The epoch to go on with."""
        return self._epoch_no + 1

    @property
    def step(self):
        """How many steps of that epoch are done."""
        return self._step_no

    def __eq__(self, other):
        return vars(self) == vars(other) if isinstance(other, TrainStatus) else NotImplemented

    def __repr__(self):
        return f"TrainStatus(epoch_no={self._epoch_no}, step_no={self._step_no})"


class Checkpoints:
    """What a fleet does with checkpoints; ``_program()`` is the program where none is named."""

    _nothing = TrainStatus  # what there is before the first checkpoint

    def save_check_point(
        self,
        executor,
        path,
        train_status,
        main_program=None,
        fs=None,
        local_cache_path=".cache",
        remain_all_checkpoint=True,
    ):
        """Write all that training needs to go on; every worker calls it. ``train_status``: a
        :class:`TrainStatus`. The checkpoint is there whole or not at all."""
        role, given = self._role(), main_program or self._program()
        program = getattr(given, "_program", given)  # where it was compiled
        core.fleet.compare_parameters(program, global_scope())
        seed = core.draw_seed(_generator)
        _generator.manual_seed(seed)
        mine = {"seed": seed, "numpy": np.random.get_state(), "random": random.getstate()}
        everybody = communication.gather_values(mine)
        if role.is_first_worker():

            def write(folder):
                _io.save_persistables(executor, folder, given)
                state.write(everybody, os.path.join(folder, _WORKERS))

            epoch, step = train_status._epoch_no, train_status._step_no
            keep = sys.maxsize if remain_all_checkpoint else 1
            _checkpoints.save(path, write, epoch, step, keep)
        core.fleet.barrier(0)

    def load_check_point(
        self,
        executor,
        path,
        trainer_id=None,
        main_program=None,
        fs=None,
        local_cache_path=".cache",
        ignore_empty=True,
    ):
        """Load the newest checkpoint that is whole and return its :class:`TrainStatus`, on any
        number of workers. Where there is none, a new one; None in the API of 1.8."""
        role = self._role()
        found = _checkpoints.newest(path)
        if found is None:
            if not ignore_empty:
                raise ValueError(f"{path} holds no checkpoint")
            return self._nothing()
        folder, epoch, step = found
        _io.load_persistables(executor, folder, main_program or self._program())
        everybody = state.read(os.path.join(folder, _WORKERS))
        # Another number of workers draws other numbers; the order of samples stays that of worker 0.
        same = len(everybody) == role.workers
        mine = everybody[role.index if same else 0]
        _generator.manual_seed(mine["seed"] + (0 if same else role.index))
        np.random.set_state(tuple(mine["numpy"]))
        random.setstate(mine["random"])
        return TrainStatus(epoch, step)
