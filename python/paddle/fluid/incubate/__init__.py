"""What Paddle 1.x kept for programs that want the newest."""

from paddle._names import names_of

__getattr__, __dir__ = names_of(__name__, ["data_generator", "fleet"])
