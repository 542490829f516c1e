"""Training on several processes gives what one process gives, and every rank holds the same bits."""

import json

import numpy as np
import pytest
from job import Job

# Every rank takes its rows of the same batches; the losses of all ranks are averaged.
TRAIN = """
    import hashlib, json, os, sys
    import numpy as np
    import paddle
    import paddle.distributed as dist
    from paddle.distributed import fleet

    options = json.loads(sys.argv[1])
    paddle.enable_static()
    paddle.seed(7 + int(os.environ["PADDLE_TRAINER_ID"]))  # rank 0's start counts
    fleet.init(is_collective=True)
    rank, size = fleet.worker_index(), fleet.worker_num()
    x = paddle.static.data("x", [None, 12])
    y = paddle.static.data("y", [None, 1], "int64")
    hidden = paddle.static.nn.fc(x, 32, activation="tanh")
    if options.get("batch_norm"):
        hidden = paddle.static.nn.batch_norm(hidden)
    logits = paddle.static.nn.fc(hidden, 5)
    loss = paddle.mean(paddle.nn.functional.cross_entropy(logits, y))
    clip = paddle.nn.ClipGradByGlobalNorm(0.5) if options.get("clip") else None
    made = {"sgd": paddle.optimizer.SGD, "adam": paddle.optimizer.Adam,
            "momentum": paddle.optimizer.Momentum}[options["optimizer"]]
    strategy = fleet.DistributedStrategy()
    for name, value in options.get("strategy", {}).items():
        setattr(strategy, name, value)
    optimizer = fleet.distributed_optimizer(made(0.05, grad_clip=clip), strategy)
    optimizer.minimize(loss)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    start = np.random.RandomState(3)
    scope = paddle.static.global_scope()
    parameters = sorted(p.name for p in paddle.static.default_main_program().all_parameters())
    for name in parameters:  # the same start whatever the number of ranks
        tensor = scope.find_var(name).get_tensor()
        shape = np.array(tensor).shape
        tensor.set(start.uniform(-0.3, 0.3, shape).astype("float32"), paddle.CPUPlace())
    data = np.random.RandomState(5)
    losses = []
    for step in range(options["steps"]):
        features = data.randn(24, 12).astype("float32")
        labels = (features[:, :5].argmax(1)).reshape(24, 1)
        mine = slice(rank * 24 // size, (rank + 1) * 24 // size)
        (value,) = exe.run(feed={"x": features[mine], "y": labels[mine]}, fetch_list=[loss])
        losses.append(float(fleet.util.all_reduce(np.float64(value.item())) / size))
    digest = hashlib.sha256()
    for name in parameters:
        digest.update(np.array(scope.find_var(name).get_tensor()).tobytes())
    same = fleet.util.all_gather(digest.hexdigest())
    assert len(set(same)) == 1, same
    if rank == 0:
        print(json.dumps({"losses": losses, "digest": digest.hexdigest()}))
"""


def train(folder, ranks, **options):
    folder = folder / f"{ranks}-{len(list(folder.iterdir()))}"
    folder.mkdir()
    options = {"optimizer": "sgd", "steps": 100, **options}
    job = Job(folder, [f"--nproc_per_node={ranks}"], TRAIN, [json.dumps(options)])
    assert job.wait() == 0, job.out + job.err
    job.assert_nothing_left()
    return json.loads(job.log("workerlog.0").strip().splitlines()[-1])


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "sgd"},
        {"optimizer": "adam"},
        {"optimizer": "momentum", "clip": True},
        {"optimizer": "sgd", "strategy": {"fuse_all_reduce_ops": False}},
        {"optimizer": "momentum", "batch_norm": True, "strategy": {"sync_batch_norm": True}},
    ],
    ids=["sgd", "adam", "clipped momentum", "unfused", "sync_batch_norm"],
)
def test_ranks_give_what_one_process_gives(tmp_path, options):
    one = train(tmp_path, 1, **options)
    assert one["losses"][-1] < 0.8 * one["losses"][0], "it must learn something"
    for ranks in (2, 4):
        many = train(tmp_path, ranks, **options)
        np.testing.assert_allclose(many["losses"], one["losses"], rtol=1e-5)


def test_runs_repeat_to_the_bit(tmp_path):
    first, second = (train(tmp_path, 2, optimizer="adam") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "strategy, merging",
    [
        ({}, "gradients are averaged over workers"),
        ({"localsgd": True}, "parameters are averaged over workers in every step"),
    ],
    ids=["gradients", "parameters"],
)
def test_how_workers_train_is_said_once(tmp_path, strategy, merging):
    options = json.dumps({"optimizer": "sgd", "steps": 3, "strategy": strategy})
    job = Job(tmp_path, ["--nproc_per_node=2"], TRAIN, [options])
    assert job.wait() == 0, job.out + job.err
    (line,) = [one for one in job.log("workerlog.0").splitlines() if "train one model" in one]
    assert line.endswith(
        "] 2 workers train one model: the global batch is 2 times that of a worker, "
        f"{merging}, and the learning rate is 0.05, whatever their number"
    )
    assert "train one model" not in job.log("workerlog.1")
