"""tools/watched.py ends what is stuck, however busy the machine is, and nothing else."""

import subprocess
import sys
import threading
import time

import pytest
import watched
from watched import Limits, Patience, run_watched


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


def start(text):
    return subprocess.Popen(script(text), stdout=subprocess.PIPE, text=True)


@pytest.fixture
def often(monkeypatch):
    """Looks come often enough for limits of a second, on a machine with four cores. There is room by
    the clock: what computes for a second of the processor's time may take many on a busy machine.
    """
    monkeypatch.setattr(watched, "LOOK", 0.1)
    monkeypatch.setattr(watched, "room", lambda seconds: 1000 * seconds)
    monkeypatch.setattr(watched.os, "sched_getaffinity", lambda _: range(4))


def test_a_test_waits_for_what_prints_or_computes(often):
    """Or for what a process computes that comes from its own."""
    prints = start("import time\nfor i in range(20): print(i, flush=True); time.sleep(0.1)")
    assert len(watched.communicate(prints, seconds=1)[0].split()) == 20
    below = "import time; e = time.process_time() + 2\nwhile time.process_time() < e: pass"
    waits = start(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {below!r}])")
    assert watched.wait(waits, seconds=1) == 0
    waits.stdout.close()


def test_a_test_does_not_wait_for_what_hangs(often):
    hangs = start("import time; print('a', flush=True); time.sleep(1000)")
    with pytest.raises(AssertionError, match="neither printed nor computed for 0.5 s; .*a"):
        watched.communicate(hangs, seconds=0.5)
    assert hangs.wait() == -9
    with pytest.raises(AssertionError, match="nothing came: it has neither printed nor computed"):
        watched.wait_until(lambda: False, "nothing came", seconds=0.5)
    with pytest.raises(AssertionError, match="neither printed nor computed for 0.5 s"):
        watched.run(script("import time; time.sleep(1000)"), seconds=0.5)


def test_a_test_does_not_wait_for_ever_for_what_says_that_it_waits(often, monkeypatch):
    monkeypatch.setattr(watched, "room", lambda seconds: seconds)
    waits = start("import time\nwhile True: print('waits', flush=True); time.sleep(0.1)")
    with pytest.raises(AssertionError, match="it runs for .* s"):
        watched.communicate(waits, seconds=1)
    waits.wait()


def test_work_of_the_own_process_counts_where_it_is_asked_for(often):
    patience = Patience(0.5, own=True)
    asks = threading.Thread(target=watched.wait_until, args=(patience.over, "it is never over"))
    asks.start()
    end = time.process_time() + 1
    while time.process_time() < end:
        assert asks.is_alive()
    asks.join()  # now this one does nothing


@pytest.mark.parametrize("seconds", [0, 0.5])
def test_what_a_command_says_comes_back(often, seconds):
    """Also where it is long before it reads what it is told."""
    text = f"import sys, time; time.sleep({seconds}); print(len(input())); sys.exit('no')"
    done = watched.run(script(text), input="y" * 1_000_000)
    assert (done.returncode, done.stdout, done.stderr) == (1, "1000000\n", "no\n")


def test_a_busy_machine_has_room():
    assert watched.room(2) >= 2
