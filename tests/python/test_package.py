"""The package itself: what importing it loads, its names, places, flags and versions."""

import sys

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
import watched
from paddle import static


def python(code, **environment):
    """What a fresh interpreter prints, and says on stderr."""
    import os

    done = watched.run([sys.executable, "-c", code], env={**os.environ, **environment})
    return done.stdout.strip(), done.stderr.strip()


# ---- modules and names


def test_modules_are_imported_when_they_are_asked_for():
    code = (
        "import sys, paddle;"
        "lazy = ['paddle.fluid', 'paddle.nn', 'paddle.vision', 'paddle.distributed'];"
        "before = [name in sys.modules for name in lazy];"
        "found = [eval(name).__name__ for name in lazy];"
        "print(before, found == lazy)"
    )
    assert python(code) == ("[False, False, False, False] True", "")


@pytest.mark.parametrize(
    "line",
    [
        "import paddle; paddle.fluid.core; paddle.static.nn.fc; paddle.utils.unique_name.guard",
        "import paddle.static.nn as nn; nn.fc",
        "import paddle.fluid as fluid; fluid.param_attr.ParamAttr; fluid.Executor",
        "from paddle.fluid.param_attr import ParamAttr",
        "from paddle import static, nn, fluid",
        "import paddle.nn.initializer, paddle.regularizer, paddle.device",
        "import paddle; issubclass(paddle.common_ops_import.core.EOFException, Exception) or 1 / 0",
        "import paddle; paddle.enable_static(); paddle.enable_static()",
        "import paddle; dir(paddle).index('fluid'); dir(paddle.static).index('nn')",
    ],
)
def test_ways_to_import(line):
    assert python(line) == ("", "")


@pytest.mark.parametrize(
    "module, name, near",
    [
        (paddle, "ParamAtr", "ParamAttr"),
        (static, "sav", "save"),
        (static, "Excutor", "Executor"),
        (static.nn, "conv2dd", "conv2d"),
        (fluid, "layerz", "layers"),
        (fluid.io, "save_persistable", "save_persistables"),
        (fluid.core, "EOFExeption", "EOFException"),
        (fluid.initializer, "Constan", "Constant"),
        (paddle.nn.initializer, "Normall", "Normal"),
        (paddle.utils, "run_chek", "run_check"),
        (paddle.regularizer, "L2Deca", "L2Decay"),
        (paddle.base.framework, "Variabel", "Variable"),
    ],
)
def test_a_missing_name_is_answered_with_the_nearest(module, name, near):
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    where = module.__name__
    assert str(error.value) == f'{where} has no "{name}". Did you mean {where}.{near}?'


def test_one_hint_is_enough():
    """Python 3.10 and later add one of their own where they find a near name."""
    command = [sys.executable, "-c", "import paddle; paddle.static.nn.sequence_padd"]
    done = watched.run(command, seconds=120)
    assert done.returncode == 1 and done.stderr.count("Did you mean") == 1
    assert done.stderr.rstrip().endswith("Did you mean paddle.static.nn.sequence_pad?")


def test_a_name_like_no_other_is_just_not_there():
    with pytest.raises(AttributeError, match=r'^paddle.static has no "quantum_entangle".$'):
        static.quantum_entangle  # noqa: B018
    assert not hasattr(paddle, "__wrapped__")


def test_options_that_do_not_exist():
    strategy = static.BuildStrategy()
    strategy.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    assert strategy.fuse_all_reduce_ops and repr(strategy).startswith("BuildStrategy(reduce_str")
    with pytest.raises(AttributeError, match="no option fuse_all_reduce. Did you mean fuse_all_re"):
        strategy.fuse_all_reduce = True
    with pytest.raises(AttributeError, match="ExecutionStrategy has no option num_thread."):
        static.ExecutionStrategy().num_thread = 3


# ---- versions


def test_versions():
    assert paddle.__version__ == paddle.version.full_version
    paddle.utils.require_version("1.8")
    with pytest.raises(RuntimeError, match="Paddle 9.0 or newer is required, but this is 2"):
        paddle.utils.require_version("9.0")


def test_run_check(capsys):
    paddle.utils.run_check()
    assert " works, on " in capsys.readouterr().out


# ---- places and devices


def test_places_print_and_compare():
    assert str(paddle.CPUPlace()) == repr(fluid.CPUPlace()) == "Place(cpu)"
    assert f"Run on {paddle.CUDAPlace(0)}." == "Run on Place(gpu:0)."
    assert paddle.CUDAPlace(1) == fluid.CUDAPlace("1") != paddle.CUDAPlace(0)
    assert str(paddle.CUDAPinnedPlace()) == "Place(gpu_pinned)"
    assert len({paddle.CPUPlace(), paddle.CPUPlace(), paddle.CUDAPlace(0)}) == 2
    assert [str(p) for p in static.cpu_places(2)] == ["Place(cpu)"] * 2
    assert [str(p) for p in static.cuda_places([1, 2])] == ["Place(gpu:1)", "Place(gpu:2)"]


