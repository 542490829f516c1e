"""Models that are damaged, or made to do damage: a predictor refuses them in a sentence, or predicts."""

import random
import resource
import sys

import numpy as np
import pytest
import watched
from paddle import inference, static


def saved(folder):
    """A model in `folder`: the bytes of its program and of its parameters."""
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 3])
        y = static.nn.fc(static.nn.fc(x, 4, activation="relu"), 2)
        executor = static.Executor()
        executor.run(static.default_startup_program())
        static.save_inference_model(str(folder / "m"), [x], [y], executor)
    return (folder / "m.pdmodel").read_bytes(), (folder / "m.pdiparams").read_bytes()


def predict(program, params):
    config = inference.Config()
    config.set_model_buffer(program, len(program), params, len(params))
    (scores,) = inference.create_predictor(config).run([np.ones((2, 3), "float32")])
    return np.array(scores)


def test_files_that_are_cut_off(tmp_path):
    program, params = saved(tmp_path)
    assert predict(program, params).shape == (2, 2)
    for end in (0, 1, 7, len(params) // 2, len(params) - 1):
        with pytest.raises((ValueError, RuntimeError), match="parameters|byte"):
            predict(program, params[:end])
    for end in (0, 1, len(program) // 2, len(program) - 1):
        with pytest.raises((ValueError, RuntimeError)):
            predict(program[:end], params)
    with pytest.raises((ValueError, RuntimeError)):
        predict(program, params + b"more")


def test_files_of_each_other_and_of_nobody(tmp_path):
    program, params = saved(tmp_path)
    for files in ((params, program), (b"no model", params), (program, b"\xff" * len(params))):
        with pytest.raises((ValueError, RuntimeError)):
            predict(*files)


def test_a_file_that_was_changed_after_its_save(tmp_path):
    _, params = saved(tmp_path)
    (tmp_path / "m.pdiparams").write_bytes(params[:-1] + bytes([params[-1] ^ 1]))
    config = inference.Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams"))
    with pytest.raises((ValueError, RuntimeError), match="m.pdiparams"):
        inference.create_predictor(config)


def flip_bits(folder, count):
    """How many of `count` models with one to four wrong bits are refused; run in a process of its
    own."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    files, refused = saved(folder), 0
    for seed in range(count):
        dice = random.Random(seed)
        bent = [bytearray(one) for one in files]
        data = bent[seed % 2]
        for _ in range(dice.choice([1, 1, 2, 4])):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        try:
            predict(*map(bytes, bent))
        except (ValueError, RuntimeError, TypeError, MemoryError):
            refused += 1
    print(refused)


def test_wrong_bits_never_crash(tmp_path):
    """Bits in values and in names of attributes do no harm."""
    program = f"import sys, pathlib; sys.path[:0] = {sys.path!r}\n"
    program += "import paddle; paddle.enable_static()\n"
    program += f"import test_hostile_models as t; t.flip_bits(pathlib.Path({str(tmp_path)!r}), 400)"
    done = watched.run([sys.executable, "-W", "ignore", "-c", program], seconds=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert 40 < int(done.stdout) < 400
