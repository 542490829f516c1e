"""Programs and models in files: reading, comparing and trying them."""

import os
import shutil
import subprocess

import numpy as np

from paddle._files import open_file
from paddle.base import message_text, proto
from paddle.base.executor import Executor
from paddle.base.framework import Program, VarKind, is_persistable
from paddle.base.lod_tensor import create_lod_tensor
from paddle.base.scope import Scope, global_scope, scope_guard
from paddle.fluid import debugger, io
from paddle.fluid.log_helper import get_logger
from paddle.static.io import save_to_file

__all__ = [
    *("load_program", "save_program", "program_type_trans", "check_saved_vars_try_dump"),
    *("parse_program", "check_pruned_program_vars", "graphviz"),
]

logger = get_logger(__name__, "INFO", fmt="%(asctime)s - %(levelname)s - %(message)s")


def load_program(model_filename, is_text=False):
    """The program of a file: of bytes, or of the text that ``save_program`` writes."""
    with open_file(model_filename, "r" if is_text else "rb") as file:
        data = file.read()
    if is_text:
        message = message_text.merge(data, proto.framework_pb2.ProgramDesc())
        data = message.SerializeToString()
    return Program.parse_from_string(data)


def save_program(program, model_filename="__model__", is_text=False):
    """Write a program: as bytes, or as the text of its message."""
    data = program._serialize()
    if is_text:
        data = str(proto.framework_pb2.ProgramDesc.FromString(data)).encode()
    save_to_file(model_filename, data)


def program_type_trans(prog_dir, prog_fn, is_text):
    """Write a program that is text as bytes, or the other way; returns the new file's name."""
    made = prog_fn + (".bin" if is_text else ".pbtxt")
    program = load_program(os.path.join(prog_dir, prog_fn), is_text)
    save_program(program, os.path.join(prog_dir, made), not is_text)
    return made


def check_pruned_program_vars(train_prog, pruned_prog):
    """Whether what a pruned program keeps from run to run is as the whole program has it."""
    block, fits = train_prog.global_block(), True
    for var in filter(is_persistable, pruned_prog.list_vars()):
        whole = block._find(var.name)
        if whole is None:
            logger.error(f'the training program has no variable "{var.name}"')
        elif (whole.shape, whole.dtype) != (var.shape, var.dtype):
            fits = False
            logger.error(
                f'"{var.name}" is {var.dtype} of {list(var.shape)} in the pruned program, but '
                f"{whole.dtype} of {list(whole.shape)} in the training program"
            )
    return fits


def graphviz(block, output_dir="", filename="debug"):
    """Write a block as a graph, ``.dot``, and where the program ``dot`` is installed as ``.pdf``."""
    path = os.path.join(output_dir, filename)
    debugger.draw_block_graphviz(block, path=path + ".dot")
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tpdf", path + ".dot", "-o", path + ".pdf"], check=True)


def parse_program(program, output_dir):
    """Write what a program consists of to files: what it keeps, all variables, and operators."""
    for name, lines in {
        "vars_persistable.log": map(_line, filter(is_persistable, program.list_vars())),
        "vars_all.log": map(_line, program.list_vars()),
        "ops.log": (
            f"{op.type}: inputs {op.desc.inputs()}, outputs {op.desc.outputs()}"
            for op in program.global_block().ops
        ),
    }.items():
        with open(os.path.join(output_dir, name), "w") as file:
            file.writelines(f"{line}\n" for line in lines)


def _line(var):
    held = f"{var.dtype} of {list(var.shape)}" if var.type == VarKind.LOD_TENSOR else var.type
    return f"{var.name}: {held}, persistable {var.persistable}, lod_level {var.lod_level}"


def check_saved_vars_try_dump(
    dump_dir,
    dump_prog_fn,
    is_text_dump_program,
    feed_config,
    fetch_config,
    batch_size=1,
    save_filename=None,
):
    """Load a saved model, compare its parameters with its program, and run it once; returns what it
    gives.

    ``feed_config``: an object with ``feeded_vars_names``, ``feeded_vars_dims``, ``feeded_vars_types``
    and ``feeded_vars_filelist``, of numbers in lines of text; without files random numbers are fed.
    ``fetch_config``: an object with ``fetch_vars_names``.
    """
    if is_text_dump_program:
        dump_prog_fn = program_type_trans(dump_dir, dump_prog_fn, True)
    executor = Executor()
    with scope_guard(Scope()):
        program, feeds, fetches = io.load_inference_model(
            dump_dir, executor, model_filename=dump_prog_fn, params_filename=save_filename
        )
        _check_values(program)
        block = program.global_block()
        names = feed_config.feeded_vars_names or feeds
        wanted = fetch_config.fetch_vars_names
        fetches = fetches if wanted is None else [block.var(name) for name in wanted]
        feed = _read_feed([block.var(name) for name in names], feed_config, batch_size)
        as_arrays = all(var.lod_level == 0 for var in fetches)
        results = executor.run(program, feed=feed, fetch_list=fetches, return_numpy=as_arrays)
    for var, value in zip(fetches, results):
        logger.info(f"{var.name}: {value}")
    return results


def _check_values(program):
    for var in filter(is_persistable, program.list_vars()):
        found = tuple(global_scope().find_var(var.name).get_tensor().shape())
        if found != var.shape:
            raise RuntimeError(
                f'the program has "{var.name}" with shape {list(var.shape)}, but the saved one has '
                f"shape {list(found)}"
            )


def _read_feed(vars, config, batch_size):
    feed = {}
    for place, var in enumerate(vars):
        extents = config.feeded_vars_dims[place]
        extents = list(extents) if isinstance(extents, (list, tuple)) else [extents]
        if extents != list(var.shape[1:]):
            raise RuntimeError(
                f'"{var.name}" has shape {list(var.shape)}, but the config says {extents} for each sample'
            )
        shape = [batch_size, *extents]
        if config.feeded_vars_filelist:
            with open_file(config.feeded_vars_filelist[place], "r") as file:
                numbers = np.array(file.read().split(), "float64")
            array = numbers[: int(np.prod(shape))].reshape(shape)
        else:
            array = np.random.random(shape)
        array = array.astype(config.feeded_vars_types[place])
        if var.lod_level == 1:
            array = create_lod_tensor(array, [[1] * batch_size], None)
        feed[var.name] = array
    return feed
