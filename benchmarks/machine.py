"""What every side is told about this machine."""

from pathlib import Path


def variables(threads):
    """The environment of a process that may use so many threads."""
    told = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
            "GLOG_minloglevel": "3", "PYTHONWARNINGS": "ignore"}  # fmt: skip
    if "AuthenticAMD" in Path("/proc/cpuinfo").read_text():
        # Paddle's MKL leaves AVX2 alone on such a processor, and is half as fast, unless it is told.
        told["MKL_DEBUG_CPU_TYPE"] = "5"
    return told
