"""Jobs that no launcher of ours started: processes that find themselves by variables alone."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
import watched
from hosts import FLOTILLA

MEET = """
import paddle.distributed as dist
dist.init_parallel_env()
gathered = []
dist.all_gather_object(gathered, dist.get_rank())
print("gathered", gathered, flush=True)
"""

STAY = """
import pathlib, sys, time
import paddle.distributed as dist
dist.init_parallel_env()
pathlib.Path(sys.argv[1]).touch()
dist.barrier() if dist.get_rank() != 1 else time.sleep(1000)
"""


def slurm(rank, size, port):
    return {
        "SLURM_PROCID": rank,
        "SLURM_NTASKS": size,
        "SLURM_LOCALID": rank,
        "SLURM_STEP_ID": 0,
        "SLURM_STEP_NODELIST": "localhost",
        "FLT_STORE_PORT": port,
    }


def open_mpi(rank, size, port):
    return {
        "OMPI_COMM_WORLD_RANK": rank,
        "OMPI_COMM_WORLD_SIZE": size,
        "OMPI_COMM_WORLD_LOCAL_RANK": rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": size,
        "FLT_STORE_PORT": port,
    }


def by_hand(rank, size, port):
    endpoints = ",".join(f"127.0.0.1:{port + i}" for i in range(size))
    return {"PADDLE_TRAINER_ID": rank, "PADDLE_TRAINER_ENDPOINTS": endpoints}


def cloud(rank, size, port):
    return {
        "PADDLE_TRAINERS": ",".join(f"127.0.0.{i + 1}" for i in range(size)),
        "PADDLE_TRAINER_ID": rank,
        "TRAINER_PORTS_NUM": 4,
        "PADDLE_PORT": port,
        "POD_IP": f"127.0.0.{rank + 1}",
        "PADDLE_TRAINERS_NUM": size,
    }


def master(rank, size, port):
    return {
        "PADDLE_TRAINER_ID": rank,
        "PADDLE_TRAINERS_NUM": size,
        "PADDLE_MASTER": f"127.0.0.1:{port}",
    }


def start(code, variables, *arguments, command=None):
    foreign = ("PADDLE_", "FLT_", "SLURM_", "OMPI_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    return subprocess.Popen(
        command or [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**kept, **{k: str(v) for k, v in variables.items()}},
    )


@pytest.mark.parametrize("variables", [slurm, open_mpi, by_hand, cloud, master])
def test_processes_meet_in_any_order(ports, variables):
    port = int(ports["FLT_STORE_PORT"])
    processes = []
    for rank in (2, 0, 3, 1):
        processes.append(start(MEET, {**variables(rank, 4, port), "FLT_JOB_TOKEN": "secret"}))
        time.sleep(0.1)
    ended = [watched.communicate(process) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, ended
    assert all("gathered [0, 1, 2, 3]" in out for out, _ in ended)


def test_the_first_process_warns_where_there_is_no_secret(ports):
    port = int(ports["FLT_STORE_PORT"])
    processes = [start(MEET, by_hand(rank, 2, port)) for rank in range(2)]
    said = [watched.communicate(process)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert "FLT_JOB_TOKEN is not set: any user of 127.0.0.1 can join this job" in said[0]
    assert "FLT_JOB_TOKEN" not in said[1]


def test_a_killed_process_is_named_by_all(tmp_path, ports):
    port = int(ports["FLT_STORE_PORT"])
    marks = [tmp_path / str(rank) for rank in range(3)]
    processes = [
        start(STAY, {**by_hand(rank, 3, port), "FLT_JOB_TOKEN": "t"}, str(marks[rank]))
        for rank in range(3)
    ]
    watched.wait_until(lambda: all(mark.exists() for mark in marks), "not all have come")
    time.sleep(0.3)
    processes[1].send_signal(signal.SIGKILL)
    began = time.monotonic()
    for rank in (0, 2):
        said = watched.communicate(processes[rank])[1]
        assert processes[rank].returncode != 0
        assert "worker 1" in said, said
    assert time.monotonic() - began < watched.room(10)


SERVE = """
import paddle
from paddle.distributed import fleet
paddle.enable_static()
fleet.init(is_collective=False)
fleet.init_server()
print("is listening on", flush=True)
fleet.run_server()
"""


def wait_until_it_listens_to(number, process):
    """Until a process has a handler for a signal."""

    def has_handler():
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        handled = int(re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE).group(1), 16)
        return handled >> (number - 1) & 1

    watched.wait_until(has_handler, f"no handler of signal {number}")


JOIN_AND_STAY = """
import time
import _flotilla
_flotilla.fleet.join(_flotilla.role_from_environment(False))
print("joined", flush=True)
while not _flotilla.fleet.stopped():
    time.sleep(0.01)
print(_flotilla.fleet.stopped(), flush=True)
"""


@pytest.mark.parametrize("program", ["script", "flotilla serve"])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_server_that_is_asked_to_end_does_not_wait_for_workers(ports, program, workers):
    endpoint = f"127.0.0.1:{ports['FLT_STORE_PORT']}"
    job = {
        "PADDLE_PSERVERS_IP_PORT_LIST": endpoint,
        "PADDLE_TRAINERS_NUM": 2,
        "FLT_JOB_TOKEN": "secret",
    }
    place = {"POD_IP": "127.0.0.1", "PADDLE_PORT": ports["FLT_STORE_PORT"]}
    command = [FLOTILLA, "serve"] if program == "flotilla serve" else None
    server = start(SERVE, {**job, **place, "TRAINING_ROLE": "PSERVER"}, command=command)
    spoken = server.stderr if command else server.stdout
    while "is listening on" not in (line := spoken.readline()):
        assert line, "it ended before it served"
    wait_until_it_listens_to(signal.SIGTERM, server)
    worker = {**job, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": 0}
    others = [start(JOIN_AND_STAY, worker) for _ in range(workers)]
    for other in others:
        assert other.stdout.readline() == "joined\n"
    server.send_signal(signal.SIGTERM)
    began = time.monotonic()
    said = watched.communicate(server)[1]
    assert time.monotonic() - began < watched.room(8), "two seconds, and room for a busy machine"
    assert server.returncode == 0, said
    came = f"the store of the job ends with this process, {1 + workers} of 3 processes had come"
    assert f"was asked to end (Terminated): {came}" in said
    for other in others:
        assert "server 0 (pid" in watched.communicate(other)[0]


def test_a_job_whose_first_process_cannot_be_found_says_what_to_set():
    variables = {**open_mpi(1, 4, 6069), "OMPI_COMM_WORLD_LOCAL_SIZE": 2}
    process = start(MEET, variables)
    said = watched.communicate(process)[1]
    assert process.returncode != 0
    assert "set PADDLE_MASTER to its host and a free port" in said