def test_a_gpu_that_is_not_there_runs_on_the_cpu_and_says_so_once():
    code = (
        "import paddle; [paddle.CUDAPlace(i) for i in range(3)];"
        "print(paddle.static.Executor(paddle.CUDAPlace(1)).run(paddle.static.Program()))"
    )
    out, err = python(code)
    assert out == "[]"
    assert err == (
        "CUDAPlace(0): there is no such device on this machine, so programs run on the CPU "
        "(FLAGS_require_gpu=1 refuses instead)"
    )


def test_a_gpu_can_be_required():
    _, err = python("import paddle; paddle.CUDAPlace(0)", FLAGS_require_gpu="1")
    assert err.endswith(
        "RuntimeError: CUDAPlace(0): there is no such device on this machine, "
        "and FLAGS_require_gpu asks for one"
    )
    paddle.set_flags({"FLAGS_require_gpu": True})
    try:
        with pytest.raises(RuntimeError):
            fluid.CUDAPlace(0)
    finally:
        paddle.set_flags({"FLAGS_require_gpu": False})


def test_devices():
    assert paddle.get_device() == "cpu" and paddle.device.get_device() == "cpu"
    assert str(paddle.set_device("gpu:1")) == "Place(gpu:1)" and paddle.get_device() == "gpu:1"
    assert str(static.Executor().place) == "Place(gpu:1)"
    paddle.set_device("cpu")
    assert not paddle.is_compiled_with_cuda() and fluid.core.get_cuda_device_count() == 0
    with pytest.raises(ValueError, match='a device is "cpu", "gpu", .* but is "tpu"'):
        paddle.set_device("tpu")


def test_the_memory_of_no_gpu(capsys, monkeypatch):
    cuda = paddle.device.cuda
    monkeypatch.setattr(cuda, "_said", [])
    counters = ("max_memory_allocated", "max_memory_reserved", "memory_allocated")
    assert [getattr(cuda, word)() for word in (*counters, "memory_reserved")] == [0] * 4
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "there is no GPU on this machine, so its memory" in said
    assert cuda.device_count() == 0 and cuda.empty_cache() is None
    assert paddle.get_cuda_rng_state() == [] and paddle.set_cuda_rng_state([]) is None
    device = paddle.device
    assert device.get_all_custom_device_type() == device.get_available_custom_device() == []
    for word in ("get_device_capability", "get_device_name", "get_device_properties"):
        with pytest.raises(ValueError, match=f"{word} needs a GPU, but there is none"):
            getattr(cuda, word)()
    with pytest.raises(ValueError, match="state_list must be empty"):
        paddle.set_cuda_rng_state([1])


def test_streams_and_events_of_no_gpu():
    device = paddle.device
    stream, start, end = device.Stream(), device.Event(enable_timing=True), device.cuda.Event()
    with pytest.raises(RuntimeError, match="both events must have been recorded"):
        start.elapsed_time(end)
    start.record()
    with device.stream_guard(stream):
        assert device.current_stream() is stream is device.cuda.current_stream()
        assert stream.record_event(end) is end
    assert device.current_stream() is not stream and device.set_stream(stream) is not stream
    assert start.query() and stream.query() and start.elapsed_time(end) >= 0
    for done in (
        *(device.synchronize(), device.cuda.synchronize(), device.xpu.synchronize()),
        *(stream.synchronize(), stream.wait_event(end), stream.wait_stream(stream)),
        end.synchronize(),
    ):
        assert done is None


# ---- flags


def test_flags():
    paddle.set_flags({"FLAGS_anything": 3})
    assert paddle.get_flags("FLAGS_anything") == {"FLAGS_anything": 3}
    names = ["FLAGS_anything", "FLAGS_check_nan_inf"]
    assert fluid.get_flags(names) == {"FLAGS_anything": 3, "FLAGS_check_nan_inf": False}
    with pytest.raises(ValueError, match="the name of a flag must begin with FLAGS_, but is 'x'"):
        paddle.set_flags({"x": 1})
    with pytest.raises(
        ValueError, match="FLAGS_require_gp is not set. Did you mean FLAGS_require_g"
    ):
        paddle.get_flags("FLAGS_require_gp")


def test_flags_from_the_environment():
    code = (
        "import paddle;"
        "print(paddle.get_flags(['FLAGS_a', 'FLAGS_b', 'FLAGS_c', 'FLAGS_require_gpu']))"
    )
    out, err = python(code, FLAGS_a="3", FLAGS_b="0.5", FLAGS_c="x", FLAGS_require_gpu="on")
    expected = {"FLAGS_a": 3, "FLAGS_b": 0.5, "FLAGS_c": "x", "FLAGS_require_gpu": True}
    assert (out, err) == (str(expected), "")


# ---- metrics outside of programs


def test_accuracy_over_batches():
    metric = fluid.metrics.Accuracy()
    metric.update(value=np.array([0.5]), weight=2)
    metric.update(value=1.0, weight=6)
    assert metric.eval() == 7 / 8 and metric.weight == 8 and metric.value == 7
    metric.reset()
    with pytest.raises(ValueError, match="there is no accuracy yet"):
        metric.eval()
