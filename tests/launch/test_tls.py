"""Jobs whose connections speak TLS."""

import shutil
import subprocess

import pytest
from job import Job

MEET = """
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init(is_collective=True)
    fleet.barrier_worker()
    print("met", fleet.worker_num())
"""


@pytest.fixture
def tls(tmp_path):
    """The variables of a job whose one certificate carries the name the-job."""
    if not shutil.which("openssl"):
        pytest.skip("the openssl command is absent")
    folder = tmp_path / "tls"
    folder.mkdir()

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *new, "-subj", "/CN=job", "-keyout", "job.key", "-out", "job.csr")
    (folder / "job.ext").write_text("subjectAltName=DNS:the-job\n")
    openssl("x509", "-req", "-in", "job.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-extfile", "job.ext", "-out", "job.pem")  # fmt: skip
    return {
        "FLT_TLS_CERT": str(folder / "job.pem"),
        "FLT_TLS_KEY": str(folder / "job.key"),
        "FLT_TLS_CA": str(folder / "ca.pem"),
        "FLT_TLS_MUTUAL": "1",
        "FLT_TLS_NAME": "the-job",
    }


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
