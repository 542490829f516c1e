"""Mistakes that several processes make together, and what the launcher says of them."""

import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest
from hosts import Host, free_port
from job import FLEETRUN, LIMIT, Job

NET = """
    import sys
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init({init})
    rank = fleet.worker_index()
    x = paddle.static.data("x", [None, 4])
    loss = paddle.mean(paddle.static.nn.fc(x, 3))
    optimizer = paddle.optimizer.SGD(0.1)
    {optimizer}.minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())

    def steps(count):
        for _ in range(count):
            exe.run(feed={{"x": np.ones((2, 4), "float32")}}, fetch_list=[loss])
"""
TOGETHER = NET.format(init="is_collective=True", optimizer="fleet.distributed_optimizer(optimizer)")


def one_line(text, part):
    """The line that holds a part."""
    lines = [line for line in text.splitlines() if part in line]
    assert len(lines) == 1, text
    return lines[0]


@pytest.mark.parametrize(
    "init, optimizer, why",
    [
        (
            "",
            "fleet.distributed_optimizer(optimizer)",
            "it has not met the other workers. Call fleet.init(is_collective=True), and let "
            "fleet.distributed_optimizer(...) minimize the loss",
        ),
        (
            "is_collective=True",
            "optimizer",
            "its program exchanges nothing with the other workers. Let "
            "fleet.distributed_optimizer(...) minimize the loss",
        ),
    ],
    ids=["fleet.init() is not collective", "the optimizer is not distributed"],
)
def test_every_worker_trains_a_model_of_its_own(tmp_path, init, optimizer, why):
    script = NET.format(init=init, optimizer=optimizer) + "\n    steps(3)\n"
    job = Job(tmp_path, ["--nproc_per_node=2"], script)
    assert job.wait() == 0, job.err
    for rank in range(2):
        line = one_line(job.log(f"workerlog.{rank}"), "a model of its own")
        assert line.startswith(str(tmp_path / "script.py") + ":")
        assert line.endswith(f"UserWarning: worker {rank} of 2 trains a model of its own: {why}")
    assert one_line(job.err, "of their own").endswith(
        "] worker 0, worker 1 trained a model of their own: they exchanged nothing with the other "
        "workers. Call fleet.init(is_collective=True) and let fleet.distributed_optimizer(...) "
        "minimize the loss"
    )


def test_workers_that_train_together_hear_nothing(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], TOGETHER + "\n    steps(3)\n")
    assert job.wait() == 0, job.err
    assert "of its own" not in job.log("workerlog.0") and "of their own" not in job.err


EARLY = "worker {} ended after {} steps while worker {} was in step {}"
ADVICE = (
    "all workers must run the same number of steps. Give each of them as many batches, or read with "
    "a DataLoader or a data set, whose passes end for all workers together"
)


@pytest.mark.parametrize("first", [0, 1])
def test_uneven_data_in_an_own_loop(tmp_path, first):
    script = TOGETHER + f"\n    steps(10 if rank == {first} else 13)\n"
    job = Job(tmp_path, ["--nproc_per_node=2"], script)
    assert job.wait() == 1
    job.assert_nothing_left()
    sentence = EARLY.format(first, 10, 1 - first, 11)
    lines = job.err.splitlines()
    block = lines[lines.index(sentence) :]
    assert block[1].startswith(f"  worker {1 - first} then failed, after ")
    assert f"{sentence}: {ADVICE}" in one_line(job.err, "  raised  ")


def test_uneven_data_on_two_hosts(tmp_path, network):
    net = network(2)
    script = textwrap.dedent(TOGETHER) + "\nsteps(3 if rank == 0 else 5)\n"
    hosts = [
        Host(tmp_path / ip, [f"--ips={','.join(net.ips)}"], script, net.inside(i))
        for i, ip in enumerate(net.ips)
    ]
    assert [host.wait() for host in hosts] == [1, 1], [host.err for host in hosts]
    for host in hosts:
        assert EARLY.format(0, 3, 1, 4) in host.err.splitlines(), host.err


