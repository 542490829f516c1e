"""Another user of the same machine can neither take part in a job, nor end it, nor hold it up."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import watched
from job import FLEETRUN, Job
from nobody import Nobody

FLOTILLA = str(pathlib.Path(FLEETRUN).with_name("flotilla"))

# Worker 1 comes when the other user has been at worker 0's door.
SCRIPT = """
    import os, pathlib, time
    import numpy as np
    import paddle
    import paddle.distributed as dist
    from paddle.distributed import fleet

    paddle.enable_static()
    if os.environ["PADDLE_TRAINER_ID"] == "1":
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
    fleet.init(is_collective=True)
    value = np.array([float(fleet.worker_index() + 1)])
    dist.all_reduce(value)
    assert value[0] == 3
    print("sums to 3")
"""

# Goes to the door of a rank: says nothing, or that it is rank 1, in every form that there was.
AT_THE_DOORS = """
    import array, struct
    doors = []
    while not doors:
        doors = names("flotilla-" + sys.argv[1])
        time.sleep(0.02)
    kept, reached = [], 0
    messages = [None, struct.pack("i", 1), struct.pack("i32s", 1, b"0" * 32)]
    for door in doors:
        for message in messages * 5:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            kept.append(one)
            one.settimeout(5)
            try:
                one.connect("\\0" + door)
                reached += 1
                if message is not None:
                    fd = array.array("i", [os.memfd_create("x")])
                    one.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fd)])
            except OSError:
                pass  # it was closed at once
    print(len(doors), reached, flush=True)
    # What would come: descriptors of the job's memory.
    got = 0
    for one in kept:
        try:
            data, rights, _, _ = one.recvmsg(4096, socket.CMSG_LEN(64))
            got += len(rights)
        except OSError:
            pass
    print("descriptors", got, flush=True)
    time.sleep(1000)
"""


def door_of(pid):
    """The name of the socket on which a rank waits for others; None: it does not yet."""
    held = set()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            held.add(os.readlink(link))
        except OSError:
            continue  # it was closed meanwhile
    with open("/proc/net/unix") as table:
        for words in map(str.split, table):
            if words[-1].startswith("@flotilla-") and f"socket:[{words[6]}]" in held:
                return words[-1][1:]
    return None


def wait_for_door(job):
    pid = job.pid_of("worker", 0)

    def door():
        assert job.process.poll() is None, "the launcher ended"
        return door_of(pid)

    return watched.wait_until(door, f"process {pid} has no door")


def test_another_user_is_no_rank_of_a_collective_job(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], SCRIPT)
    try:
        door = wait_for_door(job)
        with Nobody(AT_THE_DOORS, door.removeprefix("flotilla-")) as other:
            assert other.line() == "1 15"  # it came to the door, with all it tried
            assert other.line() == "descriptors 0"
            (tmp_path / "go").touch()
            assert job.wait() == 0, job.err
    finally:
        job.kill()  # where the test failed
    for rank in (0, 1):
        assert "sums to 3" in job.log(f"workerlog.{rank}")
    job.assert_nothing_left()


# Takes the name of a process as if that were a launcher, and answers what it is asked.
LAUNCHER = """
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\\0flotilla-launcher-" + sys.argv[1])
    listener.listen(64)
    print("listens", flush=True)
    while True:
        one, _ = listener.accept()
        try:
            one.sendall(b"job \\x1b]0;owned\\x07 \\xc2\\x9b31m\\rno such job\\nworker 0\\tstep 1\\n")
        except OSError:
            pass  # it only looked whether somebody listens
        one.close()
"""


def inspect(*arguments):
    command = [FLOTILLA, "inspect", "job", *arguments]
    return watched.run(command)


def test_inspect_asks_no_launcher_of_another_user():
    with Nobody(LAUNCHER, os.getpid()) as other:
        assert other.line() == "listens"
        asked = inspect(str(os.getpid()))
        everywhere = inspect("--seconds=0.1")
    assert asked.returncode == 1
    assert f"process {os.getpid()} is not a launcher of this user" in asked.stderr
    for said in (asked, everywhere):
        assert "owned" not in said.stdout + said.stderr


def test_inspect_prints_no_control_characters():
    program = "import socket, sys\n" + textwrap.dedent(LAUNCHER)
    command = [sys.executable, "-c", program, str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        try:
            assert launcher.stdout.readline() == "listens\n"
            said = inspect(str(os.getpid()))
        finally:
            launcher.kill()
    assert said.returncode == 0, said.stderr
    expected = "job \\x1b]0;owned\\x07 \\x9b31m\\x0dno such job\nworker 0\\x09step 1\n"
    assert said.stdout == expected


def test_inspect_prints_no_control_characters_of_a_status_port():
    """Any user may have the port of a server that is gone."""
    metrics = 'flotilla_ps_rows{table="\x1b[2Jgone"} 7\n'
    metrics += f'flotilla_ps_rows{{table="{"long" * 1000}"}} 7\n'
    answer = f"HTTP/1.0 200 OK\r\nContent-Length: {len(metrics)}\r\n\r\n{metrics}"
    program = (
        "import socket, sys\n"
        "listener = socket.create_server(('127.0.0.1', 0))\n"
        "print(listener.getsockname()[1], flush=True)\n"
        "while True:\n"
        "    one, _ = listener.accept()\n"
        "    one.recv(4096)\n"
        "    one.sendall(sys.argv[1].encode())\n"
        "    one.close()\n"
    )
    command = [sys.executable, "-c", program, answer]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = server.stdout.readline().strip()
            said = inspect("--servers", f"127.0.0.1:{port}", "--seconds=0.1")
        finally:
            server.kill()
    assert said.returncode == 0, said.stderr
    assert "\\x1b[2Jgone" in said.stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", said.stdout), repr(said.stdout)
    assert len(said.stdout) < 10_000  # not every line as long as the longest


def test_the_name_of_a_process_in_an_error_has_no_control_characters(tmp_path):
    """The holder of a port is named, and gives itself its name."""
    program = (
        "import socket, time\n"
        "open('/proc/self/comm', 'w').write('\\x1b[2Jnobody')\n"
        "listener = socket.create_server(('127.0.0.1', 0))\n"
        "print(listener.getsockname()[1], flush=True)\n"
        "time.sleep(1000)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            port = holder.stdout.readline().strip()
            job = Job(tmp_path, [f"--servers=127.0.0.1:{port}", "--worker_num=1"], "")
            assert job.wait() != 0
        finally:
            holder.kill()
    assert "\\x1b[2Jnobody" in job.err and "\x1b" not in job.err, job.err
