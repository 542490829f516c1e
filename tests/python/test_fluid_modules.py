"""Modules of 1.8 besides layers and optimizers: fleets, transpilers, averages, scopes."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle.fluid.incubate.fleet.base import fleet_base, role_maker
from paddle.fluid.incubate.fleet.parameter_server import distribute_transpiler as servers


def linear():
    x = fluid.layers.data(name="x", shape=[2], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    guess = fluid.layers.fc(input=x, size=1)
    return fluid.layers.mean(fluid.layers.square_error_cost(input=guess, label=y))


def train(executor, loss, program, startup):
    paddle.seed(1)
    executor.run(startup)
    feed = {"x": np.float32([[1, 2], [3, 4]]), "y": np.float32([[1], [2]])}
    return [float(executor.run(program, feed=feed, fetch_list=[loss])[0]) for _ in range(30)]


# ---- parameter servers, for a fleet of one


@pytest.mark.parametrize(
    "strategy",
    [
        None,
        servers.StrategyFactory.create_sync_strategy(),
        servers.StrategyFactory.create_async_strategy(),
        servers.StrategyFactory.create_half_async_strategy(),
        servers.StrategyFactory.create_geo_strategy(10),
        fluid.DistributeTranspilerConfig(),
    ],
    ids=["default", "sync", "async", "half async", "geo", "config"],
)
def test_the_fleet_with_servers_trains_alone(executor, strategy):
    fleet = servers.fleet
    fleet.init(role_maker.PaddleCloudRoleMaker())
    assert fleet.is_worker() and not fleet.is_server() and fleet.worker_num() == 1
    loss = linear()
    optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(0.02), strategy)
    assert isinstance(optimizer, servers.TranspilerOptimizer)
    optimizer.minimize(loss)
    fleet.init_worker()
    losses = train(executor, loss, fleet.main_program, fleet.startup_program)
    fleet.stop_worker()
    assert losses[-1] < 0.2 * losses[0]
    with pytest.raises(RuntimeError, match="for jobs with parameter servers"):
        fleet.run_server()


def test_a_general_role_maker_reads_the_environment():
    role = role_maker.GeneralRoleMaker(path="./tmp", init_timeout_seconds=30)
    role.generate_role()
    assert role.is_worker() and role.worker_num() == 1 and role.server_num() == 0
    assert fleet_base.Mode.COLLECTIVE == 3


def test_strategies_hold_what_1_8_5_put_there():
    """Read from 1.8.5."""
    factory = servers.StrategyFactory
    common = {
        "communicator_max_merge_var_num": "1",
        "communicator_send_wait_times": "5",
        "communicator_thread_pool_size": "5",
        "communicator_send_queue_size": "1",
    }
    found = {}
    for kind in ("sync", "async", "half_async"):
        strategy = getattr(factory, f"create_{kind}_strategy")()
        config = strategy.get_program_config()
        assert (config.sync_mode, config.runtime_split_send_recv) == (False, True)
        found[kind] = config.half_async, strategy.get_trainer_runtime_config()
    assert [half for half, _ in found.values()] == [True, False, True]
    assert found["sync"][1].get_communicator_flags() == common
    assert len(found["async"][1].get_communicator_flags()) == 9
    geo = factory.create_geo_strategy(50)
    assert geo.get_program_config().geo_sgd_need_push_nums == 50
    assert geo.get_trainer_runtime_config().get_communicator_flags() == {
        "communicator_thread_pool_size": "5",
        "communicator_send_wait_times": "5",
    }
    assert geo.get_execute_strategy().num_threads == 1 and geo.get_build_strategy().async_mode


def test_the_environment_has_defaults_of_a_strategy(monkeypatch):
    monkeypatch.setenv("FLAGS_communicator_send_queue_size", "7")
    flags = servers.StrategyFactory.create_async_strategy()._transpiler_settings().communicator
    assert flags["communicator_send_queue_size"] == "7"
    assert flags["communicator_max_merge_var_num"] == "1"


def test_what_strategies_ask_of_programs():
    factory = servers.StrategyFactory
    modes = [
        (factory.create_sync_strategy(), (True, True, False, 100)),
        (factory.create_async_strategy(), (False, False, False, 100)),
        (factory.create_half_async_strategy(), (False, True, False, 100)),
        (factory.create_geo_strategy(50), (False, False, True, 50)),
    ]
    for strategy, expected in modes:
        made = strategy._transpiler_settings()
        in_step, half, geo = made.completely_not_async, made.half_async, made.geo_sgd_mode
        assert (in_step, half, geo, made.geo_sgd_need_push_nums) == expected
        assert made.communicator == strategy.get_trainer_runtime_config().get_communicator_flags()


def test_settings_of_a_strategy_are_checked():
    strategy = servers.StrategyFactory.create_async_strategy()
    strategy.set_trainer_runtime_config({"communicator_send_queue_size": 16})
    strategy.set_program_config({"min_block_size": 81920})
    flags = strategy.get_trainer_runtime_config().get_communicator_flags()
    assert flags["communicator_send_queue_size"] == "16"
    assert strategy.get_program_config().min_block_size == 81920
    with pytest.raises(ValueError, match="no setting communicator_queue_size. Did you mean comm"):
        strategy.set_trainer_runtime_config({"communicator_queue_size": 16})
    with pytest.raises(TypeError, match="set_build_strategy.. takes a BuildStrategy or a dict"):
        strategy.set_build_strategy(3)
    with pytest.raises(TypeError, match="strategy must be made by StrategyFactory"):
        servers.strategy_of("sync")


# ---- transpilers


def test_settings_of_a_transpiler():
    config = fluid.DistributeTranspilerConfig()
    with pytest.raises(ValueError, match="set sync_mode to False first"):
        config.runtime_split_send_recv = True
    config.sync_mode = False
    config.runtime_split_send_recv = True
    with pytest.raises(AttributeError, match="no setting min_blok_size. Did you mean min_block_"):
        config.min_blok_size = 1
    turns = fluid.transpiler.RoundRobin(["a", "b"])
    assert turns.dispatch(["x", "y", "z"]) + turns.dispatch(["w"]) == ["a", "b", "a", "b"]
    assert fluid.transpiler.HashName(["a"]).dispatch(["x"]) == ["a"]


def test_geo_has_a_transpiler_of_its_own():
    from paddle.fluid.transpiler.geo_sgd_transpiler import GeoSgdTranspiler

    config = fluid.DistributeTranspilerConfig()
    config.geo_sgd_need_push_nums = 5
    transpiler = GeoSgdTranspiler(config)
    transpiler.transpile(0, pservers="a:6174", trainers=2)
    settings = transpiler._transpiler_settings()
    assert settings.geo_sgd_mode and not settings.sync_mode
    assert settings.geo_sgd_need_push_nums == 5
    assert len(transpiler.get_pserver_programs("a:6174")) == 2


def test_a_transpiler_leaves_the_program_of_a_lone_trainer(executor):
    loss = linear()
    fluid.optimizer.SGD(0.02).minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    transpiler = fluid.DistributeTranspiler(config)
    with pytest.raises(RuntimeError, match="call transpile"):
        transpiler.get_trainer_program()
    transpiler.transpile(0, trainers="127.0.0.1:6170", current_endpoint="127.0.0.1:6170")
    program = transpiler.get_trainer_program()
    losses = train(executor, loss, program, fluid.default_startup_program())
    assert losses[-1] < 0.2 * losses[0]
    divided = fluid.DistributeTranspiler()
    divided.transpile(0, pservers="a:6174,b:6174", trainers=2)
    with pytest.raises(ValueError, match="'c:6174' is not one of the servers"):
        divided.get_pserver_program("c:6174")


# ---- small things


def test_weighted_average():
    """With 1.8.5's answers."""
    average = fluid.average.WeightedAverage()
    with pytest.raises(ValueError, match="nothing was added"):
        average.eval()
    average.add(2.0, 1)
    average.add(4.0, 3)
    assert average.eval() == 3.5
    with pytest.raises(ValueError, match="value must be a number or a numpy array"):
        average.add("a", 1)
    average.reset()
    average.add(np.array([1.0, 2.0]), 1)
    average.add(np.array([3.0, 4.0]), 3)
    np.testing.assert_array_equal(average.eval(), [2.5, 3.5])
    average.reset()
    average.add(np.array([1.5]), np.array([2]))  # as programs fetch them
    average.add(2.0, 3)
    np.testing.assert_allclose(average.eval(), [1.8])


