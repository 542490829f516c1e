"""paddle.distributed.spawn: processes of a function, with the environment of a job."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import paddle.distributed as dist

NAMES = (
    "PADDLE_TRAINER_ID PADDLE_CURRENT_ENDPOINT PADDLE_TRAINERS_NUM PADDLE_TRAINER_ENDPOINTS "
    "FLAGS_selected_gpus PADDLE_RANK_IN_NODE TRAINING_ROLE FLT_STORE FLT_JOB_TOKEN OMP_NUM_THREADS"
).split()


def look():
    return {name: os.environ.get(name) for name in NAMES}


def double(x, y):
    return dist.get_rank(), dist.get_world_size(), x * 2 + y


def fail_in(rank, how):
    if dist.get_rank() != rank:
        time.sleep(1000)
    if how == "raise":
        raise KeyError("what this test looks for")
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def ignore_the_request_to_end():
    if dist.get_rank() == 1:
        raise ValueError("first")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)


def meet():
    dist.init_parallel_env()
    gathered = []
    dist.all_gather_object(gathered, dist.get_rank())
    return gathered


def test_children_get_the_environment_of_a_job(monkeypatch):
    monkeypatch.setenv("FLT_STORE", "another job's")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("FLT_THREADS", raising=False)
    before = dict(os.environ)
    context = dist.spawn(look, nprocs=2, gpus="4,5")
    assert dict(os.environ) == before
    seen = [context.return_queues[i].get() for i in range(2)]
    endpoints = seen[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    for rank, env in enumerate(seen):
        assert env["PADDLE_TRAINER_ID"] == env["PADDLE_RANK_IN_NODE"] == str(rank)
        assert env["PADDLE_CURRENT_ENDPOINT"] == endpoints[rank]
        assert env["PADDLE_TRAINERS_NUM"] == "2"
        assert env["FLAGS_selected_gpus"] == "45"[rank]
        assert env["TRAINING_ROLE"] == "TRAINER"
        assert env["FLT_STORE"] is None
        assert int(env["OMP_NUM_THREADS"]) == max(1, len(os.sched_getaffinity(0)) // 2)
    assert seen[0]["FLT_JOB_TOKEN"] == seen[1]["FLT_JOB_TOKEN"]


def test_arguments_go_in_and_results_come_out():
    context = dist.spawn(double, args=(20, 2), nprocs=3)
    assert [context.return_queues[i].get() for i in range(3)] == [(i, 3, 42) for i in range(3)]
    assert context.join()


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_workers_meet_without_a_launcher(method):
    context = dist.spawn(meet, nprocs=2, start_method=method)
    assert [context.return_queues[i].get() for i in range(2)] == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    "how,said",
    [
        ("raise", "KeyError: 'what this test looks for'"),
        ("exit", "process 2 of paddle.distributed.spawn ended with exit code 3"),
        ("kill", "process 2 of paddle.distributed.spawn was killed by signal 9 (SIGKILL)"),
    ],
)
def test_the_first_failure_is_raised_here_and_ends_the_others(how, said):
    context = dist.spawn(fail_in, args=(2, how), nprocs=3, join=False)
    with pytest.raises(RuntimeError) as caught:
        context.join()
    assert said in str(caught.value)
    assert "process 2 of" in str(caught.value)
    if how == "raise":
        assert "in fail_in" in str(caught.value)  # the traceback of the child
    assert not any(process.is_alive() for process in context.processes)


def test_who_ignores_the_request_to_end_is_killed_within_two_seconds():
    context = dist.spawn(ignore_the_request_to_end, nprocs=2, join=False)
    while context.processes[1].is_alive():
        time.sleep(0.01)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="process 1 .*"):
        context.join()
    assert time.monotonic() - began < 2.5
    assert not context.processes[0].is_alive()


def test_join_can_be_asked_again():
    context = dist.spawn(time.sleep, args=(0.5,), nprocs=2, join=False)
    assert context.join(timeout=0.01) is False
    assert context.join() is True


@pytest.mark.parametrize(
    "wrong,said",
    [
        ({"nprocs": 0}, "nprocs must be a number from 1 on"),
        ({"nprocs": 2, "gpu": "0,1"}, "has no option 'gpu'"),
        ({"nprocs": 2, "gpus": "0"}, "2 processes need a GPU each, but gpus names 1"),
        ({"nprocs": 2, "ips": "a,b"}, "see fleetrun"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        dist.spawn(look, **wrong)


def test_a_script_may_spawn_its_own_functions(tmp_path):
    document = pathlib.Path(__file__).parents[2] / "docs" / "launch.md"
    (block,) = re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL)
    script = tmp_path / "script.py"
    script.write_text(block)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "['hello from 0 of 2', 'hello from 1 of 2']\n"


def test_children_end_with_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, pathlib, time
            import paddle.distributed as dist

            def stay():
                pathlib.Path(f"pid.{os.getpid()}").touch()
                time.sleep(1000)

            if __name__ == "__main__":
                dist.spawn(stay, nprocs=2)
            """
        )
    )
    parent = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while len(files := list(tmp_path.glob("pid.*"))) < 2:
        assert time.monotonic() < deadline and parent.poll() is None
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    pids = [file.name.split(".")[1] for file in files]
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < deadline, "they outlive their parent"
        time.sleep(0.02)
