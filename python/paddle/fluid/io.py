"""Saving and loading in the API of ``fluid.io``: a file for each variable, or one for all."""

import os

import numpy as np

import _flotilla as core
from paddle._names import did_you_mean
from paddle._rows import rows
from paddle.base import served
from paddle.base.framework import is_belong_to_optimizer, is_parameter, is_persistable  # noqa: F401
from paddle.base.scope import global_scope
from paddle.static import io as _io

rows(globals())

_program = _io._program


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Write variables of a program: those of ``vars``, or those for which ``predicate`` is true.

    Each goes to a file of its name in the folder ``dirname``; with ``filename`` all go to one file,
    in the order of their names.
    """
    folder, filename = _place(dirname, filename)
    with core.SaveSet(folder) as save:
        _add(save, _chosen(main_program, vars, predicate), filename)


def _add(save, names, filename, program=None, leave_out=False):
    """Add variables to a save, with the values of the servers where there are some; returns
    which."""
    names, scope = served.with_tables(names, global_scope(), program, leave_out)
    if filename is None:
        save.add_vars(names, scope)
    else:
        save.add_combined(filename, names, scope)
    return names


def load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Read what ``save_vars`` wrote."""
    _read(_chosen(main_program, vars, predicate), dirname, main_program, filename)


def _check_folder(word, dirname):
    """Refuse a folder that does not exist, before its files are asked for one by one."""
    folder = os.fspath(dirname or "")
    if folder and not os.path.isdir(folder):
        kind = "is a file" if os.path.exists(folder) else "does not exist"
        raise RuntimeError(
            f'{word}() reads the folder of an earlier save, but "{folder}" {kind} (the working '
            f"directory is {os.getcwd()})"
        )


def _check_file(word, files, folder, filename):
    if filename in files:
        return
    there = sorted(files.names())
    raise RuntimeError(
        f'{word}() reads the file "{os.path.join(folder, filename)}", which does not exist.'
        + (did_you_mean(filename, there, '"{}"') or f" The folder holds {_some(there)}")
    )


def _some(names):
    shown = ", ".join(names[:5]) or "nothing"
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _read(names, dirname, main_program, filename, word="load_vars"):
    _check_folder(word, dirname)
    folder, filename = _place(dirname, filename)
    with core.SavedFiles(folder) as files:
        if filename is not None and names:
            _check_file(word, files, folder, filename)
        _io._load(files, names, _program(main_program), filename)


def save_params(executor, dirname, main_program=None, filename=None):
    """Write the parameters of a program."""
    save_vars(executor, dirname, main_program, None, is_parameter, filename)


def load_params(executor, dirname, main_program=None, filename=None):
    """Read the parameters of a program."""
    names = _chosen(main_program, None, is_parameter)
    _read(names, dirname, main_program, filename, "load_params")


def save_persistables(executor, dirname, main_program=None, filename=None):
    """Write all that a program keeps from run to run: parameters, statistics, optimizer state.

    Where servers keep parameters, they write their tables beside, for :meth:`Fleet.init_server`.
    """
    names = _chosen(main_program, None, is_persistable)
    folder, filename = _place(dirname, filename)
    with core.SaveSet(folder) as save:
        _add(save, names, filename, leave_out=True)
        core.fleet.add_tables(save, names)


def load_persistables(executor, dirname, main_program=None, filename=None):
    """Read all that a program keeps from run to run."""
    names = _chosen(main_program, None, is_persistable)
    _read(names, dirname, main_program, filename, "load_persistables")


def save_inference_model(
    dirname,
    feeded_var_names,
    target_vars,
    executor,
    main_program=None,
    model_filename=None,
    params_filename=None,
    export_for_deployment=True,
    program_only=False,
):
    """Write what ``target_vars`` need of a program; returns the names of the targets.

    The program goes to ``__model__`` in the folder ``dirname``, each parameter to a file of its
    name, or, with ``params_filename``, all to one file. A table of servers whose ids are no rows of
    a tensor is written beside, by the servers.
    """
    return _save_inference_model(
        *(dirname, feeded_var_names, target_vars, main_program, model_filename, params_filename),
        program_only=program_only,
    )


def _save_inference_model(
    dirname,
    feeded_var_names,
    target_vars,
    main_program=None,
    model_filename=None,
    params_filename=None,
    program_only=False,
    with_tables=False,
):
    """``with_tables``: servers write theirs in any case."""
    program = _io.normalize_program(_program(main_program), feeded_var_names, target_vars)
    names = core.persistable_names(program)
    core.fleet.look_up_here(program)
    with core.SaveSet(os.fspath(dirname)) as save:
        if not program_only and names:
            written = _add(save, names, _base(params_filename), program, leave_out=True)
            left_out = set(names).difference(written)
            if left_out:
                core.fleet.look_up_on_servers(program, sorted(left_out))
            if left_out or with_tables:
                core.fleet.add_tables(save, names, sparse=True)
        save.add(_base(model_filename) or "__model__", program._serialize())
    return core.fetch_names(program)


def load_inference_model(
    dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None
):
    """Read an inference model; returns [program, names of its feeds, variables to fetch]."""
    _check_folder("load_inference_model", dirname)
    with core.SavedFiles(os.fspath(dirname)) as files:
        model = _base(model_filename) or "__model__"
        _check_file("load_inference_model", files, dirname, model)
        program = files.read_program(model)
        elsewhere = core.tables_asked(program)
        kept = [name for name in _chosen(program, None, is_persistable) if name not in elsewhere]
        _io._load(files, kept, program, _base(params_filename))
    if elsewhere:
        core.fleet.open_tables(os.fspath(dirname), program, global_scope())
    return _io._loaded(program)


def save(program, model_path):
    """Write a program and its state: .pdmodel, .pdparams (parameters) and .pdopt (the rest)."""
    _io.save(program, model_path, protocol=2)


def get_program_parameter(program):
    """The parameters of a program."""
    return [var for var in program.list_vars() if is_parameter(var)]


def get_program_persistable_vars(program):
    """The variables that a program keeps from run to run."""
    return [var for var in program.list_vars() if is_persistable(var)]


def get_parameter_value(para, executor):
    """The value of a parameter, as an array."""
    return np.array(global_scope().find_var(para.name).get_tensor())


def get_parameter_value_by_name(name, executor, program=None):
    """The value of the parameter of that name, as an array."""
    return get_parameter_value(_program(program).global_block().var(name), executor)


def _chosen(program, vars, predicate):
    """Names, sorted, as they stand in a combined file."""
    if vars is not None:
        return sorted(set(core.names_of(list(vars))))
    wanted = predicate or is_persistable
    return sorted({var.name for var in _program(program).list_vars() if wanted(var)})


def _place(dirname, filename):
    """(folder, name of the file in it); no name where every variable has a file of its own."""
    if filename is None:
        return os.fspath(dirname), None
    return os.path.split(os.path.join(os.fspath(dirname or ""), filename))


def _base(filename):
    """An inference model stays within its folder, whatever path its files are called by."""
    return os.path.basename(filename) if filename else None
