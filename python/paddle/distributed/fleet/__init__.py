"""Distributed training: ``fleet.init()``, ``fleet.distributed_optimizer(optimizer, strategy)``."""

import logging as _logging

from paddle._names import names_of
from paddle._rows import rows

from .base.fleet_base import Fleet

rows(globals())

# The functions of this module are methods of one fleet: the fleet of this process.
fleet = Fleet()
util = fleet.util
_final_strategy = fleet._final_strategy

init = fleet.init
is_first_worker = fleet.is_first_worker
worker_index = rank = fleet.worker_index
worker_num = nranks = world_size = fleet.worker_num
node_num = fleet.node_num
local_rank = rank_in_node = fleet.local_rank
local_device_ids = fleet.local_device_ids
world_device_ids = fleet.world_device_ids
is_worker = fleet.is_worker
is_server = fleet.is_server
is_coordinator = fleet.is_coordinator
worker_endpoints = fleet.worker_endpoints
server_num = fleet.server_num
server_index = fleet.server_index
server_endpoints = fleet.server_endpoints
barrier_worker = fleet.barrier_worker
all_reduce = fleet.all_reduce
init_worker = fleet.init_worker
init_server = fleet.init_server
init_coordinator = fleet.init_coordinator
run_server = fleet.run_server
stop_worker = fleet.stop_worker
load_model = fleet.load_model
load_inference_model = fleet.load_inference_model
load_one_table = fleet.load_one_table
save_one_table = fleet.save_one_table
shrink = fleet.shrink
distributed_optimizer = fleet.distributed_optimizer
distributed_model = fleet.distributed_model
distributed_scaler = fleet.distributed_scaler
minimize = fleet.minimize
save_inference_model = fleet.save_inference_model
save_persistables = fleet.save_persistables
save_dense_params = fleet.save_dense_params
save = fleet.save
save_check_point = fleet.save_check_point
load_check_point = fleet.load_check_point

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


__getattr__, __dir__ = names_of(
    __name__, ["base", "data_generator", "dataset", "launch", "metrics", "utils"]
)
