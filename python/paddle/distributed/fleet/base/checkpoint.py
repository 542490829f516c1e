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
from paddle.base.framework import default_main_program
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


def save_check_point(role, executor, path, train_status, main_program, remain_all_checkpoint):
    """Write a checkpoint in the folder ``path``; see :meth:`Fleet.save_check_point`."""
    program = main_program or default_main_program()
    program = getattr(program, "_program", program)  # where it was compiled
    core.fleet.compare_parameters(program, global_scope())
    seed = core.draw_seed(_generator)
    _generator.manual_seed(seed)
    mine = {"seed": seed, "numpy": np.random.get_state(), "random": random.getstate()}
    everybody = communication.gather_values(mine)
    if role.is_first_worker():

        def write(folder):
            _io.save_persistables(executor, folder, main_program)
            state.write(everybody, os.path.join(folder, _WORKERS))

        epoch, step = train_status._epoch_no, train_status._step_no
        keep = sys.maxsize if remain_all_checkpoint else 1
        _checkpoints.save(path, write, epoch, step, keep)
    core.fleet.barrier(0)


def load_check_point(role, executor, path, main_program, ignore_empty):
    """Load the newest checkpoint that is whole; see :meth:`Fleet.load_check_point`."""
    found = _checkpoints.newest(path)
    if found is None:
        if not ignore_empty:
            raise ValueError(f"{path} holds no checkpoint")
        return TrainStatus()
    folder, epoch, step = found
    _io.load_persistables(executor, folder, main_program)
    everybody = state.read(os.path.join(folder, _WORKERS))
    # Another number of workers draws other numbers; the order of samples stays that of worker 0.
    same = len(everybody) == role.workers
    mine = everybody[role.index if same else 0]
    _generator.manual_seed(mine["seed"] + (0 if same else role.index))
    np.random.set_state(tuple(mine["numpy"]))
    random.setstate(mine["random"])
    return TrainStatus(epoch, step)
