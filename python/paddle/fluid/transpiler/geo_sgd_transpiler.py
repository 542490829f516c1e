"""Programs for Geo: workers train copies of their own and exchange what has changed."""

from .distribute_transpiler import DistributeTranspiler, DistributeTranspilerConfig  # noqa: F401


class GeoSgdTranspiler(DistributeTranspiler):
    """A :class:`DistributeTranspiler` in Geo mode, whatever else its config says. Workers exchange
    every ``geo_sgd_need_push_nums`` steps."""

    def __init__(self, config=None):
        super().__init__(config)
        self.config.sync_mode = False
        self.config.geo_sgd_mode = True

    def transpile(
        self,
        trainer_id,
        program=None,
        pservers="127.0.0.1:6174",
        trainers=1,
        sync_mode=False,
        startup_program=None,
        current_endpoint="127.0.0.1:6174",
    ):
        """Divide a program; ``sync_mode`` is not looked at."""
        super().transpile(
            *(trainer_id, program, pservers, trainers, False, startup_program, current_endpoint)
        )