def test_an_exit_too_early(tmp_path):
    script = TOGETHER + "\n    steps(4)\n    rank == 0 and sys.exit(0)\n    steps(2)\n"
    job = Job(tmp_path, ["--nproc_per_node=2"], script)
    assert job.wait() == 1
    assert EARLY.format(0, 4, 1, 5) in job.err.splitlines()


def test_an_exit_without_a_word(tmp_path):
    script = (
        TOGETHER + "\n    steps(4)\n    rank == 0 and __import__('os')._exit(0)\n    steps(2)\n"
    )
    job = Job(tmp_path, ["--nproc_per_node=2"], script)
    assert job.wait() == 1
    # It could not say after how many steps: what it reported last may be older.
    assert re.fullmatch(
        r"    worker 0  127.0.0.1  step \d      had ended, with exit code 0",
        one_line(job.err, "had ended"),
    )


def test_a_worker_that_raises(tmp_path):
    script = (
        TOGETHER
        + '\n    steps(2)\n    if rank == 1:\n        raise KeyError("label")\n    steps(2)\n'
    )
    job = Job(tmp_path, ["--nproc_per_node=2"], script)
    assert job.wait() == 1
    assert one_line(job.err, "failed first").startswith("worker 1 failed first, after ")
    assert one_line(job.err, "  raised  ") == "  raised  KeyError: 'label'"
    assert one_line(job.err, "  log  ") == "  log  log/workerlog.1"


def test_a_worker_that_crashes(tmp_path):
    script = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    job = Job(tmp_path, [], script)
    assert job.wait() == 128 + signal.SIGSEGV
    assert "worker 0 failed first, after " in job.err and "killed by signal 11" in job.err


def test_an_interrupt_ends_the_job_with_its_code(tmp_path):
    job = Job(
        tmp_path,
        ["--nproc_per_node=2"],
        "import pathlib, os, time\npathlib.Path(os.environ['FLT_RANK'] + '.here').touch()\ntime.sleep(100)\n",
    )
    job.wait_for("*.here", 2)
    job.kill(signal.SIGINT)
    assert job.wait() == 128 + signal.SIGINT
    job.assert_nothing_left()


# ---- the command line


