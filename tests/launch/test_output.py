"""What processes print: bytes that are no text, progress bars, more than anybody reads."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import watched
from hosts import Host
from job import FLEETRUN, Job

BAD_TEXT = r"""
import os, sys, time
if os.environ["PADDLE_TRAINER_ID"] == "1":
    os.write(1, b"Latin-1: f\xfcr\ncut inside \xe6\x89\nValueError: f\xfcr \xe6\x89\xb9\xe6")
    sys.exit(7)
time.sleep(1000)
"""


def test_last_lines_that_are_no_text_name_the_culprit_on_every_host(tmp_path, ports):
    ips = ["127.0.0.1", "127.0.0.2"]
    hosts = [
        Host(
            tmp_path / str(i),
            [f"--ips={','.join(ips)}", f"--host={ip}", "--nproc_per_node=1"],
            BAD_TEXT,
            **ports,
        )
        for i, ip in enumerate(ips)
    ]
    assert [host.wait() for host in hosts] == [7, 7], [host.err for host in hosts]
    for host in hosts:
        assert "worker 1 failed first" in host.err
        assert "Latin-1: f\ufffdr" in host.err
        assert "raised  ValueError: f\ufffdr 批\ufffd" in host.err


def test_a_log_folder_whose_name_is_no_text_is_no_obstacle(tmp_path):
    folder = os.fsencode(tmp_path) + b"/f\xfcr"
    os.mkdir(folder)
    done = watched.run(
        [FLEETRUN, "--nproc_per_node=1", "--json", b"--log_dir=" + folder, "/bin/false"],
        cwd=tmp_path,
        text=False,
    )
    assert done.returncode == 1
    assert "worker 0 failed first" in done.stderr.decode(errors="replace")
    culprit = json.loads(done.stdout.splitlines()[-1].decode())["culprit"]
    assert culprit["log"].endswith("/f\ufffdr/workerlog.0")


def test_a_progress_bar_is_shown_as_it_comes(tmp_path):
    script = """
        import pathlib, sys, time
        for percent in range(3):
            sys.stdout.write(f"\\r{percent} %")
            sys.stdout.flush()
            while not pathlib.Path(f"seen.{percent}").exists():
                time.sleep(0.01)
    """
    job = Job(tmp_path, ["--nproc_per_node=1"], script)
    seen = ""
    for percent in range(3):
        while f"{percent} %" not in seen:
            byte = job.process.stdout.read(1)
            assert byte, f"the launcher ended; it had shown {seen!r}"
            seen += byte
        (tmp_path / f"seen.{percent}").touch()
    assert job.wait() == 0


def test_a_slow_reader_of_much_output_hears_of_a_death(tmp_path):
    """20 MB lie between what the reader has seen and the failure, of which he reads 1 MB/s."""
    (tmp_path / "script.py").write_text(
        textwrap.dedent(
            """
            import os, pathlib, sys, time
            if os.environ["PADDLE_TRAINER_ID"] == "0":
                line = b"x" * 999 + b"\\n"
                for _ in range(20000):
                    os.write(1, line)
                pathlib.Path("there").touch()
                time.sleep(1000)
            while not pathlib.Path("there").exists():
                time.sleep(0.01)
            sys.exit(3)
            """
        )
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    process = subprocess.Popen(
        [FLEETRUN, "--nproc_per_node=2", "script.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**kept, "FLT_PYTHON": sys.executable},
    )
    shown = []

    def read_slowly():
        while chunk := process.stdout.read(1 << 16):
            shown.append(chunk)
            time.sleep(1 / 16 if len(shown) < 300 else 0)

    reader = threading.Thread(target=read_slowly)
    reader.start()
    while not (tmp_path / "there").exists():
        time.sleep(0.01)
    error = process.stderr.read().decode()
    reader.join()
    assert watched.wait(process) == 3
    assert "worker 1 failed first" in error
    text = b"".join(shown).decode()
    assert "MB of output are omitted here" in text
    assert len(text) < 15e6


# Worker 0 writes 100 MB/s. Where nobody ends it, that takes 10 s, and 1 GB is on the disk.
FLOOD = """
    import os, pathlib, sys, time
    if os.environ["PADDLE_TRAINER_ID"] == "1":
        while pathlib.Path("log/workerlog.0").stat().st_size < 50_000_000:
            time.sleep(0.001)
        sys.exit(3)
    piece = eval(os.environ["PIECE"])
    piece *= 1_000_000 // len(piece)
    began = time.monotonic()
    for count in range(1000):
        time.sleep(max(0, began + count / 100 - time.monotonic()))
        os.write(1, piece)
    pathlib.Path("all is written").touch()
"""


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"x" * 99 + b"\n", id="lines"),
        pytest.param(b"\n", id="empty lines"),
        pytest.param(b"x" * 99 + b"\r", id="a progress bar"),
        pytest.param(b"x", id="an endless line"),
    ],
)
def test_a_flood_of_output_does_not_delay_the_news_of_a_death(tmp_path, piece):
    job = Job(tmp_path, ["--nproc_per_node=2"], FLOOD, PIECE=repr(piece))
    errors = []
    listener = threading.Thread(target=lambda: errors.append(job.process.stderr.read()))
    listener.start()
    shown = peak = 0
    while text := os.read(job.process.stdout.fileno(), 1 << 16):
        shown += len(text)
        if shown % 1_000_000 < len(text):
            with open(f"/proc/{job.process.pid}/status") as status:
                found = [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
            peak = max([peak, *found])  # a process that has ended has none
    listener.join()
    code = watched.wait(job.process)
    (tmp_path / "log" / "workerlog.0").unlink()  # pytest keeps the folder
    assert code == 3
    assert "worker 1 failed first" in errors[0]
    assert not (tmp_path / "all is written").exists()
    assert 0 < peak < 120_000, f"{peak} KiB"


@pytest.mark.parametrize("tee", [False, True])
def test_endless_lines_cost_no_memory(tmp_path, tee):
    """50 MB without a newline; the launcher's memory is read while they are shown."""
    script = """
        import os, pathlib, time
        for _ in range(50):
            os.write(1, b"x" * 1000000)
        pathlib.Path("there").touch()
        while not pathlib.Path("seen").exists():
            time.sleep(0.01)
    """
    job = Job(tmp_path, ["--nproc_per_node=1", *(["--tee"] if tee else [])], script)
    count = 0
    while count < 50_000_000:
        text = os.read(job.process.stdout.fileno(), 1 << 16)
        assert text, "the launcher ended"
        count += text.count(b"x")
    with open(f"/proc/{job.process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    (tmp_path / "seen").touch()
    assert job.wait() == 0
    assert peak < 120_000, f"{peak} KiB"
