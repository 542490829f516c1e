"""A fleet of one: roles, helpers, strategies, and training that passes through."""

import copy
import os
import pickle

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import pytest
from paddle.distributed import ParallelEnv, get_rank, get_world_size
from paddle.fluid.incubate.fleet import collective
from paddle.fluid.incubate.fleet.base import role_maker as roles_of_1_8


@pytest.fixture
def alone():
    fleet.init(is_collective=True)


def linear():
    x = paddle.static.data("x", [None, 3])
    y = paddle.static.data("y", [None, 1])
    prediction = paddle.static.nn.fc(x, 1)
    return paddle.mean(paddle.nn.functional.square_error_cost(prediction, y)), prediction


FEED = {"x": np.eye(3, dtype="float32"), "y": np.ones((3, 1), dtype="float32")}


def losses_of(executor, program, loss, steps=20):
    executor.run(paddle.static.default_startup_program())
    return [float(executor.run(program, feed=FEED, fetch_list=[loss])[0]) for _ in range(steps)]


def test_both_ways_to_import():
    from paddle.distributed import fleet as other

    assert other is fleet
    assert fleet.fleet.util is fleet.util


@pytest.mark.parametrize("is_collective", [True, False])
def test_who_is_there(is_collective):
    fleet.init(is_collective=is_collective)
    assert fleet.is_first_worker() and fleet.is_worker() and not fleet.is_server()
    assert (fleet.worker_index(), fleet.worker_num(), fleet.server_num()) == (0, 1, 0)
    assert (fleet.rank(), fleet.nranks(), fleet.world_size(), fleet.local_rank()) == (0, 1, 1, 0)
    assert fleet.node_num() == 1
    assert fleet.worker_endpoints() == ["127.0.0.1:6170"] * is_collective
    assert fleet.worker_endpoints(to_string=True) == "127.0.0.1:6170" * is_collective
    assert fleet.server_endpoints() == []


def test_before_init():
    with pytest.raises(RuntimeError, match="call fleet.init"):
        fleet.Fleet().worker_num()
    with pytest.raises(RuntimeError, match="call fleet.init"):
        fleet.UtilBase().barrier()


def test_lives_of_worker_and_server(alone):
    fleet.init_worker()
    fleet.barrier_worker()
    fleet.stop_worker()
    for function in (fleet.init_server, fleet.run_server):
        with pytest.raises(RuntimeError, match="jobs with parameter servers.*fleetrun"):
            function()


def test_util(alone, capsys):
    assert fleet.util.all_reduce(3) == 3
    assert fleet.util.all_reduce([1.0, 2.0], "max").tolist() == [1.0, 2.0]
    assert fleet.util.all_gather({"a": 1}) == [{"a": 1}]
    fleet.util.barrier()
    assert fleet.util.get_file_shard(["a", "b"]) == ["a", "b"]
    fleet.util.print_on_rank("here", 0)
    fleet.util.print_on_rank("not here", 1)
    assert capsys.readouterr().out == "here\n"
    with pytest.raises(ValueError, match="mode must be sum, min or max, but is 'mean'"):
        fleet.util.all_reduce(1, "mean")
    with pytest.raises(TypeError, match="files must be a list of names, but is tuple"):
        fleet.util.get_file_shard(("a",))


def test_the_environment_says_rank_and_size(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "127.0.0.1:6170,127.0.0.1:6171")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    assert (get_rank(), get_world_size(), ParallelEnv().nranks) == (1, 2, 2)
    assert ParallelEnv().current_endpoint == "127.0.0.1:6171"


