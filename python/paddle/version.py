"""Which version of Paddle's API this is, and which version of Flotilla."""

full_version = "2.6.2"
major, minor, patch, rc = "2", "6", "2", "0"
flotilla = "0.1.0"


def cuda():
    """The version of CUDA the package is built with, or "False"."""
    return "False"


def cudnn():
    """The version of cuDNN the package is built with, or "False"."""
    return "False"


def show():
    """Print the versions."""
    print(f"full_version: {full_version}\nflotilla: {flotilla}\ncuda: {cuda()}\ncudnn: {cudnn()}")
