"""GPUs, as Paddle's programs ask for them: this build uses none."""

__all__ = ["device_count", "empty_cache", "synchronize"]


def device_count():
    """How many GPUs programs can run on: none."""
    return 0


def synchronize(device=None):
    """Nothing to wait for: every run is done when it returns."""


def empty_cache():
    """Nothing to give back: there is no memory of a GPU."""
