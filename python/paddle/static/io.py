"""Saving and loading programs and their states, in Paddle's files."""

import os
import warnings

import numpy as np

import _flotilla as core
from paddle._words import of_kind
from paddle.base import served
from paddle.base import state as states
from paddle.base.executor import _program_of
from paddle.base.framework import (
    Program,
    Variable,
    is_belong_to_optimizer,
    is_parameter,
    is_persistable,
)
from paddle.base.scope import global_scope

from ._vars import load as load_values
from ._vars import (  # noqa: F401
    get_program_parameter,
    get_program_persistable_vars,
    load_vars,
    save_vars,
    some_program,
)

__all__ = [
    *("save", "load", "save_inference_model", "load_inference_model", "normalize_program"),
    *("serialize_program", "serialize_persistables", "save_to_file", "load_from_file"),
    *("deserialize_program", "deserialize_persistables"),
    *("load_program_state", "load_vars", "save_vars", "set_program_state"),
]

# ---- inference models


def save_inference_model(path_prefix, feed_vars, fetch_vars, executor, **kwargs):
    """Write what ``fetch_vars`` need of a program, with its parameters, for inference.

    The files are ``<path_prefix>.pdmodel`` and ``<path_prefix>.pdiparams``. ``program``: instead of
    the default main program. ``clip_extra=False``: keep the lines of your program that made the
    ops, which are left out otherwise.
    """
    prefix = _prefix("path_prefix", path_prefix)
    program = _normalized(kwargs, feed_vars, fetch_vars)
    names, scope = served.with_tables(core.persistable_names(program), global_scope(), program)
    folder, stem = os.path.split(prefix)
    with core.SaveSet(folder) as save:
        if names:
            save.add_combined(stem + ".pdiparams", names, scope)
        save.add(stem + ".pdmodel", program._serialize())


def load_inference_model(path_prefix, executor, **kwargs):
    """Read an inference model; returns [program, names of its feeds, variables to fetch].

    ``model_filename``, ``params_filename``: names of files in the folder ``path_prefix``, or, where
    that is None, what the files hold.
    """
    if path_prefix is None:
        program = deserialize_program(kwargs["model_filename"])
        deserialize_persistables(program, kwargs["params_filename"], executor)
    else:
        folder, model, params = _model_files(path_prefix, **kwargs)
        with core.SavedFiles(folder) as files:
            _check_model(files, folder or ".", model)
            program = files.read_program(model)
            if names := core.persistable_names(program):
                load_values(files, names, program, params)
    return _loaded(program)


def _loaded(program):
    """What loading gives: the program, the names of its feeds, the variables to fetch."""
    targets = [program.global_block().var(name) for name in core.fetch_names(program)]
    return [program, core.feed_names(program), targets]


def _check_model(files, folder, model):
    if model in files:
        return
    if os.path.isdir(folder):
        models = [one for one in sorted(os.listdir(folder)) if one.endswith(".pdmodel")]
        found = f'"{folder}" holds ' + (", ".join(models[:5]) or "no .pdmodel file")
    else:
        found = f'there is no folder "{folder}" (the working directory is {os.getcwd()})'
    raise RuntimeError(
        f'load_inference_model() reads the file "{os.path.join(folder, model)}", which does not exist: {found}'
    )


def _model_files(path_prefix, model_filename=None, params_filename=None):
    path = os.fspath(path_prefix)
    if model_filename is None and params_filename is None:
        folder, stem = os.path.split(_prefix("path_prefix", path))
        return folder, stem + ".pdmodel", stem + ".pdiparams"
    folder, model = os.path.split(os.path.join(path, model_filename or "__model__"))
    if params_filename is None:
        return folder, model, None
    return folder, model, os.path.relpath(os.path.join(path, params_filename), folder or ".")


def normalize_program(program, feed_vars, fetch_vars, **kwargs):
    """A copy with the ops that ``fetch_vars`` need, between feed and fetch ops."""
    return core.inference_program(
        *(_program_of(program), _names("feed_vars", feed_vars), _names("fetch_vars", fetch_vars)),
        not kwargs.get("clip_extra", True),
    )


def _normalized(kwargs, feed_vars, fetch_vars):
    program, clip_extra = some_program(kwargs.get("program")), kwargs.get("clip_extra", True)
    made = normalize_program(program, feed_vars, fetch_vars, clip_extra=clip_extra)
    core.fleet.look_up_here(made)
    return made


def serialize_program(feed_vars, fetch_vars, **kwargs):
    """The bytes of a .pdmodel file. ``program``: instead of the default main program."""
    return _normalized(kwargs, feed_vars, fetch_vars)._serialize()


def serialize_persistables(feed_vars, fetch_vars, executor, **kwargs):
    """The bytes of a .pdiparams file; None where the program has no parameters."""
    program = normalize_program(some_program(kwargs.get("program")), feed_vars, fetch_vars)
    names, scope = served.with_tables(core.persistable_names(program), global_scope())
    return core.serialize_vars(names, scope) if names else None


def deserialize_program(data):
    """The program that the bytes of a .pdmodel or __model__ file hold."""
    return Program.parse_from_string(data)


def deserialize_persistables(program, data, executor):
    """Give the program's variables the values that the bytes of a .pdiparams file hold."""
    names = core.persistable_names(_program_of(program))
    if names:
        core.deserialize_vars(data, names, global_scope(), program.global_block())


