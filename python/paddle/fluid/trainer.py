"""Training in the API of 0.14: ``Trainer`` owns the programs and the loop, a handler gets events.

>>> trainer = fluid.Trainer(train_func=net, optimizer_func=lambda: fluid.optimizer.SGD(0.01))
>>> trainer.train(reader=batches, num_epochs=2, event_handler=print, feed_order=["x", "y"])
"""

import contextlib
import os
import warnings

import _flotilla as core
import numpy as np
from paddle._words import of_kind, several
from paddle.base.compiler import CompiledProgram
from paddle.base.data_feeder import DataFeeder
from paddle.base.executor import Executor
from paddle.base.framework import Program, Variable, program_guard
from paddle.base.place import CPUPlace
from paddle.base.scope import Scope, scope_guard
from paddle.base.unique_name import guard as names_guard
from paddle.distributed.fleet.base import fleet_base as _fleet

from . import _checkpoints, io
from .transpiler import DistributeTranspiler

__all__ = [
    *("BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent"),
    "Trainer",
]


class BeginEpochEvent:
    """Before the first step of an epoch; ``epoch`` counts from 0."""

    def __init__(self, epoch_id):
        self.epoch = epoch_id


class EndEpochEvent:
    """After the last step of an epoch."""

    def __init__(self, epoch_id):
        self.epoch = epoch_id


class BeginStepEvent:
    """Before a step; a handler that sets ``fetch_metrics`` to False spares the metrics."""

    def __init__(self, epoch_id, step_id):
        self.epoch = epoch_id
        self.step = step_id
        self.fetch_metrics = True


class EndStepEvent:
    """After a step; ``metrics`` are the values of what the training function returned."""

    def __init__(self, epoch_id, step_id, metrics):
        self.epoch = epoch_id
        self.step = step_id
        self.metrics = metrics


class CheckpointConfig:
    """Where, how many and how often checkpoints are kept.

    One is written after every ``step_interval``-th step of every ``epoch_interval``-th epoch. They
    are removed when training ends; after a killed process the next one resumes from them.
    """

    def __init__(
        self, checkpoint_dir=None, max_num_checkpoints=3, epoch_interval=1, step_interval=10
    ):
        counts = (max_num_checkpoints, epoch_interval, step_interval)
        for word, value in zip(("max_num_checkpoints", "epoch_interval", "step_interval"), counts):
            if value < 1:
                raise ValueError(f"CheckpointConfig: {word} must be 1 or more, but is {value}")
        self.checkpoint_dir = os.getcwd() if checkpoint_dir is None else checkpoint_dir
        self.max_num_checkpoints, self.epoch_interval, self.step_interval = counts
        self.epoch_id = self.step_id = 0  # of the checkpoint that a trainer went on from


