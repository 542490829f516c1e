"""The network of mlp.py with its parameters on servers: workers take their rows of every batch, and
servers average the gradients. Start it alone, or with

    fleetrun --server_num=1 --worker_num=2 served_mlp.py --steps 20
"""

import sys

import example
import paddle
from paddle import fluid, static
from paddle.distributed import fleet

options = example.parse(steps=20, init=0, batch=64)
paddle.seed(1)
fleet.init()
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit()
workers, me = fleet.worker_num(), fleet.worker_index()

x = static.data("x", [None, 1, 28, 28])
y = static.data("y", [None, 1], "int64")
hidden = static.nn.fc(paddle.reshape(x, [-1, 784]), 128, activation="tanh")
hidden = static.nn.fc(hidden, 128, activation="tanh")
prediction = static.nn.fc(hidden, 10, activation="softmax")
loss = paddle.mean(fluid.layers.cross_entropy(prediction, y))
strategy = fleet.DistributedStrategy()
strategy.a_sync = False
fleet.distributed_optimizer(paddle.optimizer.Adam(learning_rate=0.001), strategy).minimize(loss)

executor = static.Executor(paddle.CPUPlace())
executor.run(static.default_startup_program())
if options.init:
    example.set_parameters_by_rule(static.default_main_program())
fleet.init_worker()
# Worker r of n has batches r, r + n, r + 2n, ... of a smaller size: together one large batch.
digits = example.Digits(options.batch // workers)
for step in range(options.steps):
    (value,) = executor.run(feed=digits.feeds(step * workers + me), fetch_list=[loss])
    if fleet.is_first_worker():
        print(f"{value.item():.9g}")
fleet.stop_worker()
