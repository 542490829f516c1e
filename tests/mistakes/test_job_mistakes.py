"""Mistakes that several processes make together, and what the launcher says of them."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import watched
from hosts import Host, free_port
from job import FLEETRUN, Job

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
            "it has not joined the other workers. Call fleet.init(is_collective=True), and let "
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
    lines = job.err.splitlines()
    block = lines[lines.index("worker 0 ended with exit code 0 while worker 1 waited for it") :]
    assert re.fullmatch(r"  worker 1 then failed, after \d+\.\d s: exit code 1", block[1])
    assert "failed first" not in job.err
    assert re.fullmatch(
        r"    worker 0  127.0.0.1  step \d      had ended, with exit code 0",
        one_line(job.err, "had ended"),
    )


def failure_block(text):
    """The lines between the rules of the block of a failure, whose seconds are left out."""
    block = text.split("-" * 48 + "\n")[-2].splitlines()
    return [re.sub(r"(failed.* after )\d+\.\d s", r"\1N s", line) for line in block]


def test_an_exit_without_a_word_on_another_host(tmp_path, network):
    net = network(2)
    script = textwrap.dedent(TOGETHER) + (
        "\nsteps(4)\nif rank == 0:\n    __import__('os')._exit(0)\nsteps(2)\n"
    )
    hosts = [
        Host(tmp_path / ip, [f"--ips={','.join(net.ips)}"], script, net.inside(i))
        for i, ip in enumerate(net.ips)
    ]
    assert [host.wait() for host in hosts] == [1, 1], [host.err for host in hosts]
    for host in hosts:
        headline = "worker 0 ended with exit code 0 while worker 1 waited for it"
        assert headline in host.err.splitlines(), host.err


def test_a_worker_that_raises(tmp_path):
    script = (
        TOGETHER
        + '\n    steps(2)\n    if rank == 1:\n        raise KeyError("label")\n    steps(2)\n'
    )
    job = Job(tmp_path, ["--nproc_per_node=2"], script)
    assert job.wait() == 1
    block = failure_block(job.err)
    assert block[0] == "worker 1 failed first, after N s: exit code 1"
    assert re.fullmatch(r"  host 127\.0\.0\.1, pid \d+", block[1])
    assert block[2:5] == [
        "  log  log/workerlog.1",
        "  raised  KeyError: 'label'",
        "  the end of its output:",
    ]
    trace = block[block.index("    Traceback (most recent call last):") :]
    assert trace[1:4] == [
        f'      File "{tmp_path}/script.py", line 23, in <module>',
        '        raise KeyError("label")',
        "    KeyError: 'label'",
    ]


def test_a_worker_that_crashes(tmp_path):
    script = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    job = Job(tmp_path, [], script)
    assert job.wait() == 128 + signal.SIGSEGV
    first, where, *others = failure_block(job.err)
    assert first == "worker 0 failed first, after N s: killed by signal 11 (Segmentation fault)"
    assert re.fullmatch(r"  host 127\.0\.0\.1, pid \d+", where)
    assert others == ["  log  log/workerlog.0"]


# Worker 0 waits inside of exe.run for worker 1, which does not run the step.
WAITS = (
    TOGETHER
    + """
    import pathlib, time
    steps(1)
    pathlib.Path(f"{rank}.here").touch()
    if rank == 1:
        time.sleep(1000)
    steps(1000)
