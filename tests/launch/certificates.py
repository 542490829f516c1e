"""Certificates for jobs that speak TLS."""

import shutil
import subprocess

import pytest


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
