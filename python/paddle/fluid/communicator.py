"""What sends gradients to servers, in the API of 1.5 to 1.8."""

__all__ = ["Communicator"]


class Communicator:
    """Accepted: a worker's program sends gradients and gets parameters by itself when it runs."""

    def __init__(self, program, mode=None, kwargs=None, envs=None):
        self._running = False

    def start(self):
        """Say that it is running."""
        self._running = True

    def stop(self):
        """Say that it is not running."""
        self._running = False

    def is_running(self):
        """Whether it was started, and not stopped."""
        return self._running