"""
)


def test_an_interrupt_ends_the_job_with_its_code(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], WAITS)
    job.wait_for("*.here", 2)
    time.sleep(0.5)  # by then worker 0 waits
    job.kill(signal.SIGINT)
    assert job.wait() == 128 + signal.SIGINT
    job.assert_nothing_left()
    # One line, and neither a block nor a traceback, also not in the logs.
    lines = job.err.splitlines()
    said = [re.sub(r"^INFO .*?\] ", "", line) for line in lines if line.startswith("INFO ")]
    assert "Interrupt was received: stopping the job. A second one kills it" in said
    text = job.err + job.log("workerlog.0") + job.log("workerlog.1")
    for noise in ("failed", "Traceback", "Error", "lost sys.stderr", "object address", "refcount"):
        assert noise not in text, text


# ---- the command line


def refused(folder, *words, **variables):
    """What a command that starts nothing says."""
    (folder / "train.py").write_text("print('started')\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_", "FLAGS_"))}
    done = watched.run(
        [FLEETRUN, *words], cwd=folder, env={**clean, "FLT_PYTHON": sys.executable, **variables}
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
            '--nproc_per_node must be a whole number of at least 1, but is "0"',
        ),
        (
            "--nproc_per_node two train.py",
            '--nproc_per_node must be a whole number of at least 1, but is "two"',
        ),
        (
            "--nproc_per_node 2",
            "no script, -m module or program is given after the options. See --help",
        ),
        ("tarin.py", "cannot read the script tarin.py: no such file"),
        (
            "--servers 127.0.0.1:6170,127.0.0.1:6170 --worker_num 1 train.py",
            "--servers names 127.0.0.1:6170 twice: give every process a port of its own",
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
    name = pathlib.Path("/proc/self/comm").read_text().strip()
    assert line == (
        f"fleetrun: cannot listen on port {port} of 127.0.0.1: Address already in use; it is used "
        f"by {name} (pid {os.getpid()}). Choose another port, or end that process"
    )


def test_a_log_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    line = refused(tmp_path, "--log_dir=file/log", "train.py")
    assert line == (
        "fleetrun: cannot create the log folder file/log: Not a directory. Choose another --log_dir"
    )


@pytest.mark.skipif(os.getuid() != 0, reason="makes a folder of another user, as root")
def test_a_log_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "train.py").touch()
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
        "fleetrun: cannot create the log folder log: Permission denied. Choose another --log_dir"
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
    assert one_line(job.err, "--nproc_per_node comes after").endswith(
        f"] --nproc_per_node comes after {script}, so it is passed to {script} and not to the "
        f"launcher: if it is meant for the launcher, put it before {script}"
    )
    assert "--lr stands" not in job.err and "--rank stands" not in job.err
    assert "['--nproc_per_node', '2', '--lr=1', '--rank=1']" in job.out


@pytest.mark.parametrize("option", ["--devices=0,1", "--log_dir=here", "--workers=127.0.0.1:1"])
def test_options_after_a_script_that_does_not_have_them(tmp_path, option):
    name = option.partition("=")[0]
    job = Job(tmp_path, [], "import sys; print(sys.argv[1:])", [option])
    assert job.wait() == 0, job.err
    script = tmp_path / "script.py"
    assert one_line(job.err, f"{name} comes after").endswith(
        f"] {name} comes after {script}, so it is passed to {script} and not to the launcher: if "
        f"it is meant for the launcher, put it before {script}"
    )
    (tmp_path / "own").mkdir()
    parses = "import argparse; p = argparse.ArgumentParser(); p.add_argument('{}'); p.parse_args()"
    job = Job(tmp_path / "own", [], parses.format(name), [option])
    assert job.wait() == 0 and f"{name} stands" not in job.err, job.err


def test_a_gpu_that_is_not_there(tmp_path):
    job = Job(tmp_path, ["--gpus=0"], "print('ran')")
    assert job.wait() == 0 and "ran" in job.out
    assert one_line(job.err, "--gpus asks").endswith(
        "] --gpus asks for 0, but this host has 0 GPUs: the processes run on the CPU"
    )
    line = refused(tmp_path, "--gpus=0", "train.py", FLAGS_require_gpu="1")
    assert line == (
        "fleetrun: --gpus asks for 0, but this host has 0 GPUs; without FLAGS_require_gpu=1 the "
        "processes run on the CPU"
    )


def said_by_hand(rank):
    """What a process says first that is started by hand and alone, and the port of rank 0."""
    port = int(free_port("127.0.0.1"))
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    process = subprocess.Popen(
        [sys.executable, "-c", "import paddle.distributed as dist; dist.init_parallel_env()"],
        env={
            **clean,
            "FLT_JOB_TOKEN": "secret",
            "PADDLE_TRAINER_ID": str(rank),
            "PADDLE_TRAINER_ENDPOINTS": f"127.0.0.1:{port},127.0.0.1:{port + 1}",
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        return re.sub(r"^I [\d-]+ [\d:.]+\] ", "", process.stderr.readline()), port
    finally:
        process.kill()
        process.communicate()


def test_by_hand_the_second_without_the_first():
    line, port = said_by_hand(1)
    assert line == (
        f"waiting for the first process of the job at 127.0.0.1:{port}: nothing listens on its "
        f"port {port}\n"
    )


def test_by_hand_the_first_without_the_second():
    assert said_by_hand(0)[0] == (
        "waiting for worker 1: 1 of 2 processes of the job have joined; start the others with the "
        "same list of endpoints\n"
    )
