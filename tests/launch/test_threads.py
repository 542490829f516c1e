"""How many threads processes have, and what they say that may not have those they need."""

import os
import pathlib
import re
import resource
import subprocess
import sys
import textwrap
import time

import pytest
import watched
from job import FLEETRUN, ROOT, Job

CORES = os.sysconf("SC_NPROCESSORS_CONF")
P = min(max(CORES // 2, 2), 16)
GRPC = 4 + P
ANOTHER_USER = 54321  # a user without processes: limits of processes count those of a user

AS_ANOTHER_USER = f"""
    import os, resource, sys
    import numpy as np
    import numpy.random  # what is imported later, another user may not be able to read
    import paddle
    import paddle.io._pool
    import _flotilla

    paddle.enable_static()

    def limit_threads(count):
        os.setuid({ANOTHER_USER})
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
"""

DOCUMENT = (ROOT / "docs" / "launch.md").read_text()
NAMES_OF_GRPC = ("nexting_thread", "default-executo", "resolver-execut", "grpc_")

ALONE = """
    import numpy as np
    import paddle

    def wait():
        print("there", flush=True)
        input()

    wait()
    paddle.enable_static()
    x = paddle.static.data("x", [256, 256])
    y = paddle.nn.functional.relu(paddle.matmul(x, x))
    exe = paddle.static.Executor()
    for _ in range(3):
        exe.run(feed={"x": np.ones([256, 256], "float32")}, fetch_list=[y])
    wait()
"""

# The gradients fill several buckets: those of a collective job are summed beside the computation.
IN_A_JOB = """
    import os, pathlib, time
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    servers = os.environ["MODE"] == "servers"
    fleet.init(is_collective=not servers)
    x = paddle.static.data("x", [None, 256])
    loss = paddle.mean(paddle.static.nn.fc(paddle.static.nn.fc(x, 2048), 512))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = servers
    strategy.a_sync_configs = {"send_queue_size": 1}
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)
    if servers and fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        if servers:
            fleet.init_worker()
        for _ in range(3):
            exe.run(feed={"x": np.ones([256, 256], "float32")}, fetch_list=[loss])
        pathlib.Path("there." + os.environ["FLT_RANK"]).touch()
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
        if servers:
            fleet.stop_worker()
"""

needs_root = pytest.mark.skipif(
    os.getuid() != 0, reason="limits of processes are tested as another user, which needs root"
)


def run_limited(tmp_path, code, **variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    return watched.run(
        [sys.executable, "-c", textwrap.dedent(AS_ANOTHER_USER) + textwrap.dedent(code)],
        cwd=tmp_path,
        env={**kept, "OPENBLAS_NUM_THREADS": "1", **variables},  # numpy's own count, too
    )


def documented(process, compute):
    """What docs/launch.md says of a process: its own threads, and gRPC's at most."""
    row = re.search(rf"^\| {re.escape(process)} \|(.*)", DOCUMENT, re.MULTILINE)
    assert row, f"docs/launch.md does not tell the threads of {process}"
    own, _, grpc = row.group(1).split("|")[compute - 1].partition(" + ")
    most = re.search(r"at most\s+`(P [^`]*)`", DOCUMENT).group(1)
    return int(own), eval(most, {"P": P, "cores": CORES}) if grpc else 0


def count_threads(pid):
    """Those that gRPC has not named, and those that it has."""
    own = grpc = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text()
        except OSError:
            continue  # it has ended meanwhile
        if name.startswith(NAMES_OF_GRPC):
            grpc += 1
        else:
            own += 1
    return own, grpc


def differences(compute, processes):
    """Sentences about those of `processes`, each (what docs/launch.md calls it, pid), that differ."""
    sentences = []
    for process, pid in processes:
        own, grpc = documented(process, compute)
        # A thread that was joined may still be listed for a moment, and one that is new has no name.
        deadline = time.monotonic() + watched.room(10)
        while (found := count_threads(pid))[0] != own and time.monotonic() < deadline:
            time.sleep(0.01)
        if found[0] != own or found[1] > grpc:
            sentences.append(
                f"{process} has {found[0]} threads and {found[1]} of gRPC, but docs/launch.md says "
                f"{own} and at most {grpc}"
            )
    return sentences


@pytest.mark.parametrize("compute", [1, 2])
def test_a_script_has_the_threads_that_are_documented(tmp_path, compute):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ALONE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**kept, "OPENBLAS_NUM_THREADS": "1", "FLT_THREADS": str(compute)},
    )
    found = []
    for what in ("a script that has imported `paddle`", "a script that runs programs alone"):
        assert process.stdout.readline() == "there\n"
        found += differences(compute, [(what, process.pid)])
        process.stdin.write("\n")
        process.stdin.flush()
    watched.communicate(process)
    assert process.returncode == 0
    assert not found


@pytest.mark.parametrize("compute", [1, 2])
@pytest.mark.parametrize("servers", [0, 1])
def test_a_job_has_the_threads_that_are_documented(tmp_path, servers, compute):
    counts = ["--worker_num=2", "--server_num=1"] if servers else ["--nproc_per_node=2"]
    settings = {"OPENBLAS_NUM_THREADS": "1", "FLT_THREADS": str(compute)}
    mode = "servers" if servers else "collective"
    job = Job(tmp_path, counts, IN_A_JOB, MODE=mode, **settings)
    job.wait_for("there.*", count=2)
    worker = f"a worker of a {'job with servers' if servers else 'collective job'}"
    found = differences(
        compute,
        [
            ("the launcher", job.process.pid),
            *((worker, job.pid_of("worker", rank)) for rank in range(2)),
            *(("a server", job.pid_of("server", rank)) for rank in range(servers)),
        ],
    )
    (tmp_path / "go").touch()
    assert job.wait() == 0, job.err
    assert not found


@needs_root
@pytest.mark.parametrize(
    "code, words",
    [
        ("_flotilla.set_threads(8); limit_threads(3); multiply()", "of the 7 threads that compute"),
        ("limit_threads(1); load()", "cannot start /bin/sh, which ends what"),
        ("limit_threads(2); load()", "cannot start worker 0 of a DataLoader"),
        ("limit_threads(3); store()", f"of the {GRPC} threads that connections need"),
    ],
)
def test_too_few_threads_are_a_sentence(tmp_path, code, words):
    prelude = """
        def multiply():
            x = paddle.static.data("x", [256, 256], "float32")
            y = paddle.matmul(x, x)
            exe = paddle.static.Executor()
            exe.run(feed={"x": np.ones([256, 256], "float32")}, fetch_list=[y])

        def load():
            class Numbers(paddle.io.Dataset):
                def __len__(self):
                    return 4
                def __getitem__(self, i):
                    return np.float32([i])
            list(paddle.io.DataLoader(Numbers(), num_workers=2))

        def store():
            os.environ.update(FLT_STORE="127.0.0.1:9", FLT_JOB_TOKEN="t")
            _flotilla.fleet.join(_flotilla.role_from_environment(True))
    """
    done = run_limited(tmp_path, textwrap.dedent(prelude) + code)
    assert done.returncode == 1
    assert words in done.stderr
    assert "`ulimit -u` (processes and threads of this user) is " in done.stderr


@needs_root
@pytest.mark.parametrize("limit", [1, 3, 6])
def test_a_launcher_with_too_few_threads_says_so(limit):
    def become_another_user():
        os.setuid(ANOTHER_USER)
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

    done = watched.run(
        [FLEETRUN, "--nproc_per_node=1", "--log_dir=", "/bin/true"],
        cwd="/",
        preexec_fn=become_another_user,
    )
    assert done.returncode not in (0, -6, -11), done.stderr
    assert "cannot start" in done.stderr
    assert "`ulimit -u`" in done.stderr


def run_in_space(command, folder, megabytes, stack=None, **variables):
    """Runs a command with so much address space; threads ask for `stack` megabytes of it each."""

    def limit_space():
        if stack:
            most = resource.getrlimit(resource.RLIMIT_STACK)[1]
            resource.setrlimit(resource.RLIMIT_STACK, (stack << 20, most))
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    done = watched.run(
        command,
        cwd=folder,
        preexec_fn=limit_space if megabytes else None,
        env={**kept, "OPENBLAS_NUM_THREADS": "1", **variables},
    )
    assert "terminate called" not in done.stderr
    assert done.returncode >= 0, done.stderr  # no signal
    return done


LAUNCH = [FLEETRUN, "--nproc_per_node=1", "--log_dir=", "/bin/true"]


@pytest.mark.parametrize("megabytes", [100, 200, 300, 400, 600])
def test_too_little_address_space_is_no_hang(tmp_path, megabytes):
    done = run_in_space(LAUNCH, tmp_path, megabytes)
    if done.returncode != 0:
        assert re.match(r"fleetrun: \S.* \S", done.stderr.splitlines()[-1]), done.stderr


def test_a_launcher_without_room_for_its_threads_says_so(tmp_path):
    done = run_in_space(LAUNCH, tmp_path, 400, stack=100)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(
        r"fleetrun: cannot start .*: Resource temporarily unavailable\. `ulimit -u` .* and "
        r"`ulimit -v` \(KiB of address space\) is 409600; .*",
        done.stderr.splitlines()[-1],
    )


# Limits the address space to what there is and some kilobytes more.
WITH_LITTLE_ROOM = """
    import re, resource, sys
    import numpy as np
    import paddle

    paddle.enable_static()
    x = paddle.static.data("x", [256, 256])
    y = paddle.nn.functional.relu(paddle.matmul(x, x))
    exe = paddle.static.Executor()
    there = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
    size = there + int(sys.argv[1]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    exe.run(feed={"x": np.ones([256, 256], "float32")}, fetch_list=[y])
    print("ran")
"""


# With less than some 2 MB oneDNN itself crashes.
@pytest.mark.parametrize("compute", ["1", "4"])
@pytest.mark.parametrize("megabytes", [4, 16, 64, 256])
def test_a_script_with_little_address_space_runs_or_says_why_not(tmp_path, megabytes, compute):
    command = [sys.executable, "-c", textwrap.dedent(WITH_LITTLE_ROOM), str(megabytes << 10)]
    done = run_in_space(command, tmp_path, None, FLT_THREADS=compute)
    if done.returncode == 0:
        assert done.stdout == "ran\n"
    else:
        (line,) = [line for line in done.stderr.splitlines() if re.match(r"\S*Error: ", line)]
        assert done.returncode == 1
    if (megabytes, compute) == (4, "4"):
        assert re.fullmatch(
            r"RuntimeError: cannot start more than [0-2] of the 3 threads that compute: Resource "
            r"temporarily unavailable\. `ulimit -u` \(processes and threads of this user\) is \w+ and "
            r"`ulimit -v` \(KiB of address space\) is \d+; .* or start fewer processes or threads "
            r"\(FLT_THREADS\)",
            line,
        )


@pytest.mark.parametrize("megabytes", [60, 100])
def test_an_import_without_address_space_is_an_error(tmp_path, megabytes):
    done = run_in_space([sys.executable, "-c", "import paddle"], tmp_path, megabytes)
    assert done.returncode == 1 and "ImportError: " in done.stderr  # which library has no room