class Trainer:
    """A model, its optimizer and the loop that trains it.

    ``train_func``: appends the layers and returns the loss, or a list of which it is the first.
    ``optimizer_func``: returns an optimizer. ``param_path``: a folder to load parameters from.
    ``parallel``: accepted; a process is one place. ``checkpoint_config``: a CheckpointConfig.
    """

    def __init__(
        self,
        train_func,
        optimizer_func,
        param_path=None,
        place=None,
        parallel=False,
        checkpoint_config=None,
    ):
        said = "checkpoint_config must be a CheckpointConfig, but is a"
        of_kind(checkpoint_config, (CheckpointConfig, type(None)), said)
        self._role = core.role_from_environment(False)
        self.parallel = parallel
        self.place = check_and_get_place(place)
        self.checkpoint_cfg = checkpoint_config
        self.scope, self.startup_program, self.train_program = Scope(), Program(), Program()
        self._stopped = False
        self._resumed = None  # epoch and step of the checkpoint that was loaded
        with program_guard(self.train_program, self.startup_program), names_guard():
            self.train_func_outputs = _outputs(train_func())
            self.test_program = self.train_program.clone(for_test=True)
            optimizer = optimizer_func()
            if not hasattr(optimizer, "minimize"):
                kind = type(optimizer).__name__
                raise TypeError(f"optimizer_func must return an optimizer, but returned a {kind}")
            optimizer.minimize(self.train_func_outputs[0])
        if self._role.servers:
            _fleet.distribute(
                self._role, self.train_program, self.startup_program, DistributeTranspiler()
            )
        self._runnable = self.train_program
        if parallel:
            loss = self.train_func_outputs[0].name
            self._runnable = CompiledProgram(self.train_program).with_data_parallel(loss)
        self._executor = Executor(self.place)
        if self._role.is_server():
            return
        with self._inside():
            self._executor.run(self.startup_program)
            self._load(param_path)

    def _load(self, param_path):
        folder = None
        if self.checkpoint_cfg is not None:
            found = _checkpoints.newest(self.checkpoint_cfg.checkpoint_dir)
            if found is not None:
                folder, *self._resumed = found
                self.checkpoint_cfg.epoch_id, self.checkpoint_cfg.step_id = self._resumed
        if folder is None and param_path is not None:
            if os.path.isdir(param_path):
                folder = param_path
            else:
                warnings.warn(
                    f"fluid.Trainer: there is no folder {param_path} to load parameters from; "
                    "training starts with new ones",
                    stacklevel=3,
                )
        if folder is not None:
            io.load_persistables(self._executor, folder, self.train_program)

    @contextlib.contextmanager
    def _inside(self):
        with program_guard(self.train_program, self.startup_program), scope_guard(self.scope):
            yield

    def stop(self):
        """Leave ``train`` before the next step."""
        self._stopped = True

    def train(self, num_epochs, event_handler, reader=None, feed_order=None):
        """Train with the batches of ``reader``; ``event_handler`` is called with events.

        ``feed_order`` names the variables that the fields of a sample go to. In a job with servers
        they update the parameters, in step; a server serves until all workers are done.
        """
        if self._role.is_server():
            core.fleet.serve_as(self._role)
            return
        self._stopped = False
        first_epoch, last_done = self._resumed or (0, -1)
        self._resumed = None
        with self._inside():
            feeder = self._feeder(self.train_program, reader, feed_order)
            for epoch in range(first_epoch, num_epochs):
                event_handler(BeginEpochEvent(epoch))
                for step, batch in enumerate(reader()):
                    if self._stopped:
                        return self._end()
                    if epoch > first_epoch or step > last_done:
                        self._step(epoch, step, feeder.feed(batch), event_handler)
                event_handler(EndEpochEvent(epoch))
            self._end()

    def _step(self, epoch, step, feed, event_handler):
        begin = BeginStepEvent(epoch, step)
        event_handler(begin)
        fetch_list = self.train_func_outputs if begin.fetch_metrics else []
        metrics = self._executor.run(self._runnable, feed=feed, fetch_list=fetch_list)
        config = self.checkpoint_cfg
        if config and epoch % config.epoch_interval == 0 and step % config.step_interval == 0:
            _checkpoints.save(
                *(config.checkpoint_dir, self.save_params),
                *(epoch, step, config.max_num_checkpoints),
            )
        event_handler(EndStepEvent(epoch, step, metrics))

    def _end(self):
        if self.checkpoint_cfg is not None:
            _checkpoints.clean(self.checkpoint_cfg.checkpoint_dir)

    def test(self, reader, feed_order=None):
        """What the training function returned, without training: means over the batches."""
        with program_guard(self.test_program), scope_guard(self.scope):
            feeder = self._feeder(self.test_program, reader, feed_order)
            values = [
                self._executor.run(
                    self.test_program,
                    feed=feeder.feed(batch),
                    fetch_list=[one.name for one in self.train_func_outputs],
                )
                for batch in reader()
            ]
        if not values:
            raise ValueError("Trainer.test(): the reader gave no batch")
        means = [np.mean(np.stack(column), axis=0, dtype=np.float64) for column in zip(*values)]
        return [mean.item() if mean.size == 1 else mean for mean in means]

    def _feeder(self, program, reader, feed_order):
        if reader is None:
            raise ValueError("a Trainer needs a reader that gives batches of samples")
        if isinstance(feed_order, dict):
            feed_order = sorted(feed_order, key=feed_order.get)
        if feed_order is None:
            feed_order = [var.name for var in program.list_vars() if var.is_data]
        return DataFeeder(feed_order, self.place, program)

    def save_params(self, param_path):
        """Write what training keeps from step to step into a folder."""
        with self._inside():
            io.save_persistables(self._executor, param_path, self.train_program)

    def save_inference_model(self, param_path, feeded_var_names, target_var_indexes):
        """Write what some outputs of the training function need, to be loaded for inference."""
        outputs = [
            self.test_program.global_block().var(one.name) for one in self.train_func_outputs
        ]
        targets = [outputs[index] for index in target_var_indexes]
        with scope_guard(self.scope):
            io.save_inference_model(
                param_path, feeded_var_names, targets, self._executor, self.test_program
            )


def _outputs(returned):
    outputs = several(returned)
    wrong = [one for one in outputs if not isinstance(one, Variable)]
    if wrong or not outputs:
        found = type(wrong[0]).__name__ if wrong else "nothing"
        raise TypeError(
            f"train_func must return the loss, or a list of variables of which it is the first, "
            f"but returned {found}"
        )
    return outputs


def check_and_get_place(place):
    """``place``, by default the CPU."""
    return CPUPlace() if place is None else place
