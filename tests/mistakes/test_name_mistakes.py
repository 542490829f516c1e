"""Names that are not here, by every way of asking for them, and the dynamic graph."""

import importlib
import re
import subprocess
import sys

import numpy as np
import paddle
import pytest
from paddle import static

STATIC = (
    "Flotilla trains static programs; build the model after paddle.enable_static() and run it with "
    "paddle.static.Executor"
)
MODULES = {
    "amp": "leave it out; training runs in single precision",
    "jit": STATIC,
    "onnx": "save the model with paddle.static.save_inference_model, in Paddle's format",
    "profiler": "use a system profiler such as perf",
    "Model": STATIC,
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("way", ["import paddle.{}", "from paddle import {}", "paddle.{}.x"])
def test_names_that_are_not_implemented(name, way):
    kind = AttributeError if way.startswith("paddle") else ModuleNotFoundError
    with pytest.raises(kind) as error:
        exec(way.format(name), {"paddle": paddle})
    assert str(error.value) == f"paddle.{name} is not implemented: {MODULES[name]}"


def test_a_module_below():
    with pytest.raises(ModuleNotFoundError, match=r"^paddle.amp is not implemented: leave it out"):
        exec("from paddle.amp import auto_cast", {})
    assert not hasattr(paddle, "amp")


def test_what_a_script_prints():
    program = "import paddle\npaddle.Model(None)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (
        done.stderr.splitlines()[-1] == f"AttributeError: paddle.Model is not implemented: {STATIC}"
    )


@pytest.mark.parametrize(
    "module, name, near",
    [
        ("paddle.static", "Executer", "Executor"),
        ("paddle", "concta", "concat"),
        ("paddle.nn", "Liner", "Linear"),
    ],
)
def test_typos(module, name, near):
    with pytest.raises(AttributeError) as error:
        getattr(importlib.import_module(module), name)
    assert str(error.value) == f'{module} has no "{name}". Did you mean {module}.{near}?'


@pytest.mark.parametrize("name", ["xyz", "ampp", "dygraph_mode_on"])
def test_suggestions_are_close_or_none(name):
    with pytest.raises(AttributeError) as error:
        getattr(paddle, name)
    assert str(error.value) == f'paddle has no "{name}".'


def test_gpus_are_counted():
    assert paddle.device.cuda.device_count() == 0
    with pytest.raises(ValueError) as error:
        paddle.device.cuda.get_device_properties()
    assert str(error.value) == (
        "get_device_properties needs a GPU, but there is none on this machine; "
        "ask paddle.device.cuda.device_count() first"
    )


# ---- the dynamic graph


@pytest.fixture
def loss():
    return paddle.mean(static.nn.fc(static.data("x", [None, 4]), 2))


@pytest.mark.parametrize("word", ["step", "clear_grad", "clear_gradients"])
def test_steps_of_an_optimizer(loss, word):
    with pytest.raises(RuntimeError) as error:
        getattr(paddle.optimizer.Adam(0.1), word)()
    assert str(error.value) == (
        f"optimizer.{word.replace('gradients', 'grad')}() is for dynamic graphs, which Flotilla "
        "does not support: call optimizer.minimize(loss) once, and Executor.run computes the "
        "gradients and the update"
    )


def test_backward_and_values(loss):
    with pytest.raises(RuntimeError) as error:
        loss.backward()
    assert str(error.value) == (
        'gradients of "mean_0.tmp_0" are appended to the program: call optimizer.minimize(loss) or '
        "paddle.static.append_backward(loss), then run the program"
    )
    with pytest.raises(TypeError) as error:
        loss.numpy()
    assert str(error.value) == (
        'variable "mean_0.tmp_0" has no value while the program is built; run the program and fetch '
        "it: executor.run(program, fetch_list=[...])"
    )


def test_values_where_a_program_is_built():
    net = paddle.nn.Linear(4, 2)
    logits = net(static.data("x", [2, 4]))
    advice = (
        "declare it with paddle.static.data, build the program with it, and feed the values to "
        "Executor.run"
    )
    loader = paddle.io.DataLoader(Samples(), batch_size=2)
    ((batch, labels),) = loader
    for call, kind, found in (
        (
            lambda: net(batch),
            ValueError,
            "a variable of the program or its name is expected, but an array of values was given",
        ),
        (
            lambda: paddle.nn.functional.cross_entropy(logits, labels),
            TypeError,
            "cross_entropy(): label must be a Variable, but is ... of type LoDTensor",
        ),
        (
            lambda: paddle.mean(np.ones(3)),
            TypeError,
            "mean(): x must be a Variable, but is array([1., 1., 1.]) of type ndarray",
        ),
    ):
        with pytest.raises(kind) as error:
            call()
        assert str(error.value) == f"{found}: {advice}"


class Samples(paddle.io.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return np.ones(4, "float32"), np.array([1])


def test_a_profiler():
    with pytest.warns(UserWarning) as warned, paddle.fluid.profiler.profiler("All"):
        pass
    assert str(warned[0].message) == (
        "fluid.profiler.profiler() writes no profile in Flotilla: use a system profiler such as "
        "perf; the report of the launcher shows where the time of a job went"
    )
    assert warned[0].filename == __file__


def test_a_learning_rate_that_is_a_text():
    with pytest.raises(TypeError) as error:
        paddle.optimizer.SGD("0.01")
    assert str(error.value) == (
        "learning_rate must be a number, a scheduler or a variable, but is of type str"
    )


class Broken(paddle.io.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        raise KeyError(f"sample {index} has no label")


def test_an_error_in_a_process_of_a_loader():
    loader = paddle.io.DataLoader(Broken(), batch_size=2, num_workers=1, return_list=True)
    with pytest.raises(KeyError, match="sample 0 has no label") as error:
        list(loader)
    text = str(error.value.__cause__)
    assert re.search(r"in worker 0 of a DataLoader \(pid \d+\):", text)
    assert re.search(r"test_name_mistakes.py.*line \d+, in __getitem__", text)
    assert "KeyError: 'sample 0 has no label'" in text


def test_tracebacks_end_in_the_users_call(loss):
    import traceback

    exe = static.Executor()
    exe.run(static.default_startup_program())
    for call in (
        lambda: exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[loss]),
        lambda: static.nn.fc(loss, "four"),
        lambda: paddle.mean("x"),
    ):
        with pytest.raises((ValueError, TypeError)) as error:
            call()
        files = [frame.filename for frame in traceback.extract_tb(error.tb)]
        # Beside the function that was called stands at most what lets it take names of other eras.
        ours = [file for file in files if "/paddle/" in file and not file.endswith("_words.py")]
        assert len(ours) == 1 and files[-1] == ours[0] and "_refusals" not in files[-1], files
