"""What every side is told about this machine."""

from pathlib import Path


def variables(threads):
    """The environment of a process that may use so many threads."""
    return {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
            "GLOG_minloglevel": "3", "PYTHONWARNINGS": "ignore"}  # fmt: skip


def avx2_in_old_mkl():
    """The environment in which Paddle's MKL uses AVX2 on this processor, where it would not."""
    amd = "AuthenticAMD" in Path("/proc/cpuinfo").read_text()
    return {"MKL_DEBUG_CPU_TYPE": "5"} if amd else {}