def test_a_profiler_lets_the_program_run_and_says_that_it_writes_nothing():
    expected = pytest.warns(UserWarning, match="writes no profile")
    with expected, fluid.profiler.profiler("CPU", "total", "/tmp/profile"):
        ran = True
    fluid.profiler.reset_profiler()
    assert ran


def test_scopes_one_inside_the_other():
    scopes = fluid.default_scope_funcs
    scopes.var("kept")

    def inside():
        scopes.var("own")
        return scopes.find_var("kept") is not None and scopes.find_var("own") is not None

    assert scopes.scoped_function(inside)
    assert scopes.find_var("own") is None and scopes.find_var("kept") is not None


def test_names_of_other_modules():
    assert fluid.reader.PyReader is fluid.io.PyReader
    assert fluid.lod_tensor.create_lod_tensor is fluid.create_lod_tensor
    assert fluid.parallel_executor.ParallelExecutor is fluid.ParallelExecutor
    assert fluid.trainer_factory.FetchHandler is fluid.executor.FetchHandler


def test_the_shape_of_a_tensor_is_a_method():
    tensor = fluid.create_lod_tensor(np.zeros([3, 2], "float32"), [[1, 2]], fluid.CPUPlace())
    assert tensor.shape() == [3, 2] and isinstance(tensor, fluid.LoDTensor)