def save_to_file(path, content):
    """Write bytes to a file, which appears whole or not at all."""
    core.write_file(os.fspath(path), content)


def load_from_file(path):
    """The bytes of a file."""
    return core.read_file(os.fspath(path))


# ---- states of programs


def save(program, model_path, protocol=4, **configs):
    """Write a program and its state: .pdmodel, .pdparams (parameters) and .pdopt (the rest)."""
    prefix = os.fspath(model_path)
    _check_stem("model_path", prefix)
    program = _program_of(program)
    names = [var.name for var in program.list_vars() if is_persistable(var)]
    _, scope = served.with_tables(names, global_scope())
    parameters = states.arrays_of(program, is_parameter, scope)
    others = states.arrays_of(program, is_belong_to_optimizer, scope)
    folder, stem = os.path.split(prefix)
    with core.SaveSet(folder) as save:
        save.add(stem + ".pdparams", states.to_bytes(parameters, protocol))
        save.add(stem + ".pdopt", states.to_bytes(others, protocol))
        save.add(stem + ".pdmodel", program._serialize())


def load(program, model_path, executor=None, var_list=None):
    """Give a program's variables the values that ``save`` wrote, or save_params and the like."""
    program = _program_of(program)
    prefix = os.fspath(model_path).removesuffix(".pdparams")
    folder, stem = os.path.split(prefix)
    with core.SavedFiles(folder) as files:
        if not stem or stem + ".pdparams" not in files:
            return _load_files(program, prefix, var_list)
        state = states.read_from(files, stem + ".pdparams", folder)

        # Programs that Paddle 1.8 serialized do not say which variables are parameters.
        def parameter(var):
            return is_parameter(var) or is_persistable(var) and var.name in state

        def other(var):
            return is_belong_to_optimizer(var) and not parameter(var)

        values = _values(program, prefix + ".pdparams", state, parameter)
        if any(other(var) for var in program.list_vars()):
            others = states.read_from(files, stem + ".pdopt", folder)
            values.update(_values(program, prefix + ".pdopt", others, other))
        files.notice_times()
    states.store(values)
    return None


def _values(program, path, state, wanted):
    values = states.fitting(state, program, wanted)
    missing = sorted({var.name for var in program.list_vars() if wanted(var)}.difference(values))
    if missing:
        raise ValueError(
            f'{path} has no value for "{missing[0]}"'
            + (f" and {len(missing) - 1} other variables" if missing[1:] else "")
        )
    return values


def _load_files(program, path, var_list):
    """A folder with a file for each variable, or one file for all of ``var_list``."""
    names = [var.name for var in var_list or program.list_vars() if is_persistable(var)]
    if os.path.isdir(path):
        with core.SavedFiles(path) as files:
            there = [name for name in names if name in files]
            if names and not there:
                raise ValueError(
                    f"the folder {path} holds no file of a variable of the program, "
                    f'like "{names[0]}"'
                )
            missing = sorted(set(names).difference(there))
            if missing:
                warnings.warn(
                    f"{path} has files of {len(there)} of the program's {len(names)} variables; "
                    f'the others, like "{missing[0]}", keep their values',
                    stacklevel=3,
                )
            load_values(files, there, program, None)
    elif os.path.isfile(path) and var_list is not None:
        folder, name = os.path.split(path)
        with core.SavedFiles(folder) as files:
            load_values(files, names, program, name)
    elif os.path.isfile(path):
        raise ValueError(f"{path} holds many variables: list them, in order, in var_list")
    else:
        raise ValueError(
            f"there is no {path}.pdparams, no folder {path} and no file {path} (the working directory "
            f"is {os.getcwd()})"
        )


def load_program_state(model_path, var_list=None):
    """The values that ``save`` wrote, or files of variables hold, as a dict of arrays."""
    path = os.fspath(model_path)
    prefix = path.removesuffix(".pdparams")
    folder, stem = os.path.split(prefix)
    with core.SavedFiles(folder) as files:
        if stem and stem + ".pdparams" in files:
            state = states.read_from(files, stem + ".pdparams", folder)
            found = states.without_name_table(state)
            if stem + ".pdopt" in files:
                found.update(states.read_from(files, stem + ".pdopt", folder))
            files.notice_times()
            return found
    scope, names = core.Scope(), _names("var_list", var_list)
    folder, name = (path, None) if os.path.isdir(path) else os.path.split(path)
    with core.SavedFiles(folder) as files:
        if name is None:
            names = names or files.names()
            files.load_vars(names, scope)
        else:
            files.load_combined(name, names, scope)
    return {name: np.array(scope.find_var(name).get_tensor()) for name in names}


def set_program_state(program, state_dict):
    """Give a program's variables the values of a dict; names it does not have are left out."""
    states.store(states.fitting(state_dict, _program_of(program)))


# ---- arguments


def _check_stem(what, path):
    if not os.path.basename(path):
        raise ValueError(f'{what} must end with the name of a file, but is "{path}"')


def _prefix(what, path):
    path = os.fspath(path)
    _check_stem(what, path)
    if os.path.isdir(path):
        raise ValueError(f'{what} must be a prefix of file names, but "{path}" is a folder')
    return path


def _names(what, vars):
    """Names of variables; a list, a single one or nothing."""
    several = vars if isinstance(vars, (list, tuple)) else [] if vars is None else [vars]
    for var in several:
        of_kind(
            var, (str, Variable), f"{what} must be variables of the program, but one is of type"
        )
    return core.names_of(several)
