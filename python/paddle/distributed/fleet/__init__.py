"""Distributed training: ``fleet.init()``, ``fleet.distributed_optimizer(optimizer, strategy)``."""

import logging as _logging

from paddle._rows import rows

from .base.fleet_base import Fleet

rows(globals())

# The functions of this module are methods of one fleet: the fleet of this process.
fleet = Fleet()
_final_strategy = fleet._final_strategy
globals().update({word: getattr(fleet, word) for word in dir(fleet) if word[0] != "_"})
rank = fleet.worker_index
nranks = world_size = fleet.worker_num
rank_in_node = fleet.local_rank

_logger = _logging.getLogger("paddle.distributed.fleet")


def set_log_level(level):
    """How much fleet says: a name such as "INFO", or a number of ``logging``."""
    _logger.setLevel(level.upper() if isinstance(level, str) else level)


def get_log_level_code():
    """The number of the level."""
    return _logger.getEffectiveLevel()


def get_log_level_name():
    """The name of the level."""
    return _logging.getLevelName(_logger.getEffectiveLevel())
