"""What transpilers of 1.x were made of, as far as programs use it."""

from paddle._names import names_of

from .program_utils import *  # noqa: F403

__getattr__, __dir__ = names_of(__name__, ["program_utils"])
