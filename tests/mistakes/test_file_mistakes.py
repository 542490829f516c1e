"""Files and folders: what is not there, belongs to another network, or has no room."""

import pathlib
import re

import numpy as np
import paddle
import pytest
from paddle import fluid, static
from paddle.distributed.fleet.base.fleet_base import Fleet


@pytest.fixture
def net(executor):
    x = static.data("x", [None, 4])
    out = static.nn.fc(x, 2)
    executor.run(static.default_startup_program())
    return x, out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_checkpoint_that_is_not_there(net, folder, said):
    first, _ = said(lambda: static.load(static.default_main_program(), "ckpt/nothere"))
    assert first == (
        "there is no ckpt/nothere.pdparams, no folder ckpt/nothere and no file ckpt/nothere "
        f"(the working directory is {folder})"
    )


@pytest.mark.parametrize("word", ["load_persistables", "load_params", "load_vars"])
def test_a_folder_that_is_not_there(net, executor, folder, said, word):
    load = getattr(fluid.io, word)
    assert said(lambda: load(executor, "nothere"), RuntimeError)[0] == (
        f'{word}() reads the folder of an earlier save, but "nothere" does not exist (the working '
        f"directory is {folder})"
    )
    (folder / "nothere").touch()
    assert '"nothere" is a file ' in said(lambda: load(executor, "nothere"), RuntimeError)[0]


def test_a_file_that_is_not_in_the_folder(net, executor, folder, said):
    fluid.io.save_persistables(executor, "ckpt", filename="all")
    assert said(lambda: fluid.io.load_persistables(executor, "ckpt", filename="al"))[0] == (
        'load_persistables() reads the file "ckpt/al", which does not exist. Did you mean "all"?'
    )
    assert said(lambda: fluid.io.load_persistables(executor, "ckpt", filename="params"))[0] == (
        'load_persistables() reads the file "ckpt/params", which does not exist. The folder holds all'
    )


def test_a_folder_for_a_server_that_is_not_there(folder, said):
    server = Fleet()  # what the folder holds is looked at before who this process is
    assert said(lambda: server.init_server("nothere"), RuntimeError)[0] == (
        'fleet.init_server() reads the folder of an earlier save, but "nothere" does not exist '
        f"(the working directory is {folder})"
    )


def test_an_inference_model_that_is_not_there(net, executor, folder, said):
    x, out = net
    static.save_inference_model("here/model", [x], [out], executor)

    def load(prefix):
        return said(lambda: static.load_inference_model(prefix, executor), RuntimeError)[0]

    reads = 'load_inference_model() reads the file "{}.pdmodel", which does not exist: '
    assert load("here/mdl") == reads.format("here/mdl") + '"here" holds model.pdmodel'
    assert load("there/model") == (
        reads.format("there/model")
        + f'there is no folder "there" (the working directory is {folder})'
    )
    assert said(lambda: fluid.io.load_inference_model("there", executor), RuntimeError)[0] == (
        'load_inference_model() reads the folder of an earlier save, but "there" does not exist '
        f"(the working directory is {folder})"
    )


def test_a_checkpoint_of_another_net(net, executor, folder, said):
    fluid.io.save_persistables(executor, "ckpt")
    with static.program_guard(static.Program(), static.Program()), paddle.utils.unique_name.guard():
        static.nn.fc(static.data("x", [None, 5]), 2)
        executor.run(static.default_startup_program())
        first, _ = said(lambda: fluid.io.load_persistables(executor, "ckpt"), ValueError)
    assert first == (
        'ckpt/fc_0.w_0 holds "fc_0.w_0" as f32[4, 2], but the program declares f32[5, 2]'
    )


def test_a_file_that_was_cut(net, executor, folder, said):
    fluid.io.save_persistables(executor, "ckpt")
    file = pathlib.Path("ckpt/fc_0.w_0")
    file.write_bytes(file.read_bytes()[:20])

    def load():
        return said(
            lambda: fluid.io.load_persistables(executor, "ckpt"), (ValueError, RuntimeError)
        )[0]

    assert re.fullmatch(
        r"ckpt/fc_0.w_0 is not the file that was saved: \d+ bytes with checksum \w+ are listed in "
        r"ckpt/__manifest__, but it has 20 bytes with checksum \w+; restore it, or, if it was "
        r"replaced on purpose, remove ckpt/__manifest__",
        load(),
    )
    pathlib.Path("ckpt/__manifest__").unlink()  # as in a folder that Paddle wrote
    assert load() == (
        "ckpt/fc_0.w_0: at byte 20 the description of a tensor takes 6 bytes, but only 0 are left"
    )


def test_a_model_carries_no_lines_of_its_source(net, executor, folder):
    x, out = net
    static.save_inference_model("plain", [x], [out], executor)
    static.save_inference_model("asked", [x], [out], executor, clip_extra=False)
    fluid.io.save_inference_model("fluid", ["x"], [out], executor)
    here = __file__.encode()
    name = pathlib.Path(__file__).name.encode()
    for file in ("plain.pdmodel", "fluid/__model__"):
        model = pathlib.Path(file).read_bytes()
        assert name not in model and b"op_callstack" not in model
    assert here in pathlib.Path("asked.pdmodel").read_bytes()
    program, feeds, targets = static.load_inference_model("plain", executor)
    feed = {feeds[0]: np.ones((2, 4), "float32")}
    assert executor.run(program, feed=feed, fetch_list=targets)[0].shape == (2, 2)
