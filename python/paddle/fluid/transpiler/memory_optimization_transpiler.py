"""What saved memory in programs of 1.x; every plan reuses it by itself."""

__all__ = ["memory_optimize", "release_memory"]


def memory_optimize(input_program, skip_opt_set=None, print_log=False, level=0, skip_grads=True):
    """Nothing is left to do: every plan reuses memory."""


def release_memory(input_program, skip_opt_set=None):
    """Nothing is left to do: every plan reuses memory."""
