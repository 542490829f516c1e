"""Saves of several files: whole wherever their process is killed, listed, and within their folder."""

import os
import pathlib
import random
import shutil
import signal
import time

import numpy as np
import pytest

import paddle
from paddle import fluid, static

FULL = bool(os.environ.get("FLT_TEST_FULL"))
NAMES = [f"p{i}" for i in range(12)]


@pytest.fixture
def programs():
    return [_program(version) for version in range(2)]


def _program(version):
    """Parameters and what else is kept; the program itself says of which version it is."""
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [None, 2])
        y = paddle.scale(x, float(version))
        for i, name in enumerate(NAMES):
            if i % 3:
                y = y + static.create_parameter([2], "float32", name=name)
            else:
                var = static.create_global_var([2], 0.0, "float32", persistable=True, name=name)
                y = y + var
    return program, x, y


def _version_of(program):
    (scale,) = [op for op in program.global_block().ops if op.type == "scale"]
    return scale.attr("scale")


def _fill(value):
    for name in NAMES:
        array = np.full([2], value, "float32")
        static.global_scope().var(name).get_tensor().set(array)


def _values(names=NAMES):
    scope = static.global_scope()
    return {float(value) for name in names for value in np.array(scope.find_var(name).get_tensor())}


PARAMETERS = [name for i, name in enumerate(NAMES) if i % 3]
EXECUTOR = None  # saving needs none


def _save_inference_model(folder, program, x, y):
    static.save_inference_model(folder / "m", [x], [y], EXECUTOR, program=program)


def _load_inference_model(folder, _):
    return static.load_inference_model(folder / "m", EXECUTOR)[0]


def _fluid_save_inference_model(folder, program, x, y):
    fluid.io.save_inference_model(str(folder), ["x"], [y], EXECUTOR, program)


def _fluid_load_inference_model(folder, _):
    return fluid.io.load_inference_model(str(folder), EXECUTOR)[0]


def _fluid_save_combined_model(folder, program, x, y):
    fluid.io.save_inference_model(
        str(folder), ["x"], [y], EXECUTOR, program, params_filename="__params__"
    )


def _fluid_load_combined_model(folder, _):
    return fluid.io.load_inference_model(str(folder), EXECUTOR, params_filename="__params__")[0]


# How to save and load, and which variables.
KINDS = {
    "save_persistables": (
        lambda folder, program, x, y: fluid.io.save_persistables(EXECUTOR, folder, program),
        lambda folder, program: fluid.io.load_persistables(EXECUTOR, folder, program),
        NAMES,
    ),
    "save_params": (
        lambda folder, program, x, y: fluid.io.save_params(EXECUTOR, folder, program),
        lambda folder, program: fluid.io.load_params(EXECUTOR, folder, program),
        PARAMETERS,
    ),
    "save_vars": (
        lambda folder, program, x, y: fluid.io.save_vars(EXECUTOR, folder, program, vars=NAMES),
        lambda folder, program: static.load(program, folder),
        NAMES,
    ),
    "static.save": (
        lambda folder, program, x, y: static.save(program, folder / "m"),
        lambda folder, program: static.load(program, folder / "m"),
        NAMES,
    ),
    "static.save_inference_model": (_save_inference_model, _load_inference_model, NAMES),
    "fluid.save_inference_model": (_fluid_save_inference_model, _fluid_load_inference_model, NAMES),
    "fluid.save_inference_model, combined": (
        _fluid_save_combined_model,
        _fluid_load_combined_model,
        NAMES,
    ),
}


