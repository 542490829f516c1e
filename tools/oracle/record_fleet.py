"""Writes tests/oracle/recorded/fleet_<version>.json: what real Paddle's fleet is and prints.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_fleet.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_fleet.py
"""

import inspect
import json
import os
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import fleet_cases as cases  # noqa: E402
import paddle  # noqa: E402


def plain(value):
    """What JSON can hold of it: messages become dicts."""
    if hasattr(value, "DESCRIPTOR"):
        return {f.name: plain(getattr(value, f.name)) for f in value.DESCRIPTOR.fields}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return [plain(one) for one in value]


def signature(owner, name):
    return str(inspect.signature(cases.find(owner, name)))


def saved(strategy):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "strategy.prototxt")
        strategy.save_to_prototxt(path)
        with open(path) as file:
            return file.read()


def record_26():
    import paddle.distributed as distributed
    from paddle.distributed import fleet
    from paddle.distributed.fleet.base.util_factory import UtilBase
    from paddle.io import DistributedBatchSampler

    paddle.enable_static()
    strategy = fleet.DistributedStrategy()
    defaults = {}
    for name, member in inspect.getmembers(type(strategy)):
        if isinstance(member, property) and name not in ("build_strategy", "execution_strategy"):
            defaults[name] = plain(getattr(strategy, name))
    for name in ("build_strategy", "execution_strategy"):
        defaults[name] = plain(getattr(strategy.strategy, name))
    made = {}
    for which in cases.STRATEGIES:
        strategy = fleet.DistributedStrategy()
        cases.settings(strategy, which)
        made[which] = {"overview": repr(strategy), "prototxt": saved(strategy)}

    class Role:
        def __init__(self, rank, ranks):
            self._worker_index, self._worker_num = lambda: rank, lambda: ranks

    shards = []
    for files, ranks in cases.FILE_SHARDS:
        of_ranks = []
        for rank in range(ranks):
            util = UtilBase()
            util._set_role_maker(Role(rank, ranks))
            of_ranks.append(util.get_file_shard([str(i) for i in range(files)]))
        shards.append(of_ranks)
    return {
        "defaults": defaults,
        "strategies": made,
        "samplers": [cases.batches_of(DistributedBatchSampler, one) for one in cases.SAMPLERS],
        "file_shards": shards,
        "fleet": {name: signature(fleet, name) for name in cases.FLEET_26},
        "distributed": {name: signature(distributed, name) for name in cases.DISTRIBUTED_26},
    }


def record_18():
    from paddle.fluid.incubate.fleet import collective
    from paddle.fluid.incubate.fleet.base import role_maker

    strategy = collective.DistributedStrategy()
    defaults = {}
    for name in dir(strategy):
        value = getattr(strategy, name)
        if name.startswith("__") or callable(value):
            continue
        if name == "exec_strategy":
            value = {n: getattr(value, n) for n in dir(value) if not n.startswith("_")}
        elif name in ("reduce_strategy", "gradient_scale_strategy"):
            value = int(value)
        defaults[name] = plain(value)
    return {
        "defaults": defaults,
        "fleet": {name: signature(collective.fleet, name) for name in cases.COLLECTIVE_18},
        "role_makers": {name: signature(role_maker, name) for name in cases.ROLE_MAKERS_18},
    }


def main():
    made = record_18() if paddle.__version__.startswith("1.8") else record_26()
    path = TESTS / "recorded" / f"fleet_{paddle.__version__}.json"
    path.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
