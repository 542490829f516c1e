"""What a predictor is told: the model's files, and switches, few of which mean anything here."""

import enum
import os
import warnings

import _flotilla as core

__all__ = ["Config", "PrecisionType"]


class PrecisionType(enum.IntEnum):
    """How exactly a card computes."""

    Float32 = 0
    Int8 = 1
    Half = 2
    Bfloat16 = 3


# A switch: the query that it answers, and the answer. None: what the switch is given, True by default.
_SWITCHES = {
    "disable_glog_info": ("glog_info_disabled", True),
    "disable_gpu": ("use_gpu", False),
    "disable_mkldnn": ("mkldnn_enabled", False),
    "enable_mkldnn": ("mkldnn_enabled", True),
    "enable_memory_optim": ("enable_memory_optim", None),
    "enable_profile": ("profile_enabled", True),
    "switch_ir_debug": ("ir_debug", None),
    "switch_ir_optim": ("ir_optim", None),
    "switch_specify_input_names": ("specify_input_name", None),
    "switch_use_feed_fetch_ops": ("use_feed_fetch_ops_enabled", None),
}
# Those that a predictor on this CPU does as well without: said once for each Config.
_IGNORED = """collect_shape_range_info delete_pass disable_mkldnn_fc_passes disable_onnxruntime
    enable_custom_device enable_dlnne enable_ipu enable_lite_engine enable_low_precision_io
    enable_mkldnn_bfloat16 enable_mkldnn_int8 enable_new_executor enable_onnxruntime enable_opencl
    enable_ort_optimization enable_quantizer enable_save_optim_model enable_tensorrt_dla
    enable_tensorrt_engine enable_tensorrt_explicit_quantization enable_tensorrt_inspector
    enable_tensorrt_memory_optim enable_tensorrt_oss enable_tensorrt_varseqlen
    enable_tuned_tensorrt_dynamic_shape enable_xpu exp_disable_mixed_precision_ops
    exp_disable_tensorrt_ops exp_enable_mixed_precision_ops exp_enable_use_cutlass load_ipu_config
    mark_trt_engine_outputs set_bfloat16_op set_dist_config set_ipu_config set_ipu_custom_info
    set_mkldnn_cache_capacity set_mkldnn_op set_optim_cache_dir set_tensorrt_optimization_level
    set_trt_dynamic_shape_info set_xpu_config set_xpu_device_id""".split()
# What is answered without a switch.
_ANSWERS = {
    "ir_optim": True,
    "use_feed_fetch_ops_enabled": True,
    "fraction_of_gpu_memory_for_pool": 0.0,
    "tensorrt_precision_mode": PrecisionType.Float32,
    **dict.fromkeys(("gpu_device_id", "memory_pool_init_size_mb", "xpu_device_id"), 0),
    **dict.fromkeys(("shape_range_info_path",), ""),
    **dict.fromkeys(
        """glog_info_disabled use_gpu mkldnn_enabled profile_enabled specify_input_name
        lite_engine_enabled mkldnn_int8_enabled onnxruntime_enabled shape_range_info_collected
        tensorrt_dla_enabled tensorrt_dynamic_shape_enabled tensorrt_engine_enabled
        tensorrt_explicit_quantization_enabled tensorrt_inspector_enabled tensorrt_oss_enabled
        tensorrt_varseqlen_enabled trt_allow_build_at_runtime tuned_tensorrt_dynamic_shape
        use_opencl use_xpu""".split(),
        False,
    ),
}


