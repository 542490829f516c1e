"""``python -m paddle.distributed.launch_ps``: starts servers and workers on this host."""

import sys

from paddle.distributed.launch import _become


def launch():
    """Becomes the launcher, with the arguments of this process and the defaults of launch_ps."""
    _become("launch_ps", sys.argv[1:])


if __name__ == "__main__":
    launch()
