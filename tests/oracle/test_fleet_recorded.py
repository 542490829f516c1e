"""Fleet, its strategies, its shards and its sampler, as real Paddle has and prints them."""

import inspect
import json
from pathlib import Path

import fleet_cases as cases
import paddle.distributed as distributed
import pytest
from paddle.distributed import fleet
from paddle.distributed.fleet.base.util_factory import UtilBase
from paddle.fluid.incubate.fleet import collective
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.io import DistributedBatchSampler

RECORDED = Path(__file__).parent / "recorded"
NEW = json.loads((RECORDED / "fleet_2.6.2.json").read_text())
OLD = json.loads((RECORDED / "fleet_1.8.5.json").read_text())


def plain(strategy, name):
    value = getattr(strategy, name)
    if hasattr(value, "_defaults"):  # a build or an execution strategy
        value = {key: getattr(value, key) for key in NEW["defaults"][name]}
    return value


@pytest.mark.parametrize("name", NEW["defaults"])
def test_default_of_2_6(name):
    assert plain(fleet.DistributedStrategy(), name) == NEW["defaults"][name]


@pytest.mark.parametrize("name", OLD["defaults"])
def test_default_of_1_8(name):
    value = getattr(collective.DistributedStrategy(), name)
    if name == "exec_strategy":
        value = {key: getattr(value, key) for key in OLD["defaults"][name]}
    assert value == OLD["defaults"][name]


@pytest.mark.parametrize("which", cases.STRATEGIES)
def test_strategy_is_printed_and_saved_alike(which, tmp_path):
    strategy = fleet.DistributedStrategy()
    cases.settings(strategy, which)
    recorded = NEW["strategies"][which]
    assert repr(strategy) == recorded["overview"]
    strategy.save_to_prototxt(tmp_path / "ours")
    assert (tmp_path / "ours").read_text() == recorded["prototxt"]

    (tmp_path / "theirs").write_text(recorded["prototxt"])
    read = fleet.DistributedStrategy()
    read.load_from_prototxt(tmp_path / "theirs")
    assert read == strategy


@pytest.mark.parametrize("case", range(len(cases.SAMPLERS)))
def test_sampler_gives_the_same_batches(case):
    ours = cases.batches_of(DistributedBatchSampler, cases.SAMPLERS[case])
    assert ours == NEW["samplers"][case]


@pytest.mark.parametrize("case", range(len(cases.FILE_SHARDS)))
def test_files_are_divided_alike(case):
    count, ranks = cases.FILE_SHARDS[case]
    endpoints = [f"127.0.0.1:{6170 + i}" for i in range(ranks)]
    for rank in range(ranks):
        util = UtilBase()
        util._set_role_maker(
            fleet.UserDefinedRoleMaker(True, current_id=rank, worker_endpoints=endpoints)
        )
        assert util.get_file_shard([str(i) for i in range(count)]) == NEW["file_shards"][case][rank]


def words(signature):
    """[(name, default)] as text; where a class takes nothing, nothing."""
    inside = inspect.signature(eval(f"lambda {signature[1:-1]}: 0"))
    return [(p.name, repr(p.default), p.kind) for p in inside.parameters.values()]


def check_signature(owner, name, recorded):
    ours = str(inspect.signature(cases.find(owner, name)))
    assert words(ours)[: len(words(recorded))] == words(recorded), f"{name}{ours}"


@pytest.mark.parametrize("name", NEW["fleet"])
def test_signature_of_fleet(name):
    check_signature(fleet, name, NEW["fleet"][name])


@pytest.mark.parametrize("name", NEW["distributed"])
def test_signature_of_distributed(name):
    check_signature(distributed, name, NEW["distributed"][name])


@pytest.mark.parametrize("name", OLD["fleet"])
def test_signature_of_fleet_1_8(name):
    check_signature(collective.fleet, name, OLD["fleet"][name])


@pytest.mark.parametrize("name", OLD["role_makers"])
def test_signature_of_role_maker_1_8(name):
    check_signature(role_maker, name, OLD["role_makers"][name])