class Config:
    """Which model a predictor runs, and on how many threads.

    ``Config(prog_file, params_file)``, or ``Config(model_dir)`` for a folder with ``__model__`` and
    a file for each parameter, or with one .pdmodel and its .pdiparams. Switches of cards and other
    engines are taken and have no effect: a notice says so once.
    """

    Precision = PrecisionType

    def __init__(self, *files):
        self._model_dir = self._prog_file = self._params_file = ""
        self._buffers = None
        self._threads = 1
        self._answers = dict(_ANSWERS)
        self._said = False
        if len(files) == 1 and isinstance(files[0], Config):
            self.__dict__.update(vars(files[0]), _answers=dict(files[0]._answers))
        elif files:
            self.set_model(*files)

    # ---- the model

    def set_model(self, path, params_file=None):
        """Name the folder of a model, or its two files."""
        if params_file is None:
            self._model_dir = os.fspath(path)
        else:
            self.set_prog_file(path)
            self.set_params_file(params_file)

    def set_prog_file(self, path):
        """Name the file of the program."""
        self._prog_file = os.fspath(path)

    def set_params_file(self, path):
        """Name the file of all parameters."""
        self._params_file = os.fspath(path)

    def set_model_buffer(self, program, program_size, params, params_size):
        """Give what the two files of a model hold."""
        self._buffers = tuple(
            (data.encode("latin-1") if isinstance(data, str) else bytes(data))[:size]
            for data, size in ((program, program_size), (params, params_size))
        )

    def model_dir(self):
        """The folder of the model."""
        return self._model_dir

    def prog_file(self):
        """The file of the program."""
        return self._prog_file

    def params_file(self):
        """The file of all parameters."""
        return self._params_file

    def model_from_memory(self):
        """Whether set_model_buffer() gave the model."""
        return self._buffers is not None

    def _model(self):
        if self._buffers is not None:
            return core.Model.parse(*self._buffers)
        if not self._prog_file and not self._model_dir:
            raise ValueError("the Config names no model: give it a folder, or the files of a model")
        return core.Model.read(*self._files())

    def _files(self):
        if self._prog_file:
            return self._prog_file, self._params_file
        program = os.path.join(self._model_dir, "__model__")
        if not os.path.exists(program) and os.path.isdir(self._model_dir):
            models = [one for one in os.listdir(self._model_dir) if one.endswith(".pdmodel")]
            if len(models) == 1:
                stem = os.path.join(self._model_dir, models[0][: -len(".pdmodel")])
                return stem + ".pdmodel", stem + ".pdiparams"
        return program, ""

    # ---- how it runs

    def set_cpu_math_library_num_threads(self, count):
        """Say how many threads a run may use."""
        if count < 1:
            raise ValueError(f"the number of threads must be positive, but is {count}")
        self._threads = int(count)

    def cpu_math_library_num_threads(self):
        """How many threads a run may use."""
        return self._threads

    def enable_use_gpu(self, memory_pool_init_size_mb, device_id=0, precision_mode=0):
        """Predict on a card; without one, on the CPU, as a notice says."""
        self._answers.update(use_gpu=True, gpu_device_id=device_id)
        self._answers.update(memory_pool_init_size_mb=memory_pool_init_size_mb)
        self._ignore("enable_use_gpu")

    def summary(self):
        """The settings as text, one to a line."""
        settings = {
            "model_dir": self._model_dir,
            "model_file": self._prog_file,
            "params_file": self._params_file,
            "cpu_math_thread": self._threads,
            **self._answers,
        }
        return "".join(f"{name}: {value}\n" for name, value in settings.items())

    def _ignore(self, name):
        if not self._said:
            warnings.warn(
                f"Config.{name}() has no effect: Flotilla predicts on the CPU, with passes and "
                "kernels of its own; nor have others of its kind",
                stacklevel=3,
            )
        self._said = True


def _switch(name, query, answer):
    def switch(self, x=True):
        self._answers[query] = bool(x) if answer is None else answer

    switch.__doc__ = f"Say what {query}() answers; predictions stay the same."
    return switch


def _ignored(name):
    def ignore(self, *args, **kwargs):
        self._ignore(name)

    ignore.__doc__ = "No effect on this CPU."
    return ignore


def _query(name):
    def answer(self):
        return self._answers[name]

    answer.__doc__ = "What was set."
    return answer


for _name in _ANSWERS:
    setattr(Config, _name, _query(_name))
for _name in _IGNORED:
    setattr(Config, _name, _ignored(_name))
for _name, (_asked, _answer) in _SWITCHES.items():
    setattr(Config, _name, _switch(_name, _asked, _answer))
