"""Where programs run."""

from paddle._rows import rows

rows(globals())


def get_cudnn_version():
    """The version of cuDNN, or None without one."""
    return None


def get_all_device_type():
    """The kinds of devices that programs can run on."""
    return ["cpu"]


def get_available_device():
    """The devices that programs can run on."""
    return ["cpu"]


def get_all_custom_device_type():
    """The kinds of devices that plug-ins bring: none."""
    return []


def get_available_custom_device():
    """The devices that plug-ins bring: none."""
    return []
