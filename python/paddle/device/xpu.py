"""XPUs, as Paddle's programs ask for them: this build uses none."""

from ._streams import synchronize

__all__ = ["synchronize"]
