"""tools/watched.py ends what is stuck, however busy the machine is, and nothing else."""

import sys

import pytest
from watched import Limits, run_watched


def script(text):
    return [sys.executable, "-c", text]


def test_what_a_command_prints_comes_back(tmp_path):
    done = run_watched(script("import os; print(os.getcwd()); exit(3)"), tmp_path)
    assert (done.returncode, done.stdout) == (3, f"{tmp_path}\n")


def test_a_slow_command_that_gets_on_is_left_alone():
    """As a test on a machine on which it has a hundredth of a processor."""
    limits, now, worked = Limits(idle=10, work=20, most=10_000), 0, 0
    for step in range(900):
        now, worked = now + 9, worked + 0.3
        assert not limits.stuck(now, step // 50, worked)


@pytest.mark.parametrize(
    "rate, why", [(0, "neither printed nor computed"), (1, "computed for 20 s without printing")]
)
def test_one_that_does_not_get_on_is_stuck(rate, why):
    limits, now = Limits(idle=10, work=20), 0
    assert not limits.stuck(now, 5, 0)
    found = [limits.stuck(now, 5, now * rate) for now in range(1, 40)]
    assert why in next(filter(None, found))


def test_one_that_prints_without_end_is_ended():
    limits = Limits(most=100)
    found = [limits.stuck(now, now, now) for now in range(200)]
    assert "it runs for 100 s" in next(filter(None, found))


def test_a_stuck_command_is_ended_with_all_that_it_started(tmp_path):
    """Its children keep the output open: whoever waited for the end of that would wait for them."""
    text = (
        "import subprocess, time; subprocess.Popen(['sleep', '1000']);"
        "print('a', flush=True); time.sleep(1000)"
    )
    done = run_watched(script(text), tmp_path, Limits(idle=1.5), look=0.2)
    assert done.returncode == -9
    why = "it has neither printed nor computed for 1.5 s"
    assert done.stdout == f"a\n\nended by tools/watched.py: {why}\n"


def test_one_that_computes_without_end_is_ended(tmp_path):
    done = run_watched(script("while True: pass"), tmp_path, Limits(work=0.5), look=0.2)
    assert done.returncode == -9 and "without printing anything" in done.stdout
