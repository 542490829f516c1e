"""``python -m paddle.distributed.fleet.launch``: another name of ``fleetrun``."""

from paddle.distributed.launch import launch

if __name__ == "__main__":
    launch()
