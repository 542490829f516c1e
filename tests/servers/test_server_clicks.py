"""Wide & Deep on a click log that is generated: what workers learn together, one process learns too."""

import json
import os
import pathlib
import shutil
import zlib

import _flotilla as core
import numpy as np
import pytest
from job import Job

MODEL = pathlib.Path(__file__).parents[1] / "spec" / "preludes" / "wide_deep" / "model.py"
FULL = bool(os.environ.get("FLT_TEST_FULL"))

SCRIPT = """
    import json, os, pathlib, sys
    import numpy as np
    import paddle
    import paddle.distributed.fleet as fleet
    from paddle.distributed.fleet.utils.ps_util import DistributedInfer
    from model import WideDeepModel

    MODE, BATCH, EPOCHS = os.environ["MODE"], int(os.environ["BATCH"]), 3
    lines = dict(np.load("train.npz"))
    paddle.enable_static()
    paddle.seed(3)
    if MODE != "one":
        fleet.init()
    rank, workers = (0, 1) if MODE == "one" else (fleet.worker_index(), fleet.worker_num())
    model = WideDeepModel()
    model.net(is_train=False)
    test = paddle.static.default_main_program().clone(for_test=True)

    steps = len(lines["label"]) // (BATCH * workers)
    start = float(os.environ["RATE"])
    rates = [start, start / 4, start / 16]
    rate = paddle.optimizer.lr.PiecewiseDecay([EPOCHS * steps // 2, EPOCHS * steps * 3 // 4], rates)
    optimizer = paddle.optimizer.SGD(rate)
    if MODE != "one":
        strategy = fleet.DistributedStrategy()
        strategy.a_sync = MODE != "sync"
        strategy.a_sync_configs = {"k_steps": 10 if MODE == "geo" else 0}
        optimizer = fleet.distributed_optimizer(optimizer, strategy)
    optimizer.minimize(model.loss)
    if MODE != "one" and fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        sys.exit()

    def feed(lines, rows):
        ids = {f"C{i + 1}": lines["ids"][rows, i : i + 1] for i in range(26)}
        return {"dense_input": lines["dense"][rows], "label": lines["label"][rows], **ids}

    def judge(program, lines):
        chances, losses = [], []
        for begin in range(0, len(lines["label"]), 1000):
            fetched = [model.chance.name, model.loss.name]
            chance, loss = exe.run(program, feed(lines, slice(begin, begin + 1000)), fetched)
            chances.append(chance[:, 0])
            losses.append(float(loss))
        clicked = lines["label"][:, 0] == 1
        clicks, others = clicked.sum(), (~clicked).sum()
        places = np.empty(len(clicked))
        places[np.argsort(np.concatenate(chances))] = np.arange(1, len(clicked) + 1)
        auc = (places[clicked].sum() - clicks * (clicks + 1) / 2) / (clicks * others)
        return {"auc": float(auc), "loss": float(np.mean(losses))}

    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    if MODE != "one":
        fleet.init_worker()
    for epoch in range(EPOCHS):
        order = np.random.RandomState(epoch).permutation(len(lines["label"]))
        for step in range(steps):
            begin = (step * workers + rank) * BATCH
            exe.run(feed=feed(lines, order[begin : begin + BATCH]), fetch_list=[])
            rate.step()
            if MODE != "one" and step % 10 == 0:
                fleet.barrier_worker()  # workers of one speed, however busy the machine is
    if MODE != "one":
        fleet.barrier_worker()
    if rank == 0:
        if MODE != "one":
            test = DistributedInfer(main_program=test).get_dist_infer_program()
        found = judge(test, dict(np.load("test.npz")))
        pathlib.Path("found.json").write_text(json.dumps(found))
    if MODE != "one":
        fleet.stop_worker()
"""


def read(path):
    """Lines as arrays; counters grow like logarithms, words become numbers of rows."""
    labels, counters, ids = [], [], []
    for line in path.read_text().splitlines():
        label, *fields = line.split("\t")
        labels.append([int(label)])
        counters.append([max(float(text or 0), 0) for text in fields[:13]])
        words = enumerate(fields[13:])
        ids.append([zlib.crc32(f"{slot} {text}".encode()) % 100001 for slot, text in words])
    dense = 0.2 * np.log1p(np.array(counters, "float32"))
    return {"label": np.array(labels), "dense": dense.astype("float32"), "ids": np.array(ids)}


def train(folder, options, mode, batch, rate):
    job = Job(folder, options, SCRIPT, MODE=mode, BATCH=str(batch), RATE=str(rate))
    assert job.wait() == 0, job.err
    return json.loads((folder / "found.json").read_text())


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """A folder with lines to train and to test with, the model, and what one process comes to."""
    folder = tmp_path_factory.mktemp("clicks")
    core.write_clicks(str(folder), train=150000 if FULL else 40000, test=10000, train_files=1)
    for split in ("train", "test"):
        np.savez(folder / split, **read(folder / split / "part-0"))
    shutil.copy(MODEL, folder)
    one = train(folder, ["--nproc_per_node=1"], "one", 64, 0.5)
    assert one["auc"] > 0.77
    return folder, one


# Of asynchronous workers each step of one is an update, so there are twice as many of half the size.
@pytest.mark.parametrize("mode, rate", [("sync", 0.5), ("async", 0.25), ("geo", 0.5)])
def test_workers_find_what_one_process_finds(clicks, mode, rate):
    folder, one = clicks
    found = train(folder, ["--server_num=1", "--worker_num=2"], mode, 32, rate)
    print(mode, found, "one process", one)
    assert found["auc"] > one["auc"] - 0.005
    # How far Geo workers drift apart between exchanges depends on how busy the machine is.
    assert found["loss"] < (1.03 if mode == "geo" else 1.02) * one["loss"]
    if mode == "sync":
        assert abs(found["auc"] - one["auc"]) < 0.005
        assert abs(found["loss"] - one["loss"]) < 0.005
