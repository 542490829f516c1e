"""Programs as users of each era wrote them, unchanged for Flotilla, as jobs of several processes.

ctr_fleet.py runs on real Paddle 1.8.5 as it stands, and lenet_fleet.py, in one process, on 2.6.2;
tests of one process are in test_era_programs.py.
"""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import _flotilla as core
import pytest
import watched
from job import FLEETRUN

PROGRAMS = pathlib.Path(__file__).parent / "programs"
BINARIES = PROGRAMS.parents[2] / "build" / "dev" / "bin"
LIMIT = 120  # seconds without progress


@pytest.fixture
def folder(tmp_path):
    """A folder with the programs."""
    for path in PROGRAMS.glob("*.py"):
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture
def clicks(folder):
    core.write_clicks(str(folder / "clicks"), train=4000, test=1000, train_files=2)


def environment(**variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    own = {"FLT_DOWNLOAD": "0", "FLT_THREADS": "1", "FLT_PYTHON": sys.executable, "PATH": path}
    return {**clean, **own, **variables}


def run(folder, *command):
    """What a program prints."""
    done = watched.run([str(one) for one in command], cwd=folder, env=environment(), seconds=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fleetrun(folder, *arguments):
    """What worker 0 of a job prints."""
    return run(folder, FLEETRUN, "--quiet", *arguments)


def by_hand(folder, script, processes, *arguments, **variables):
    """Starts a process for each dict of variables; their outputs."""
    started = [
        subprocess.Popen(
            [sys.executable, script, *arguments],
            cwd=folder,
            env=environment(FLT_JOB_TOKEN="secret", **variables, **one),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for one in processes
    ]
    try:
        outputs = [watched.communicate(one, seconds=LIMIT)[0] for one in started]
    finally:
        for one in started:
            one.kill()
    assert [one.returncode for one in started] == [0] * len(started), "\n".join(outputs)
    return outputs


def free_ports(count, host="127.0.0.1"):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((host, 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def numbers(pattern, printed):
    return [float(one) for one in re.findall(pattern, printed)]


@pytest.mark.parametrize("words", [[], ["--async_mode", "--no_split_var"]], ids=["sync", "async"])
def test_housing_on_servers_started_by_hand(folder, words):
    """A transpiler divides the program; variables of the environment say who is who."""
    (port,) = free_ports(1)
    hosts = ["127.0.0.1", "127.0.0.2"]
    servers = [{"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_IP": host} for host in hosts]
    trainers = [{"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": i} for i in ("0", "1")]
    outputs = by_hand(
        *(folder, "housing_pserver.py", trainers + servers, *words),
        PADDLE_PSERVER_IPS=",".join(hosts),
        PADDLE_PSERVER_PORT=str(port),
        PADDLE_TRAINERS="2",
    )
    for printed in outputs[:2]:
        costs = numbers(r"Test cost (\S+)", printed)
        assert len(costs) == 20 and min(costs[-3:]) < 60  # it begins with about 500
    assert all("is done" in printed for printed in outputs[2:])
    assert (folder / "housing.model" / "__model__").exists()
    assert (folder / "housing.model.persistables" / "hidden.w_0").exists()


NCCL2 = """
import os
import sys
import numpy as np
import paddle.fluid as fluid

x, y = fluid.layers.data("x", [8]), fluid.layers.data("y", [1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
fluid.optimizer.Momentum(0.05, 0.9).minimize(loss)
trainer_id = int(os.environ["PADDLE_TRAINER_ID"])
endpoints = os.environ["PADDLE_TRAINER_ENDPOINTS"]
current_endpoint = os.environ["PADDLE_CURRENT_ENDPOINT"]
if sys.argv[1] in ("GradAllReduce", "LocalSGD"):
    t = getattr(fluid.transpiler.collective, sys.argv[1])()
    t.transpile(
        startup_program=fluid.default_startup_program(),
        main_program=fluid.default_main_program(),
        rank=trainer_id,
        endpoints=endpoints,
        current_endpoint=current_endpoint,
        wait_port=True,
    )
else:
    config = fluid.DistributeTranspilerConfig()
    config.mode, config.collective_mode = sys.argv[1], (sys.argv + [None])[2]
    t = fluid.DistributeTranspiler(config=config)
    t.transpile(
        trainer_id,
        trainers=endpoints,
        current_endpoint=current_endpoint,
        startup_program=fluid.default_startup_program(),
        program=fluid.default_main_program(),
    )
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
pe = fluid.ParallelExecutor(
    use_cuda=False,
    loss_name=loss.name,
    num_trainers=len(endpoints.split(",")),
    trainer_id=trainer_id,
)
random = np.random.RandomState(trainer_id)
for step in range(40):
    batch = random.rand(16, 8).astype("float32")
    (value,) = pe.run([loss.name], feed={"x": batch, "y": batch.sum(1, keepdims=True)})
weights = np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
print("loss %.6f weights %r" % (np.mean(value), weights.ravel().tolist()))
ops = [op for block in fluid.default_main_program().blocks for op in block.ops]
print("exchanged", [name for op in ops if "reduce" in op.type for name in op.input_arg_names])
"""


@pytest.mark.parametrize(
    "mode, exchanged",
    [
        (["nccl2"], "fc_0.w_0@GRAD"),
        (["collective", "grad_allreduce"], "fc_0.w_0@GRAD"),
        (["collective", "local_sgd"], "fc_0.w_0"),
        (["GradAllReduce"], "fc_0.w_0@GRAD"),
        (["LocalSGD"], "fc_0.w_0"),
    ],
    ids=["nccl2", "gradients", "parameters", "GradAllReduce", "LocalSGD"],
)
def test_two_trainers_by_the_transpiler_without_servers(folder, mode, exchanged):
    (folder / "nccl2.py").write_text(NCCL2)
    endpoints = [f"127.0.0.1:{port}" for port in free_ports(2)]
    processes = [
        {"PADDLE_TRAINER_ID": str(i), "PADDLE_CURRENT_ENDPOINT": endpoint}
        for i, endpoint in enumerate(endpoints)
    ]
    joined = ",".join(endpoints)
    outputs = by_hand(folder, "nccl2.py", processes, *mode, PADDLE_TRAINER_ENDPOINTS=joined)
    assert all(numbers(r"loss (\S+)", printed)[0] < 1 for printed in outputs)
    first, second = (re.search(r"weights (\[.*\])", printed)[1] for printed in outputs)
    assert first == second
    assert all(f"'{exchanged}'" in printed for printed in outputs)


@pytest.mark.parametrize(
    "words",
    [
        ["--mode=sync"],
        ["--mode=async", "--reader=py_reader"],
        ["--mode=half_async"],
        ["--mode=geo", "--learning_rate=0.01"],
    ],
    ids=["sync", "async with py_reader", "half async", "geo"],
)
def test_clicks_on_the_servers_of_1_8(folder, clicks, words):
    """Trains on two servers; then a program without servers reads what was saved."""
    fleetrun(folder, "--server_num=2", "--worker_num=2", "ctr_fleet.py", *words)
    printed = run(folder, sys.executable, "ctr_fleet.py", "--infer")
    scores = numbers(r"TEST --> \S+ loss: \S+ auc: (\S+)", printed)
    assert len(scores) == 2 and scores[1] > max(scores[0], 0.53)
    if "--reader=py_reader" not in words:
        assert (folder / "fleet_models" / "serving" / "SparseFeatFactors").exists()


def test_days_of_clicks_on_pslib(folder, clicks):
    for day, file in (("monday", "part-0"), ("tuesday", "part-1")):
        (folder / day).mkdir()
        lines = (folder / "clicks" / "train" / file).read_text().splitlines(keepends=True)
        (folder / day / "a").write_text("".join(lines[:1000]))
        (folder / day / "b").write_text("".join(lines[1000:]))
    printed = fleetrun(
        *(folder, "--server_num=2", "--worker_num=2", "day_by_day.py", "monday,tuesday")
    )
    assert numbers(r"day \S+: (\d+) samples", printed) == [2000, 2000]
    monday, tuesday = numbers(r"global auc = (\S+)", printed)
    assert monday > 0.52 and tuesday > 0.52
    sizes = numbers(r"table 0 \(embedding\): (\d+) rows of 11", printed)
    assert 0 < sizes[0] <= sizes[1] and sizes[2:] == [0, sizes[1]]
    assert (folder / "pslib_models" / "tuesday" / "delta-2" / "fc_0.w_0").exists()


def test_a_residual_net_on_the_collective_fleet_of_1_8(folder):
    """Trains, stops after two epochs, and goes on from its checkpoint."""
    launch = [sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node=2", "--quiet"]
    printed = run(folder, *launch, "resnet_fleet.py")
    losses = numbers(r"loss (\S+),", printed)
    assert len(losses) == 8 and losses[-1] < 0.9 * losses[0]
    (accuracy,) = numbers(r"trainer 0: test acc1 (\S+)", printed)
    other = (folder / "log" / "workerlog.1").read_text()
    assert numbers(r"trainer 1: test acc1 (\S+)", other) == [accuracy]
    printed = run(folder, *launch, "resnet_fleet.py", "--epochs=3")
    assert re.findall(r"Pass (\d)", printed) == ["2"] * 4
    later = numbers(r"loss (\S+),", printed)
    assert sum(later) < 0.9 * sum(losses[:4])  # it did not begin anew


@pytest.mark.parametrize("words", [[], ["--gradient_merge=2"]], ids=["plain", "gradient merge"])
def test_lenet_on_the_collective_fleet_of_2(folder, words):
    printed = fleetrun(folder, "--nproc_per_node=2", "lenet_fleet.py", *words)
    (accuracy,) = numbers(r"accuracy of 2 workers: (\S+)", printed)
    assert accuracy > 0.8
    assert (folder / "lenet_output" / "lenet.pdparams").exists()
    assert (folder / "lenet_output" / "__model__").exists()


@pytest.mark.parametrize("mode", ["sync", "async", "geo"])
def test_deepfm_on_the_servers_of_2(folder, clicks, mode):
    words = ["--worker_num=2", "deepfm_fleet.py", f"--sync_mode={mode}"]
    printed = fleetrun(folder, "--server_num=1", *words)
    first, second = numbers(r"epoch \d: train auc (\S+),", printed)
    assert second > first
    (test,) = numbers(r"test auc (\S+)", printed)
    assert test > 0.52
    assert (folder / "deepfm_model" / "inference" / "factors").exists()
    if mode != "geo":  # the rows are on the servers: another number of those goes on with them
        warm = f"--warmup={folder / 'deepfm_model' / 'epoch_1'}"
        printed = fleetrun(folder, "--server_num=2", *words, "--epochs=1", warm)
        assert numbers(r"epoch 0: train auc (\S+),", printed)[0] > first


def test_a_trainer_in_cpp_with_servers(folder):
    binary = BINARIES / "example_served_mlp"
    printed = fleetrun(folder, "--server_num=2", "--worker_num=2", binary, "--steps=60", "--save=1")
    losses = [float(one) for one in re.findall(r"^\d+\.\d+$", printed, re.M)]
    assert len(losses) == 60 and losses[-1] < 0.6 * losses[0]
    saved = {path.name for path in (folder / "served_mlp").iterdir()}
    assert {"fc_0.w_0", "fc_2.b_0", "__tables__"} <= saved
