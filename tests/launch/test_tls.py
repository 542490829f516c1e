"""Jobs whose connections speak TLS."""

from job import Job

MEET = """
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init(is_collective=True)
    fleet.barrier_worker()
    print("met", fleet.worker_num())
"""


def test_the_launcher_hands_certificates_on(tmp_path, tls):
    job = Job(tmp_path, ["--nproc_per_node", "2"], MEET, **tls)
    assert job.wait() == 0, job.err
    assert job.log("workerlog.1") == "met 2\n"
    job.assert_nothing_left()


def test_a_certificate_for_another_host_is_told(tmp_path, tls):
    del tls["FLT_TLS_NAME"]
    job = Job(tmp_path, ["--nproc_per_node", "2"], MEET, **tls)
    assert job.wait() == 1
    assert "is not accepted: IP address mismatch" in job.err + job.log("workerlog.0")
    job.assert_nothing_left()


def test_a_worker_without_tls_is_told(tmp_path, tls):
    script = "import os\nfor name in list(os.environ):\n"
    script += "    name.startswith('FLT_TLS') and os.environ.pop(name)\n"
    job = Job(tmp_path, ["--nproc_per_node", "1"], script + MEET.replace("\n    ", "\n"), **tls)
    assert job.wait() == 1
    assert "speaks TLS, but this process does not" in job.err + job.log("workerlog.0")
    job.assert_nothing_left()