def test_flags_of_the_environment_are_accepted(monkeypatch):
    for name in (
        "fuse_parameter_memory_size",
        "cudnn_exhaustive_search",
        "conv_workspace_size_limit",
    ):
        monkeypatch.setenv(f"FLAGS_{name}", "16")
        assert paddle.get_flags(f"FLAGS_{name}") == {f"FLAGS_{name}": 16}


# ---- names of one release or another


def test_the_fleet_under_its_first_name():
    import paddle.fleet as first
    import paddle.fleet.base.role_maker as roles

    assert first is paddle.distributed.fleet and paddle.fleet is first
    assert roles.Role is paddle.distributed.fleet.Role
    assert first.DatasetFactory is fluid.DatasetFactory


def test_names_that_moved():
    from paddle.fluid.entry_attr import CountFilterEntry
    from paddle.fluid.incubate.fleet.base import fleet_base, mode
    from paddle.fluid.incubate.fleet.utils.fs import LocalFS

    assert paddle.core.EOFException is fluid.core.EOFException
    assert fluid.contrib.layers.ctr_metric_bundle is paddle.static.ctr_metric_bundle
    assert CountFilterEntry is paddle.distributed.CountFilterEntry
    assert mode.Mode is fleet_base.Mode and LocalFS().is_exist("/")


def test_a_communicator_is_accepted():
    communicator = fluid.communicator.Communicator(fluid.default_main_program())
    assert not communicator.is_running()
    communicator.start()
    assert communicator.is_running()
    communicator.stop()
    assert not communicator.is_running()


def test_every_trainer_has_its_batches(monkeypatch):
    """With 1.8.5's answers."""
    read = fluid.contrib.reader.distributed_batch_reader(lambda: iter(range(7)))
    assert list(read()) == list(range(7))
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "3")
    monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "a:1,b:1,c:1")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "2")
    assert list(read()) == [2, 5]
