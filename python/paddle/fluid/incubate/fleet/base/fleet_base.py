"""What the fleets of 1.8 share."""

import paddle.fluid.io as _io
from paddle.base.framework import default_main_program, default_startup_program
from paddle.distributed.fleet.base import fleet_base as _fleet

DistributedOptimizer = _fleet.DistributedOptimizer


class Mode:
    """Kinds of fleets."""

    TRANSPILER = 1
    PSLIB = 2
    COLLECTIVE = 3


class PSMode:
    """Kinds of parameter servers."""

    TRANSPILER = 1
    PSLIB = 2


class Fleet(_fleet.Fleet):
    """The fleet of this process: that of 2.x under the API of 1.8."""

    def __init__(self, mode):
        super().__init__()
        self._mode = mode
        self._origin_program = None
        self.main_program = None
        self.startup_program = None

    def init(self, role_maker=None):
        """Find out who this process is, from ``role_maker`` or else from the environment."""
        super().init(role_maker, is_collective=self._mode == Mode.COLLECTIVE)

    def split_files(self, files):
        """This worker's part of a list of files: a block, the remainder to the first workers."""
        return self.util.get_file_shard(files)

    def all_reduce_worker(self, input, output):
        """Write the sum of every worker's ``input`` to ``output``."""
        output[...] = self.all_reduce(input)

    def save_inference_model(
        self,
        executor,
        dirname,
        feeded_var_names=None,
        target_vars=None,
        main_program=None,
        export_for_deployment=True,
    ):
        """Write what ``target_vars`` need of the program."""
        program = main_program or self._program()
        if self._role().servers:
            super().save_inference_model(executor, dirname, feeded_var_names, target_vars, program)
            return
        _io.save_inference_model(dirname, feeded_var_names, target_vars, executor, program)

    def save_persistables(self, executor, dirname, main_program=None, filename=None):
        """Write all that the program keeps from run to run."""
        _io.save_persistables(executor, dirname, main_program or self._program(), filename)

    def _keep(self, program, startup_program):
        self._origin_program = self.main_program = program
        self.startup_program = startup_program or default_startup_program()

    def _program(self):
        return self._origin_program or default_main_program()
