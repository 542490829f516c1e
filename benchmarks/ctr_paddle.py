"""Wide&Deep on parameter servers in the words of Paddle's 2.x API; Flotilla and Paddle run it."""

import paddle
from paddle import static
from paddle.distributed import fleet

from paddle_side import wide_deep


def build(mode):
    """Serves and returns nothing, as a server; a worker's step(feed), and what ends its training."""
    paddle.enable_static()
    fleet.init(is_collective=False)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = mode != "sync"
    if mode == "geo":
        strategy.a_sync_configs = {"k_steps": 100}
    loss, optimizer = wide_deep()
    if mode != "geo":
        optimizer = paddle.optimizer.Adam(learning_rate=0.0001, lazy_mode=True)
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return None
    executor = static.Executor(paddle.CPUPlace())
    executor.run(static.default_startup_program())
    fleet.init_worker()
    program = static.default_main_program()

    def step(feed):
        return executor.run(program, feed=feed, fetch_list=[loss])

    return step, fleet.stop_worker