def test_contradictory_environments_are_refused(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    with pytest.raises(ValueError, match="PADDLE_TRAINER_ENDPOINTS does not say where they are"):
        fleet.init(is_collective=True)


def test_role_makers():
    alone = fleet.UserDefinedRoleMaker(
        is_collective=True, current_id=0, worker_endpoints=["127.0.0.1:6170"]
    )
    fleet.init(alone)
    assert fleet.worker_endpoints() == ["127.0.0.1:6170"]
    assert alone.to_string().startswith(
        "role: 1, current_id: 0, worker_endpoints: ['127.0.0.1:6170']"
    )
    server = fleet.UserDefinedRoleMaker(
        current_id=1, role=fleet.Role.SERVER, worker_num=2, server_endpoints=["a:1", "a:2"]
    )
    assert server._is_server() and server._server_index() == 1 and server._worker_num() == 2
    with pytest.raises(ValueError, match=r"current_id must lie in \[0, 2\), but is 5"):
        fleet.UserDefinedRoleMaker(current_id=5, worker_num=2)._generate_role()
    with pytest.raises(TypeError, match="does not take worker_number. Did you mean worker_num"):
        fleet.UserDefinedRoleMaker(worker_number=2)._generate_role()
    with pytest.raises(ValueError, match="role_maker must be a role maker, but is a str"):
        fleet.init("trainer")


def test_strategy_is_checked():
    strategy = fleet.DistributedStrategy()
    with pytest.raises(TypeError, match='"a_synk" is not an option.*Did you mean "a_sync"'):
        strategy.a_synk = True
    with pytest.raises(AssertionError, match='"k_step" is not an option of a_sync_configs'):
        strategy.a_sync_configs = {"k_step": 1}
    with pytest.raises(ValueError, match='a_sync must be True or False, but is "yes"'):
        strategy.a_sync = "yes"
    with pytest.raises(
        TypeError, match="amp_configs.incr_ratio must be a number, but is a list of 1"
    ):
        strategy.amp_configs = {"incr_ratio": [2.0]}
    with pytest.raises(ValueError, match="36893488147419103232 does not fit into 64 bits"):
        strategy.nccl_comm_num = 2**65
    assert not hasattr(strategy, "nothing")
    assert "a_sync" in dir(strategy)


def test_strategy_keeps_what_a_dict_leaves_out():
    strategy = fleet.DistributedStrategy()
    strategy.gradient_merge_configs = {"k_steps": np.int64(4)}
    strategy.gradient_merge_configs = {"avg": np.bool_(False)}
    assert strategy.gradient_merge_configs == {"k_steps": 4, "avg": False}
    strategy.recompute_configs = {"checkpoints": ("a", "b")}
    strategy.recompute_configs = {"checkpoints": ["c"]}
    assert strategy.recompute_configs["checkpoints"] == ["c"]


def test_strategy_takes_build_and_execution_strategies():
    strategy = fleet.DistributedStrategy()
    build = paddle.static.BuildStrategy()
    build.fuse_bn_act_ops = True
    strategy.build_strategy = build
    execution = paddle.static.ExecutionStrategy()
    execution.num_threads = 3
    strategy.execution_strategy = execution
    assert strategy.build_strategy.fuse_bn_act_ops
    assert strategy.execution_strategy.num_threads == 3


def test_strategy_is_a_value():
    strategy = fleet.DistributedStrategy()
    strategy.a_sync_configs = {"k_steps": 7}
    strategy.hybrid_configs = {"dp_degree": 2, "order": ["dp", "mp"]}
    for other in (
        copy.deepcopy(strategy),
        copy.copy(strategy),
        pickle.loads(pickle.dumps(strategy)),
    ):
        assert other == strategy
        assert other.hybrid_parallel_order == ["dp", "mp"]
        other.a_sync = True
        assert other != strategy


def test_tables_of_a_strategy():
    strategy = fleet.DistributedStrategy()
    strategy.sparse_table_configs = {
        "emb": {"table_parameters.emb.accessor.embedx_dim": 10, "table_parameters.emb.shard_num": 5}
    }
    (table,) = strategy.sparse_table_configs
    assert table["table_name"] == "emb" and table["shard_num"] == 5
    assert table["accessor"]["embedx_dim"] == 10
    with pytest.raises(ValueError, match='"sparse_dim" is not an option of the table emb'):
        strategy.fleet_desc_configs = {"emb": {"sparse_dim": 8}}
    with pytest.raises(ValueError, match="sparse_optimizer must be one of naive.*but is 'sgd'"):
        strategy.fleet_desc_configs = {"emb": {"sparse_optimizer": "sgd"}}
    with pytest.raises(TypeError, match="downpour_table_param.shard_num must be a whole number"):
        strategy.sparse_table_configs = {"emb": {"shard_num": "many"}}
    assert len(strategy.sparse_table_configs) == 1


def test_text_that_is_no_strategy(tmp_path):
    path = tmp_path / "s.prototxt"
    path.write_text("a_sync: true\nbanana: 1\n")
    with pytest.raises(ValueError, match=r"s.prototxt does not hold a DistributedStrategy: line 2"):
        fleet.DistributedStrategy().load_from_prototxt(path)
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it
    with pytest.raises(ValueError, match="pipe is a named pipe, not a file"):
        fleet.DistributedStrategy().load_from_prototxt(tmp_path / "pipe")


@pytest.mark.parametrize("give", ["to init", "to the optimizer", "nowhere"])
def test_training_passes_through(give, executor):
    strategy = fleet.DistributedStrategy()
    fleet.init(is_collective=True, strategy=strategy if give == "to init" else None)
    loss, _ = linear()
    inner = paddle.optimizer.SGD(0.5)
    optimizer = fleet.distributed_optimizer(
        inner, *([strategy] if give == "to the optimizer" else [])
    )
    ops, params_grads = optimizer.minimize(loss)
    assert len(params_grads) == 2
    losses = losses_of(executor, paddle.static.default_main_program(), loss)
    assert losses[-1] < losses[0] / 100
    assert optimizer.get_lr() == 0.5
    optimizer.amp_init(paddle.CPUPlace())
    optimizer.set_lr(0.0)
    before = executor.run(feed=FEED, fetch_list=[loss])[0]
    assert executor.run(feed=FEED, fetch_list=[loss])[0] == before


def test_fleet_minimizes_too(alone):
    loss, _ = linear()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1))
    assert len(fleet.minimize(loss)[1]) == 2


