"""Programs of workers without servers, as 1.x made them before there was a fleet."""

from .distribute_transpiler import DistributeTranspiler, DistributeTranspilerConfig

__all__ = ["GradAllReduce", "LocalSGD"]


class Collective:
    """Turns a program for one process into that of one of several workers.

    ``nrings`` is accepted: how gradients travel is chosen by their sizes.
    """

    mode = None

    def __init__(self, nrings):
        self.nrings = nrings

    def transpile(
        self, startup_program, main_program, rank, endpoints, current_endpoint, wait_port
    ):
        """Divide the work: ``rank`` of the workers at ``endpoints``, this one."""
        endpoints = endpoints.split(",") if isinstance(endpoints, str) else list(endpoints)
        if len(endpoints) < 2:
            raise ValueError(f"there must be 2 endpoints or more, but there are {endpoints}")
        if not 0 <= rank < len(endpoints) or current_endpoint != endpoints[rank]:
            raise ValueError(
                f"current_endpoint must be endpoint {rank} of {endpoints}, "
                f"but is {current_endpoint!r}"
            )
        config = DistributeTranspilerConfig()
        config.mode, config.collective_mode = "collective", self.mode
        DistributeTranspiler(config).transpile(
            rank,
            main_program,
            trainers=",".join(endpoints),
            startup_program=startup_program,
            current_endpoint=current_endpoint,
        )


class GradAllReduce(Collective):
    """Each step works with the mean of all workers' gradients."""

    mode = "grad_allreduce"

    def __init__(self, nrings=2):
        super().__init__(nrings)


class LocalSGD(Collective):
    """Each worker makes steps of its own; parameters become the mean of all workers'."""

    mode = "local_sgd"

    def __init__(self, nrings=2):
        super().__init__(nrings)
