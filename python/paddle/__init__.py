"""Paddle's Python API over Flotilla: build a static program, run it on one machine or a cluster.

Thin on purpose: arguments are sorted out here, everything else happens in the C++ core, _flotilla.
"""

import os as _os
import sys as _sys

# Frames of files below are ours; the first one outside is the user's, which error messages name.
_package_folder = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "")

# OpenMP's threads wait for each other by spinning, for milliseconds: on a machine that does anything
# else besides, steps take twenty times as long. A short spin is as good on an idle one. Read when
# the core is loaded.
if "OMP_WAIT_POLICY" not in _os.environ:
    _os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from . import _core_import  # noqa: E402, F401, I001 - before anything of the core is used
from . import _refusals  # noqa: E402, F401
from . import _modules  # noqa: E402

_sys.meta_path.insert(0, _modules.Modules)

from . import base, static, tensor, version  # noqa: E402, F401
from ._names import names_of as _names_of  # noqa: E402
from .base.dtype import (  # noqa: E402, F401
    bfloat16,
    bool,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from .base.executor import get_cuda_rng_state, seed, set_cuda_rng_state  # noqa: E402, F401
from .base.flags import get_flags, set_flags  # noqa: E402, F401
from .base.framework import (  # noqa: E402, F401
    disable_static,
    enable_static,
    in_dynamic_mode,
)
from .base.grad_mode import (  # noqa: E402, F401
    enable_grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from .base.input import data  # noqa: E402, F401
from .base.lod_tensor import LoDTensor as Tensor  # noqa: E402, F401
from .base.param_attr import ParamAttr  # noqa: E402, F401
from .base.place import (  # noqa: E402, F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    NPUPlace,
    XPUPlace,
    get_device,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_ipu,
    is_compiled_with_npu,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from .batch import batch  # noqa: E402, F401
from .framework.io import load, save  # noqa: E402, F401
from .static import create_parameter  # noqa: E402, F401
from .tensor import *  # noqa: E402, F403

tensor.methods.attach({"create_parameter": create_parameter})
__version__, __git_commit__ = version.full_version, version.commit
_sys.meta_path.append(_modules.MissingModules)

_elsewhere = {
    "distributed_batch_reader": "paddle.fluid.contrib.reader",
    "log_softmax": "paddle.nn.functional",
}
__getattr__, __dir__ = _names_of(__name__, elsewhere=_elsewhere)