def _saves_for_ever(save, folder, programs, first, started):
    """In a process of its own, until it is killed."""
    try:
        for value in range(first, first + 100_000):
            _fill(value)
            save(folder, *programs[value % 2])
            if value == first:
                os.write(started, b"x")
    finally:
        os._exit(1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_save_leaves_the_old_files_or_the_new_ones(tmp_path, programs, kind):
    save, load, names = KINDS[kind]
    draw = random.Random(kind)
    seconds = 0.05
    value = 0
    for _ in range(100 if FULL else 4):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _saves_for_ever(save, tmp_path, programs, value + 1, writing)
        os.close(writing)
        begin = time.monotonic()
        assert os.read(reading, 1) == b"x"
        seconds = max(time.monotonic() - begin, 0.001)  # of one save
        time.sleep(draw.uniform(0, 2 * seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        _fill(-1)
        program = load(tmp_path, programs[0][0])
        found = _values(names)
        assert len(found) == 1, f"a mixture of saves: {sorted(found)}"
        assert found.pop() >= value + 1
        value = int(max(_values(names)))
        if program is not None:
            assert _version_of(program) == value % 2
    # What was left behind goes with the next save.
    _fill(0)
    save(tmp_path, *programs[0])
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def _start_saving(save, folder, programs, first):
    child = os.fork()
    if child == 0:
        _saves_for_ever(save, folder, programs, first, os.open(os.devnull, os.O_WRONLY))
    return child


def test_processes_that_save_into_one_folder_and_are_killed_leave_one_save(tmp_path, programs):
    save, load, names = KINDS["save_persistables"]
    draw = random.Random(1)
    _fill(0)
    save(tmp_path, *programs[0])
    children = [_start_saving(save, tmp_path, programs, 100_000 * i) for i in (1, 2, 3)]
    try:
        for life in range(100 if FULL else 6):
            time.sleep(draw.uniform(0, 0.05))
            which = draw.randrange(len(children))
            os.kill(children[which], signal.SIGKILL)
            assert os.waitpid(children[which], 0)[1] == signal.SIGKILL, "a save has failed"
            children[which] = _start_saving(save, tmp_path, programs, 100_000 * (life + 4))
            load(tmp_path, programs[0][0])
            assert len(_values(names)) == 1, "a mixture of saves"
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    save(tmp_path, *programs[0])
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


# ---- the manifest


def test_saves_into_one_folder_do_not_disturb_each_other(tmp_path, programs):
    (program, x, y), _ = programs
    _fill(1)
    fluid.io.save_persistables(EXECUTOR, tmp_path, program)
    fluid.io.save_inference_model(str(tmp_path), ["x"], [y], EXECUTOR, program)
    static.save(program, tmp_path / "one")
    static.save_inference_model(tmp_path / "one", [x], [y], EXECUTOR, program=program)
    static.save(program, tmp_path / "two")
    # One of the files alone, by other ways.
    _fill(2)
    fluid.io.save_vars(EXECUTOR, tmp_path, program, vars=["p1"])
    paddle.save(
        {name: np.full([2], 2, "float32") for name in PARAMETERS}, tmp_path / "one.pdparams"
    )
    listed = (tmp_path / "__manifest__").read_text().splitlines()
    assert listed[0] == "flotilla manifest 1"
    assert [line.split()[-1] for line in listed[1:-1]] == sorted(["__model__", *NAMES])
    assert sorted(path.name for path in tmp_path.glob("*.manifest")) == [
        *("one.manifest", "two.manifest"),
    ]
    fluid.io.load_persistables(EXECUTOR, tmp_path, program)
    assert _values(["p1"]) == {2} and _values(["p0", "p2"]) == {1}
    static.load(program, tmp_path / "one")
    assert _values(PARAMETERS) == {2}
    static.load(program, tmp_path / "two")
    assert _values(PARAMETERS) == {1}
    static.load_inference_model(tmp_path / "one", EXECUTOR)
    fluid.io.load_inference_model(str(tmp_path), EXECUTOR)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused_by_name(tmp_path, programs, kind):
    save, load, names = KINDS[kind]
    _fill(1)
    save(tmp_path, *programs[0])
    for path in sorted(tmp_path.iterdir()):
        unread = kind == "static.save" and path.name == "m.pdmodel"
        if unread or "manifest" in path.name or kind == "save_params" and path.name not in names:
            continue
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(
            ValueError, match=f"{path.name} is not the file that was saved: .*manif"
        ):
            load(tmp_path, programs[0][0])
        path.write_bytes(whole)
        load(tmp_path, programs[0][0])


def test_a_file_is_replaced_on_purpose_by_removing_the_manifest(tmp_path, programs):
    ((program, _, _), _) = programs
    for value, folder in enumerate(["old", "new"]):
        _fill(value)
        fluid.io.save_persistables(EXECUTOR, tmp_path / folder, program)
    shutil.copy(tmp_path / "new" / "p1", tmp_path / "old" / "p1")
    with pytest.raises(ValueError, match=r"if it was replaced on purpose, remove .*old/__manif"):
        fluid.io.load_persistables(EXECUTOR, tmp_path / "old", program)
    (tmp_path / "old" / "__manifest__").unlink()
    fluid.io.load_persistables(EXECUTOR, tmp_path / "old", program)
    assert _values(["p1"]) == {1} and _values(["p0", "p2"]) == {0}


def test_a_folder_without_a_manifest_loads_with_a_notice_where_it_looks_mixed(
    tmp_path, programs, capfd
):
    ((program, _, _), _) = programs
    _fill(3)
    fluid.io.save_persistables(EXECUTOR, tmp_path, program)
    (tmp_path / "__manifest__").unlink()
    _fill(0)
    fluid.io.load_persistables(EXECUTOR, tmp_path, program)
    assert _values() == {3} and "manifest" not in capfd.readouterr().err
    os.utime(tmp_path / "p4", (1, 1))
    fluid.io.load_persistables(EXECUTOR, tmp_path, program)
    assert "more than one save: 1 of 12 were written" in capfd.readouterr().err
    (tmp_path / "p4").unlink()
    with pytest.warns(UserWarning, match='files of 11 of the program\'s 12 variables; .* "p4"'):
        static.load(program, tmp_path)


def test_what_is_left_of_an_older_save_with_more_variables_is_noticed(tmp_path, programs, capfd):
    ((program, _, _), _) = programs
    _fill(1)
    fluid.io.save_persistables(EXECUTOR, tmp_path, program)
    for name in NAMES:
        os.utime(tmp_path / name, (1, 1))
    _fill(2)
    fluid.io.save_params(EXECUTOR, tmp_path, program)
    fluid.io.load_params(EXECUTOR, tmp_path, program)
    assert "more than one save" not in capfd.readouterr().err
    fluid.io.load_persistables(EXECUTOR, tmp_path, program)
    assert _values() == {1, 2}
    notice = f"{tmp_path} has files of more than one save: 4 of 12 were written"
    assert notice in capfd.readouterr().err


# ---- names


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a/../../evil", "evil/", "a\0b"])
def test_names_of_variables_do_not_lead_out_of_a_folder(tmp_path, name):
    """As a program from elsewhere may have them."""
    program = static.Program()
    block = program.global_block()
    try:
        block.create_var(name=name, shape=[2], dtype="float32", persistable=True)
    except (ValueError, RuntimeError):
        return  # so no program has it
    static.global_scope().var(name).get_tensor().set(np.ones(2, "float32"))
    folder = tmp_path / "in" / "side"
    for call, place in (
        (fluid.io.save_persistables, folder),
        (fluid.io.load_persistables, tmp_path),
    ):
        with pytest.raises(ValueError, match="cannot be the name of a saved file"):
            call(EXECUTOR, place, program)
    assert not (tmp_path / "in").exists() and not pathlib.Path("/evil").exists()
    # All in one file need no names of files.
    fluid.io.save_persistables(EXECUTOR, folder, program, filename="all")
    fluid.io.load_persistables(EXECUTOR, folder, program, filename="all")
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "__manifest__",
        "all",
        "in",
        "side",
    ]


def test_names_with_folders_within_are_saved_there(tmp_path):
    program = static.Program()
    with static.program_guard(program):
        static.create_parameter([2], "float32", name="tower/w")
    static.global_scope().var("tower/w").get_tensor().set(np.full(2, 7, "float32"))
    fluid.io.save_persistables(EXECUTOR, tmp_path, program)
    assert (tmp_path / "tower" / "w").is_file()
    static.global_scope().var("tower/w").get_tensor().set(np.zeros(2, "float32"))
    fluid.io.load_persistables(EXECUTOR, tmp_path, program)
    assert _values(["tower/w"]) == {7}
    assert list(static.load_program_state(str(tmp_path))) == ["tower/w"]


def test_files_of_a_model_may_be_named_by_paths(tmp_path, programs):
    (program, _, y), _ = programs
    _fill(4)
    model, params = str(tmp_path / "both" / "net"), str(tmp_path / "both" / "weights")
    names = {"model_filename": model, "params_filename": params}
    folder = str(tmp_path / "both")
    fluid.io.save_inference_model(folder, ["x"], [y], EXECUTOR, program, **names)
    assert sorted(os.listdir(folder)) == ["__manifest__", "net", "weights"]
    fluid.io.save_inference_model(str(tmp_path / "each"), ["x"], [y], EXECUTOR, program)
    for load, where, how in [
        (fluid.io.load_inference_model, folder, names),
        (static.load_inference_model, folder, names),
        (static.load_inference_model, str(tmp_path / "each"), {"model_filename": "__model__"}),
    ]:
        _fill(0)
        load(where, EXECUTOR, **how)
        assert _values() == {4}


# ---- folders that cannot be written to


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_that_cannot_be_written_to_loads(tmp_path, programs):
    ((program, _, _), _) = programs
    _fill(5)
    fluid.io.save_persistables(EXECUTOR, tmp_path, program)
    with open("/proc/self/status") as file:
        assert "CapEff:\t0000000000000000" not in file.read()
    for path in [tmp_path, *tmp_path.parents]:
        if os.stat(path).st_uid == 0 and not os.stat(path).st_mode & 1:
            path.chmod(0o755)
    tmp_path.chmod(0o555)
    _fill(0)
    os.seteuid(65534)
    try:
        fluid.io.load_persistables(EXECUTOR, tmp_path, program)
        with pytest.raises(ValueError, match="cannot write .*p0: Permission denied"):
            fluid.io.save_persistables(EXECUTOR, tmp_path, program)
    finally:
        os.seteuid(0)
    assert _values() == {5}
