"""Which version of Paddle's API this is, and which version of Flotilla."""

full_version = "2.6.2"
major, minor, patch, rc = "2", "6", "2", "0"
istaged, with_mkl = True, "ON"
cuda_version = cudnn_version = xpu_version = cinn_version = "False"
# A build says here from which commit it was made, where it knows.
commit = "Unknown"
flotilla = "0.1.0"


def mkl():
    """Whether oneDNN computes: "ON"."""
    return with_mkl


def xpu():
    """The version of XPU's libraries the package is built with, or "False"."""
    return xpu_version


def cinn():
    """The version of CINN the package is built with, or "False"."""
    return cinn_version


def cuda():
    """The version of CUDA the package is built with, or "False"."""
    return cuda_version


def cudnn():
    """The version of cuDNN the package is built with, or "False"."""
    return cudnn_version


def show():
    """Print the versions."""
    print(f"full_version: {full_version}\nflotilla: {flotilla}\ncuda: {cuda()}\ncudnn: {cudnn()}")