def test_the_fleet_may_be_told_after_its_optimizer(executor):
    early = fleet.Fleet()
    optimizer = early.distributed_optimizer(paddle.optimizer.SGD(0.1))
    loss, _ = linear()
    with pytest.raises(RuntimeError, match=r"who this process is: call fleet.init\(\) first"):
        optimizer.minimize(loss)
    early.init(is_collective=True)
    optimizer.minimize(loss)
    executor.run(paddle.static.default_startup_program())
    before, after = (executor.run(feed=FEED, fetch_list=[loss])[0] for _ in range(2))
    assert after < before


def test_what_is_not_applied_is_said(alone):
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    loss, _ = linear()
    with pytest.warns(UserWarning, match="strategy.amp"):
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    with pytest.raises(TypeError, match="takes an optimizer, but got str"):
        fleet.distributed_optimizer("sgd")


def test_saving(alone, executor, tmp_path):
    loss, prediction = linear()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
    executor.run(paddle.static.default_startup_program())
    fleet.save_persistables(executor, tmp_path / "all")
    assert (tmp_path / "all" / "fc_0.w_0").exists()
    fleet.save_inference_model(executor, tmp_path / "model", ["x"], [prediction])
    program, feeds, fetches = paddle.fluid.io.load_inference_model(tmp_path / "model", executor)
    assert feeds == ["x"]
    (value,) = executor.run(program, feed={"x": FEED["x"]}, fetch_list=fetches)
    assert value.shape == (3, 1)


def test_collective_fleet_of_1_8(executor):
    role = roles_of_1_8.PaddleCloudRoleMaker(is_collective=True)
    collective.fleet.init(role)
    assert role.worker_num() == 1 and role.is_first_worker()
    assert collective.fleet.worker_index() == 0 and collective.fleet.worker_num() == 1
    assert collective.fleet.split_files(["a"]) == ["a"]
    strategy = collective.DistributedStrategy()
    strategy.fuse_all_reduce_ops = True
    strategy.nccl_comm_num = 2
    strategy.exec_strategy.num_threads = 2
    with pytest.warns(UserWarning, match='Did you mean "nccl_comm_num"'):
        strategy.nccl_com_num = 2  # Paddle takes any name
    assert strategy.nccl_com_num == 2
    hidden = paddle.fluid.layers.data("hidden", [2])
    strategy.recompute_checkpoints = [hidden, "fc_1.tmp_0"]
    assert strategy.recompute_checkpoints == [hidden.name, "fc_1.tmp_0"]
    assert strategy.memory_optimize is None
    strategy.memory_optimize = True
    assert strategy.memory_optimize is True
    loss, _ = linear()
    startup = paddle.static.default_startup_program()
    optimizer = collective.fleet.distributed_optimizer(
        paddle.fluid.optimizer.SGD(0.5), strategy=strategy
    )
    assert isinstance(optimizer, collective.CollectiveOptimizer)
    optimizer.minimize(loss, startup)
    losses = losses_of(executor, collective.fleet.main_program, loss)
    assert losses[-1] < losses[0] / 100
