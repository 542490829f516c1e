"""Inference with the tables of parameter servers."""

import _flotilla as core
from paddle.base.framework import default_main_program, default_startup_program


class DistributedInfer:
    """A program that only looks, with its sparse tables on the servers of the job.

    ``main_program`` and ``startup_program``: those of inference, by default the default ones.
    """

    def __init__(self, main_program=None, startup_program=None):
        self.origin_main_program = (main_program or default_main_program()).clone()
        self.origin_startup_program = startup_program or default_startup_program()
        self.sparse_table_maps = None
        self._made = None

    def init_distributed_infer_env(self, exe, loss, role_maker=None, dirname=None):
        """Join a job of which this program is all: servers serve here until the workers are done;
        workers go on. ``dirname``: what the tables and parameters are loaded from."""
        from paddle.distributed import fleet
        from paddle.optimizer import SGD

        fleet.init(role_maker)
        fleet.distributed_optimizer(SGD(0.0)).minimize(loss)
        if fleet.is_server():
            fleet.init_server(dirname)
            fleet.run_server()
            return
        exe.run(default_startup_program())
        fleet.init_worker()

    def get_dist_infer_program(self):
        """The program whose lookups ask the servers; keys that are new get no row."""
        if self._made is None:
            self._made = self.origin_main_program.clone(for_test=True)
            core.fleet.look_up_on_servers(self._made)
        return self._made
