"""What processes say that may not have the threads they need."""

import os
import resource
import subprocess
import sys
import textwrap

import pytest
from job import FLEETRUN, LIMIT

CORES = os.sysconf("SC_NPROCESSORS_CONF")
GRPC = 4 + min(max(CORES // 2, 2), 16)
STRANGER = 54321  # a user without processes: limits of processes count those of a user

AS_STRANGER = f"""
    import os, resource, sys
    import numpy as np
    import numpy.random  # what is imported later, another user may not be able to read
    import paddle
    import paddle.io._pool
    import _flotilla

    paddle.enable_static()

    def limit_threads(count):
        os.setuid({STRANGER})
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
"""

needs_root = pytest.mark.skipif(
    os.getuid() != 0, reason="limits of processes are tested as another user, which needs root"
)


def run_limited(tmp_path, code, **variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AS_STRANGER) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=tmp_path,
        env={**kept, "OPENBLAS_NUM_THREADS": "1", **variables},  # numpy's own count, too
    )


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
            _flotilla.join_job(_flotilla.role_from_environment(True))
    """
    done = run_limited(tmp_path, textwrap.dedent(prelude) + code)
    assert done.returncode == 1
    assert words in done.stderr
    assert "`ulimit -u` (processes and threads of this user) is " in done.stderr


@needs_root
@pytest.mark.parametrize("limit", [1, 3, 6])
def test_a_launcher_with_too_few_threads_says_so(limit):
    def become_stranger():
        os.setuid(STRANGER)
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

    done = subprocess.run(
        [FLEETRUN, "--nproc_per_node=1", "--log_dir=", "/bin/true"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd="/",
        preexec_fn=become_stranger,
    )
    assert done.returncode not in (0, -6, -11), done.stderr
    assert "cannot start" in done.stderr
    assert "`ulimit -u`" in done.stderr


@pytest.mark.parametrize("megabytes", [100, 200, 300, 400, 600])
def test_too_little_address_space_is_no_hang(tmp_path, megabytes):
    def limit_space():
        size = megabytes << 20
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    done = subprocess.run(
        [FLEETRUN, "--nproc_per_node=1", "--log_dir=", "/bin/true"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=tmp_path,
        preexec_fn=limit_space,
    )
    assert done.returncode == 0 or done.stderr.strip(), "silence"
    assert done.returncode >= 0, done.stderr