def refused(folder, *words, **variables):
    """What a command that starts nothing says."""
    (folder / "train.py").write_text("print('started')\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_", "FLAGS_"))}
    done = subprocess.run(
        [FLEETRUN, *words],
        cwd=folder,
        env={**clean, "FLT_PYTHON": sys.executable, **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 2 and "started" not in done.stdout, done.stdout + done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "words, sentence",
    [
        (
            "--nproc_per_nod 2 train.py",
            'the launcher has no option "--nproc_per_nod". Did you mean "--nproc_per_node"? Put the '
            "script's own options after its name",
        ),
        (
            "--nproc_per_node 0 train.py",
            '--nproc_per_node takes a whole number from 1 on, but "0" was given',
        ),
        (
            "--nproc_per_node two train.py",
            '--nproc_per_node takes a whole number from 1 on, but "two" was given',
        ),
        (
            "--nproc_per_node 2",
            "a script, -m module or program to launch was expected behind the options. See --help",
        ),
        ("tarin.py", "the script tarin.py is not there or cannot be read"),
        (
            "--servers 127.0.0.1:6170,127.0.0.1:6170 --worker_num 1 train.py",
            "--servers names 127.0.0.1:6170 twice",
        ),
        (
            "--servers 127.0.0.1:6170 --workers 127.0.0.1:6170 train.py",
            "--servers and --workers both name 127.0.0.1:6170: give every process a port of its own",
        ),
    ],
)
def test_commands_that_are_refused(tmp_path, words, sentence):
    assert refused(tmp_path, *words.split()) == f"fleetrun: {sentence}"


def test_a_port_that_is_taken(tmp_path):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused(tmp_path, f"--servers=127.0.0.1:{port}", "--worker_num=1", "train.py")
    assert line.startswith(f"fleetrun: port {port} of 127.0.0.1 cannot be listened on: ")
    assert line.endswith(f"(pid {os.getpid()}) holds it")


@pytest.mark.skipif(os.getuid() != 0, reason="makes a folder of another user, as root")
def test_a_log_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    line = refused(tmp_path, "--log_dir=file/log", "train.py")
    assert line == (
        "fleetrun: the folder file/log for logs cannot be made: Not a directory. Choose another "
        "--log_dir"
    )
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    script = f"cd {tmp_path} && exec {FLEETRUN} train.py"
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", script],
        env={**os.environ, "FLT_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    if "No such file" in done.stderr or "setpriv" in done.stderr:
        pytest.skip("another user cannot reach the launcher here: " + done.stderr)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "fleetrun: the folder log for logs cannot be made: Permission denied. Choose another --log_dir"
    )


def test_options_after_the_script(tmp_path):
    job = Job(
        tmp_path,
        [],
        "import sys; print(sys.argv[1:])",
        ["--nproc_per_node", "2", "--lr=1", "--rank=1"],
    )
    assert job.wait() == 0, job.err
    script = tmp_path / "script.py"
    assert one_line(job.err, "--nproc_per_node stands").endswith(
        f"] --nproc_per_node stands after {script}, so that {script} gets it and the launcher does not: "
        f"if it is meant for the launcher, put it before {script}"
    )
    assert "--lr stands" not in job.err and "--rank stands" not in job.err
    assert "['--nproc_per_node', '2', '--lr=1', '--rank=1']" in job.out


def test_a_gpu_that_is_not_there(tmp_path):
    job = Job(tmp_path, ["--gpus=0"], "print('ran')")
    assert job.wait() == 0 and "ran" in job.out
    assert "GPU" in job.err and "CPU" in job.err
    line = refused(tmp_path, "--gpus=0", "train.py", FLAGS_require_gpu="1")
    assert line == "fleetrun: --gpus asks for 0, but this host has 0 GPUs"


def small_disk(folder):
    """Words that run a command where `folder` is a disk of 64 KiB."""
    mount = f'mount -t tmpfs -o size=64k disk {folder} && exec "$@"'
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh"]
    done = subprocess.run([*words, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("this kernel lets us mount no small disk: " + done.stderr)
    return words


def test_a_full_disk_under_a_log(tmp_path):
    (tmp_path / "log").mkdir()
    script = "for _ in range(10000):\n    print('a line of some forty letters, without end', flush=True)\n"
    job = Job(tmp_path, [], script, inside=small_disk(tmp_path / "log"))
    assert job.wait() != 0
    assert one_line(job.err, "is full").strip() == (
        "[the disk of log/workerlog.0 is full: what the process printed last could not be written, "
        "which may be why it failed. Free some space, or choose another --log_dir]"
    )


SAVES = """
import os
import paddle
from paddle import static

paddle.enable_static()
out = static.nn.fc(static.data("x", [None, 100]), 400)
exe = static.Executor()
exe.run(static.default_startup_program())
try:
    static.save(static.default_main_program(), "tiny/model")
except (RuntimeError, ValueError) as error:
    print(str(error).splitlines()[0])
print(sorted(os.listdir("tiny")))
"""


def test_a_full_disk_under_a_save(tmp_path):
    (tmp_path / "tiny").mkdir()
    done = subprocess.run(
        [*small_disk(tmp_path / "tiny"), sys.executable, "-c", SAVES],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    said, left = done.stdout.splitlines()
    assert said == "cannot write tiny/model.pdparams: No space left on device", done.stderr
    assert left == "[]"


def test_by_hand_the_second_without_the_first(tmp_path):
    port = int(free_port("127.0.0.1"))
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    process = subprocess.Popen(
        [sys.executable, "-c", "import paddle.distributed as dist; dist.init_parallel_env()"],
        env={
            **clean,
            "PADDLE_TRAINER_ID": "1",
            "PADDLE_TRAINER_ENDPOINTS": f"127.0.0.1:{port},127.0.0.1:{port + 1}",
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stderr.readline()
    finally:
        process.kill()
        process.communicate()
    assert (
        f"waiting for the first process of the job at 127.0.0.1:{port}: nobody listens on its port {port}"
        in line
    )
