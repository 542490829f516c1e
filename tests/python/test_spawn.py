"""paddle.distributed.spawn: processes of a function, with the environment of a job."""

import multiprocessing
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import textwrap
import time

import _flotilla as core
import paddle.distributed as dist
import pytest
import watched

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


def leave_early():
    dist.init_parallel_env()
    dist.barrier()
    if dist.get_rank() == 0:
        return "left"
    time.sleep(1)
    return core.fleet.stopped()


def use_them(results, lock, total, pipe):
    results.put(dist.get_rank())
    with lock:
        total.value += 1
    if dist.get_rank() == 1:
        pipe.send(pipe.recv() + " to you")


def note_and_stay():
    pathlib.Path(f"pid.{os.getpid()}").touch()
    time.sleep(1000)


def test_children_get_the_environment_of_a_job(monkeypatch):
    # As in a process of another job, and of a scheduler that has started several.
    others = {
        "FLT_STORE": "another job's",
        "FLT_JOB_TOKEN": "another job's",
        "PADDLE_NNODES": "4",
        "PADDLE_SERVER_NUM": "2",
        "PADDLE_MASTER": "node-1:6069",
        "SLURM_STEP_ID": "0",
        "SLURM_NODEID": "1",
        "SLURM_NNODES": "2",
    }
    for name, value in others.items():
        monkeypatch.setenv(name, value)
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
        assert env["TRAINING_ROLE"] is None  # Paddle says it to processes that have servers
        assert env["FLT_STORE"] == seen[0]["FLT_STORE"] != "another job's"
        assert int(env["OMP_NUM_THREADS"]) == max(1, len(os.sched_getaffinity(0)) // 2)
    assert seen[0]["FLT_JOB_TOKEN"] == seen[1]["FLT_JOB_TOKEN"] != "another job's"


def test_arguments_go_in_and_results_come_out():
    context = dist.spawn(double, args=(20, 2), nprocs=3)
    assert [context.return_queues[i].get() for i in range(3)] == [(i, 3, 42) for i in range(3)]
    assert context.join()


def test_the_job_outlives_its_first_worker_and_results_are_there_without_join():
    context = dist.spawn(leave_early, nprocs=2, join=False)
    assert context.return_queues[0].get() == "left"
    assert [process.is_alive() for process in context.processes] == [False, True]
    assert context.return_queues[1].empty()
    assert context.return_queues[1].get() == "", "the job goes on"
    with pytest.raises(queue.Empty):
        context.return_queues[1].get(block=False)
    assert context.join() is True


def test_queues_pipes_and_locks_travel():
    method = multiprocessing.get_context("spawn")
    results, lock, total = method.Queue(), method.Lock(), method.Value("i", 0)
    ours, theirs = method.Pipe()
    context = dist.spawn(use_them, args=(results, lock, total, theirs), nprocs=2, join=False)
    assert sorted(results.get() for _ in range(2)) == [0, 1]
    ours.send("hello")
    assert ours.recv() == "hello to you"
    assert context.join() and total.value == 2


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_workers_meet(method):
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
    assert time.monotonic() - began < watched.room(8), "1.5 s of grace, and room for a busy machine"
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
    ran = watched.run([sys.executable, str(script)], seconds=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "['hello from 0 of 2', 'hello from 1 of 2']\n"


def script_that(folder, *lines):
    """A script that starts two workers, which stay; then it runs `lines`."""
    body = """
        import os, signal, time
        import paddle.distributed as dist
        from test_spawn import note_and_stay

        def say():
            print("worker", dist.get_rank(), "speaks")

        if __name__ == "__main__":
            {}
    """
    script = folder / "script.py"
    script.write_text(textwrap.dedent(body).format("\n    ".join(lines)))
    return script


def start(script, **more):
    folders = [str(pathlib.Path(file).parent) for file in (__file__, watched.__file__)]
    path = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    env.pop("PYTHONUNBUFFERED", None)  # with it a line is several writes
    return subprocess.Popen([sys.executable, str(script)], cwd=script.parent, env=env, **more)


def wait_for_workers(folder, parent):
    def all_there():
        assert parent.poll() is None
        return len(list(folder.glob("pid.*"))) == 2

    watched.wait_until(all_there, "not all workers have come")
    files = folder.glob("pid.*")
    return [file.name.split(".")[1] for file in files]


def assert_gone(pids):
    deadline = time.monotonic() + watched.room(10)
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < deadline, "they outlive their parent"
        time.sleep(0.02)


def test_all_workers_speak_where_the_caller_does(tmp_path):
    script = script_that(tmp_path, "dist.spawn(say, nprocs=2)")
    said = watched.communicate(start(script, stdout=subprocess.PIPE, text=True), seconds=120)[0]
    assert sorted(said.splitlines()) == ["worker 0 speaks", "worker 1 speaks"]
    assert list(tmp_path.iterdir()) == [script], "no logs"


def test_children_end_with_a_parent_that_is_killed(tmp_path):
    parent = start(script_that(tmp_path, "dist.spawn(note_and_stay, nprocs=2)"))
    pids = wait_for_workers(tmp_path, parent)
    parent.kill()
    parent.wait()
    assert_gone(pids)


def test_an_interrupt_of_the_parent_alone_ends_all(tmp_path):
    parent = start(
        script_that(tmp_path, "dist.spawn(note_and_stay, nprocs=2)"), stderr=subprocess.PIPE
    )
    pids = wait_for_workers(tmp_path, parent)
    parent.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in watched.communicate(parent)[1]
    assert_gone(pids)


def test_daemons_end_with_a_parent_that_is_done(tmp_path):
    lines = [
        "dist.spawn(note_and_stay, nprocs=2, join=False, daemon=True)",
        "while len([f for f in os.listdir() if f.startswith('pid.')]) < 2:",
        "    time.sleep(0.02)",
    ]
    parent = start(script_that(tmp_path, *lines))
    assert watched.wait(parent) == 0
    assert_gone([file.name.split(".")[1] for file in tmp_path.glob("pid.*")])


def test_a_launcher_that_is_killed_is_told_and_takes_them_along(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    context = dist.spawn(note_and_stay, nprocs=2, join=False)
    context._launcher.kill()
    with pytest.raises(RuntimeError, match="launcher of .* was killed by signal 9"):
        context.join()
    assert not any(process.is_alive() for process in context.processes)
    assert_gone(context.pids())


def test_what_the_launcher_refuses_is_raised(monkeypatch):
    monkeypatch.setenv("FLAGS_require_gpu", "1")
    with pytest.raises(RuntimeError, match="asks for 90,91, but this host has . GPUs"):
        dist.spawn(look, nprocs=2, gpus="90,91")


def test_a_script_without_its_guard_is_told(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import paddle.distributed as dist\nimport time\n")
    script.write_text(script.read_text() + "dist.spawn(time.sleep, args=(0,), nprocs=2)\n")
    said = watched.communicate(start(script, stderr=subprocess.PIPE))[1]
    assert b"before the\n        current process has finished its bootstrapping phase" in said
