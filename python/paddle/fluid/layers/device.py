"""Lists of devices for programs of 0.14."""

__all__ = []


def get_places(device_count=None, device_type=None):
    """Refused: the list is for ``ParallelDo``, which Paddle took away with 0.15."""
    raise NotImplementedError(
        "get_places() lists devices for ParallelDo, which Paddle took away with 0.15, and a process of "
        "Flotilla is one device: build the net without ParallelDo, and train it with several processes "
        "by fleetrun"
    )


get_places._refuses = True  # for paddle.compat
