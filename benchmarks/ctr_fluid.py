"""Wide&Deep on parameter servers in the words of Paddle 1.8, for that release."""

import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base.role_maker import PaddleCloudRoleMaker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import (
    StrategyFactory,
)

import data

layers = fluid.layers


def wide_deep():
    dense = fluid.data("dense_input", [None, data.DENSE], "float32")
    ids = [fluid.data(f"C{i}", [None, 1], "int64", lod_level=1) for i in range(data.SLOTS)]
    label = fluid.data("label", [None, 1], "int64")
    table = fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform())
    size = [data.TABLE_ROWS, data.EMBEDDING]
    rows = [fluid.embedding(one, size, is_sparse=True, param_attr=table) for one in ids]
    features = [layers.reshape(one, [-1, data.EMBEDDING]) for one in rows]
    hidden = layers.concat([*features, dense], axis=1)
    for width in data.LAYERS:
        weight = fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=width**-0.5))
        hidden = layers.fc(hidden, width, act="relu", param_attr=weight)
    chance = layers.sigmoid(layers.fc(dense, 1) + layers.fc(hidden, 1))
    return layers.mean(layers.log_loss(chance, layers.cast(label, "float32")))


def build(mode):
    """Serves and returns nothing, as a server; a worker's step(feed), and what ends its training."""
    fleet.init(PaddleCloudRoleMaker())
    loss = wide_deep()
    if mode == "geo":
        strategy = StrategyFactory.create_geo_strategy(100)
        optimizer = fluid.optimizer.SGD(learning_rate=0.0001)
    else:
        strategy = getattr(StrategyFactory, f"create_{mode}_strategy")()
        optimizer = fluid.optimizer.Adam(learning_rate=0.0001, lazy_mode=True)
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return None
    fleet.init_worker()  # first: in Geo mode the startup program sends
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fleet.startup_program)
    program = fleet.main_program
    if mode != "geo":  # where it would be slower
        program = fluid.CompiledProgram(program).with_data_parallel(
            loss.name,
            build_strategy=strategy.get_build_strategy(),
            exec_strategy=strategy.get_execute_strategy(),
        )

    def step(feed):
        return executor.run(program, feed=feed, fetch_list=[loss])

    return step, fleet.stop_worker
