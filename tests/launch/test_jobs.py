"""What jobs are given and what they print."""

import os
import subprocess
import sys
import textwrap

import pytest
import watched
from job import FLEETRUN, Job

SHOW = """
    import json, os, sys
    print(json.dumps({"env": dict(os.environ), "args": sys.argv[1:]}), flush=True)
"""


def environments(job, role, count):
    import json

    return [json.loads(job.log(f"{role}log.{i}"))["env"] for i in range(count)]


def test_collective_job_of_the_first_document(tmp_path):
    job = Job(tmp_path, ["--gpus", "0,1,2,3"], SHOW, ["--lr", "0.1"])
    assert job.wait() == 0
    seen = environments(job, "worker", 4)
    endpoints = seen[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert len(set(endpoints)) == 4
    for rank, env in enumerate(seen):
        assert env["PADDLE_TRAINER_ID"] == str(rank)
        assert env["PADDLE_TRAINERS_NUM"] == "4"
        assert env["PADDLE_CURRENT_ENDPOINT"] == endpoints[rank]
        assert env["FLAGS_selected_gpus"] == str(rank)
        assert env["PADDLE_RANK_IN_NODE"] == str(rank)
        assert env["OMP_NUM_THREADS"] == str(max(1, len(os.sched_getaffinity(0)) // 4))
    assert "launch train in CPU mode" in job.out
    assert "gpus: 0,1,2,3\n" in job.out
    assert "training_script_args: ['--lr', '0.1']\n" in job.out
    assert "Not found distinct arguments" in job.err
    assert "Default use collective mode" in job.err
    assert "Local start 4 processes. First process distributed environment info" in job.err
    assert f"|{'PADDLE_CURRENT_ENDPOINT':>40}  {endpoints[0]:^45}|" in job.err
    assert '"args": ["--lr", "0.1"]' in job.out, "the first worker's output is shown"
    job.assert_nothing_left()


# For jobs with servers, whose end comes soon after the workers': nobody ends before all have printed.
# %d stands for the number of processes.
TOGETHER = """
    import os, pathlib, time
    pathlib.Path(f"here.{os.getpid()}").touch()
    while len(list(pathlib.Path().glob("here.*"))) < %d:
        time.sleep(0.01)
    if os.environ.get("TRAINING_ROLE") == "PSERVER":
        time.sleep(1000)
"""


def test_parameter_server_job_of_the_third_document(tmp_path):
    options = ["--server_num=1", "--worker_num=2", "--gpus=0,1"]
    job = Job(tmp_path, options, SHOW + TOGETHER % 3)
    assert job.wait() == 0
    server = environments(job, "server", 1)[0]
    workers = environments(job, "worker", 2)
    assert server["TRAINING_ROLE"] == "PSERVER"
    assert f"{server['POD_IP']}:{server['PADDLE_PORT']}" == server["PADDLE_PSERVERS_IP_PORT_LIST"]
    assert "PADDLE_TRAINER_ID" not in server
    for rank, env in enumerate(workers):
        assert env["TRAINING_ROLE"] == "TRAINER"
        assert env["PADDLE_TRAINER_ID"] == str(rank)
        assert env["CUDA_VISIBLE_DEVICES"] == str(rank)
        assert env["PADDLE_PSERVERS_IP_PORT_LIST"] == server["PADDLE_PSERVERS_IP_PORT_LIST"]
        assert env["PADDLE_GLOO_RENDEZVOUS"] == "3"
    for line in [
        "Run parameter-sever mode. pserver arguments:['--worker_num', '--server_num'], cuda count:0",
        "Local server start 1 processes. First process distributed environment info",
        "Local worker start 2 processes. First process distributed environment info",
        "Please check servers, workers and heter_worker logs in log/workerlog.*, log/serverlog.* "
        "and log/heterlog.*",
        "all workers exit, going to finish parameter server and heter_worker.",
        "all parameter server are killed",
    ]:
        assert line in job.err
    for name in ["PADDLE_GLOO_FS_PATH", "PADDLE_GLOO_HTTP_ENDPOINT", "PADDLE_WITH_GLOO"]:
        assert name in job.err
    job.assert_nothing_left()


def test_heter_workers_have_their_own_role_and_logs(tmp_path):
    options = ["--server_num=1", "--worker_num=1", "--heter_worker_num=2", "--gpus=0,1"]
    job = Job(tmp_path, options, SHOW + TOGETHER % 4)
    assert job.wait() == 0
    heters = environments(job, "heter", 2)
    endpoints = heters[0]["PADDLE_HETER_TRAINER_IP_PORT_LIST"].split(",")
    assert len(endpoints) == 2
    for rank, env in enumerate(heters):
        assert env["TRAINING_ROLE"] == "HETER_TRAINER"
        assert env["PADDLE_TRAINER_ID"] == str(rank)
        assert f"{env['POD_IP']}:{env['PADDLE_PORT']}" == endpoints[rank]
        assert (env["FLAGS_selected_gpus"], env["CUDA_VISIBLE_DEVICES"]) == ("0", str(rank))
        assert (env["FLT_ROLE"], env["FLT_RANK"]) == ("heter_worker", str(rank))
    worker = environments(job, "worker", 1)[0]
    assert worker["PADDLE_HETER_TRAINER_IP_PORT_LIST"].split(",") == endpoints
    assert "Local heter_worker start 2 processes. First process distributed" in job.err
    job.assert_nothing_left()


@pytest.mark.parametrize("option", ["--gpus=4,6", "--selected_gpus=4,6", "--devices=4,6"])
def test_gpus_are_counted_among_the_visible_ones(tmp_path, option):
    job = Job(tmp_path, [option], SHOW, CUDA_VISIBLE_DEVICES="3,4,5,6")
    assert job.wait() == 0
    seen = environments(job, "worker", 2)
    assert [env["FLAGS_selected_gpus"] for env in seen] == ["1", "3"]
    assert [env["PADDLE_WORLD_DEVICE_IDS"] for env in seen] == ["1,3", "1,3"]
    assert {env["CUDA_VISIBLE_DEVICES"] for env in seen} == {"3,4,5,6"}


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia"), reason="this machine has GPUs")
def test_gpus_that_are_not_there_are_a_notice_or_an_error(tmp_path):
    job = Job(tmp_path, ["--gpus=0,1"], "print('ran')")
    assert job.wait() == 0
    assert "asks for 0,1, but this host has 0 GPUs: the processes run on the CPU" in job.err
    assert job.log("workerlog.1") == "ran\n"
    folder = tmp_path / "required"
    folder.mkdir()
    job = Job(folder, ["--gpus=0,1"], "print('ran')", FLAGS_require_gpu="1")
    assert job.wait() == 2
    assert job.err == (
        "fleetrun: --gpus asks for 0,1, but this host has 0 GPUs; without FLAGS_require_gpu=1 the "
        "processes run on the CPU\n"
    )
    assert not (folder / "log").exists()


def test_a_child_gets_the_listening_socket_of_its_endpoint(tmp_path):
    script = """
        import os, socket
        mine = socket.socket(fileno=int(os.environ["FLT_LISTEN_FD"]))
        print("%s:%s" % mine.getsockname() == os.environ["PADDLE_CURRENT_ENDPOINT"])
    """
    job = Job(tmp_path, ["--nproc_per_node=2", "--quiet"], script)
    assert job.wait() == 0
    assert job.log("workerlog.0") == job.log("workerlog.1") == "True\n"


def test_modules_and_programs_are_launched_like_scripts(tmp_path):
    (tmp_path / "pkg.py").write_text("import sys; print('module', sys.argv[1:])")
    run = [FLEETRUN, "--quiet", "--nproc_per_node=1"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "FLT_PYTHON": sys.executable}
    for words, expected in [
        (["-m", "pkg", "--x"], "module ['--x']\n"),
        (["echo", "any", "program"], "any program\n"),
    ]:
        done = subprocess.run([*run, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_lines_of_all_processes_arrive_whole_with_tee(tmp_path):
    script = """
        import os, sys
        for i in range(300):
            sys.stdout.write("%s:%d:" % (os.environ["PADDLE_TRAINER_ID"], i))
            sys.stdout.flush()
            sys.stdout.write("x" * 200 + "\\n")
        sys.stdout.write("no newline at the end")
    """
    job = Job(tmp_path, ["--nproc_per_node=3", "--quiet", "--tee"], script)
    assert job.wait() == 0
    lines = job.out.splitlines()
    expected = [f"[worker {r}] {r}:{i}:" + "x" * 200 for r in range(3) for i in range(300)]
    assert sorted(expected + [f"[worker {r}] no newline at the end" for r in range(3)]) == sorted(
        lines
    )


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--worker_nun", "2", "t.py"], 'Did you mean "--worker_num"?'),
        (["--gpus", "0", "no_such.py"], "cannot read the script no_such.py: no such file"),
        (["no_such_program"], "neither on the PATH nor an executable file"),
        (["--server_num=1", "--worker_num=x", "echo"], "must be a whole number"),
        (["--ips=10.9.8.7,10.9.8.6", "echo"], "this host must be one of --ips"),
        (["--log_dir=/proc/nothing", "echo"], "cannot create the log folder /proc/nothing"),
        ([], "no script, -m module or program is given"),
    ],
)
def test_bad_command_lines_start_nothing_and_give_2(tmp_path, words, sentence):
    done = watched.run([FLEETRUN, "--quiet", *words], cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "module, options, logs",
    [
        (
            "launch",
            ["--selected_gpus=0,1", "--log_dir=mylog"],
            ["mylog/workerlog.0", "mylog/workerlog.1"],
        ),
        (
            "launch_ps",
            ["--server_num=1"],
            ["logs/serverlog.0", "logs/workerlog.0", "logs/workerlog.1"],
        ),
    ],
)
def test_the_modules_of_the_older_eras_are_other_names(tmp_path, module, options, logs):
    script = "import sys; print(sys.executable, sys.argv[1:], flush=True)\n"
    (tmp_path / "train.py").write_text(script + textwrap.dedent(TOGETHER % len(logs)))
    command = [sys.executable, "-m", f"paddle.distributed.{module}", *options]
    done = watched.run([*command, "train.py", "--distributed"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for log in logs:
        assert (tmp_path / log).read_text() == f"{sys.executable} ['--distributed']\n"
