"""Places: where programs run."""

import sys

import _flotilla as core
from paddle._words import named, of_kind

from .flags import get_flags


def _is_of(kind, word, what):
    return named(lambda self: self._kind == kind, f"is_{word}_place", f"Whether this is {what}.")


class Place:
    """A device, such as ``Place(cpu)`` or ``Place(gpu:0)``."""

    _kind = "cpu"

    def __init__(self, device_id=None):
        self._id = device_id

    def __repr__(self):
        number = "" if self._id is None else f":{self._id}"
        return f"Place({self._kind}{number})"

    def __eq__(self, other):
        return isinstance(other, Place) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))

    def _type(self):
        return self._kind

    is_cpu_place = _is_of("cpu", "cpu", "the CPU")
    is_gpu_place = _is_of("gpu", "gpu", "a GPU")
    is_cuda_pinned_place = _is_of(
        "gpu_pinned", "cuda_pinned", "memory of the host that a GPU reads directly"
    )
    is_xpu_place = _is_of("xpu", "xpu", "an XPU")
    is_npu_place = _is_of("npu", "npu", "an NPU")

    def set_place(self, place):
        """Stand for the same device as another place."""
        place = of_kind(place, Place, "set_place takes a place, but got a")
        self._kind, self._id = place._kind, place._id

    def get_device_id(self):
        """The number of the device; -1 for the CPU."""
        return -1 if self._id is None else self._id

    gpu_device_id = xpu_device_id = npu_device_id = get_device_id


class CPUPlace(Place):
    """The CPU."""

    def __init__(self):
        super().__init__()


class CUDAPlace(Place):
    """A GPU by its number. Without a GPU the program runs on the CPU, with one warning."""

    _kind = "gpu"

    def __init__(self, id=0):
        super().__init__(_device_id("CUDAPlace", id))
        if core.gpu_count() == 0:
            _instead("CUDAPlace", self._id)


class CUDAPinnedPlace(Place):
    """Memory of the host that a GPU reads directly."""

    _kind = "gpu_pinned"

    def __init__(self):
        super().__init__()


class XPUPlace(Place):
    """An XPU by its number; the program runs on the CPU, with one warning."""

    _kind = "xpu"

    def __init__(self, dev_id=0):
        super().__init__(_device_id("XPUPlace", dev_id))
        _instead("XPUPlace", self._id)


class NPUPlace(Place):
    """An NPU by its number; the program runs on the CPU, with one warning."""

    _kind = "npu"

    def __init__(self, dev_id=0):
        super().__init__(_device_id("NPUPlace", dev_id))
        _instead("NPUPlace", self._id)


_said = set()


def _device_id(what, number):
    try:
        number = int(number)
    except (TypeError, ValueError):
        raise TypeError(f"{what} takes a device number, but got {number!r}") from None
    if number < 0:
        raise ValueError(f"{what} takes a device number of at least 0, but got {number}")
    return number


def _instead(what, number):
    if get_flags("FLAGS_require_gpu")["FLAGS_require_gpu"]:
        raise RuntimeError(
            f"{what}({number}): there is no such device on this machine, "
            "and FLAGS_require_gpu asks for one"
        )
    if what not in _said:
        _said.add(what)
        text = "there is no such device on this machine, so programs run on the CPU"
        print(f"{what}({number}): {text} (FLAGS_require_gpu=1 refuses instead)", file=sys.stderr)


def get_cuda_device_count():
    """The number of GPUs that programs can run on."""
    return core.gpu_count()


def is_compiled_with_cuda():
    """Whether this build has CUDA kernels."""
    return core.with_cuda


def _whether(word, what, here=False):
    return named(lambda: here, f"is_compiled_with_{word}", f"Whether this build {what}.")


is_compiled_with_rocm = _whether("rocm", "runs on AMD's GPUs")
is_compiled_with_xpu = _whether("xpu", "runs on XPUs")
is_compiled_with_npu = _whether("npu", "runs on NPUs")
is_compiled_with_ipu = _whether("ipu", "runs on IPUs")
is_compiled_with_cinn = _whether("cinn", "has the CINN compiler")
is_compiled_with_mkldnn = _whether("mkldnn", "computes with oneDNN", True)
is_compiled_with_distribute = _whether("distribute", "trains on several processes", True)
is_compiled_with_dist = _whether("dist", "trains on several processes", True)
is_compiled_with_brpc = _whether("brpc", "talks to servers by bRPC")
is_compiled_with_nccl = _whether("nccl", "has NVIDIA's collectives")


def is_compiled_with_custom_device(device_type):
    """Whether this build runs on devices that a plug-in of that name brings."""
    return False


def cpu_places(device_count=None):
    """The CPU as a list of places; a process is one place."""
    return [CPUPlace() for _ in range(1 if device_count is None else int(device_count))]


def cuda_places(device_ids=None):
    """The GPUs of these numbers: by default those that FLAGS_selected_gpus names, else GPU 0."""
    if device_ids is None:
        device_ids = _selected_gpus()
    elif not isinstance(device_ids, (list, tuple)):
        device_ids = [device_ids]
    return [CUDAPlace(number) for number in device_ids]


def _selected_gpus():
    selected = str(get_flags("FLAGS_selected_gpus")["FLAGS_selected_gpus"])
    return [number for number in selected.split(",") if number] or [0]


def cuda_pinned_places(device_count=None):
    """Host memory that GPUs read directly, as a list of places."""
    return [CUDAPinnedPlace() for _ in range(1 if device_count is None else int(device_count))]


def xpu_places(device_ids=None):
    """The XPUs of these numbers, by default the first."""
    return [XPUPlace(number) for number in ([0] if device_ids is None else device_ids)]


def npu_places(device_ids=None):
    """The NPUs of these numbers, by default the first."""
    return [NPUPlace(number) for number in ([0] if device_ids is None else device_ids)]


_current = [None]


def set_device(device):
    """Choose where executors without a place run: ``"cpu"``, ``"gpu"`` or ``"gpu:1"``."""
    _current[0] = to_place(device)
    return _current[0]


def get_device():
    """Where executors without a place run, such as ``"cpu"`` or ``"gpu:0"``."""
    return repr(current_place())[len("Place(") : -1]


def current_place():
    """The place that set_device chose: by default the selected GPU, or the CPU without one."""
    if _current[0] is None and core.gpu_count() > 0:
        _current[0] = CUDAPlace(_selected_gpus()[0])
    return _current[0] or CPUPlace()


def gpu_of(place):
    """The number of the GPU that a place stands for here; None: programs run on the CPU."""
    return place._id if place._kind == "gpu" and core.gpu_count() > 0 else None


def to_place(what):
    """A place from a place or from a word such as ``"gpu:0"``."""
    if isinstance(what, Place):
        return what
    kind, _, number = str(what).lower().partition(":")
    if kind == "cpu" and not number:
        return CPUPlace()
    kinds = {"gpu": CUDAPlace, "xpu": XPUPlace, "npu": NPUPlace}
    if kind in kinds and (number or "0").isdigit():
        return kinds[kind](int(number or (_selected_gpus()[0] if kind == "gpu" else 0)))
    raise ValueError(
        f'a device is "cpu", "gpu", "xpu" or "npu", or one with a number, "gpu:1", but is "{what}"'
    )
