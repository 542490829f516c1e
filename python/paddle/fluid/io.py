"""Saving and loading in the API of ``fluid.io``: a file for each variable, or one for all."""

import os

import numpy as np

import _flotilla
from paddle._rows import rows
from paddle.base.framework import is_belong_to_optimizer, is_parameter, is_persistable  # noqa: F401
from paddle.base.scope import global_scope
from paddle.static import io as _io
from paddle.static import _vars

rows(globals())


def save_params(executor, dirname, main_program=None, filename=None):
    """Write the parameters of a program."""
    _vars.save_vars(executor, dirname, main_program, None, is_parameter, filename)


def load_params(executor, dirname, main_program=None, filename=None):
    """Read the parameters of a program."""
    names = _vars.chosen(main_program, None, is_parameter)
    _vars.read(names, dirname, main_program, filename, "load_params")


def save_persistables(executor, dirname, main_program=None, filename=None):
    """Write all that a program keeps from run to run: parameters, statistics, optimizer state.

    Where servers keep parameters, they write their tables beside, for :meth:`Fleet.init_server`.
    """
    names = _vars.chosen(main_program, None, is_persistable)
    folder, filename = _vars.place(dirname, filename)
    with _flotilla.SaveSet(folder) as save:
        _vars.add(save, names, filename, leave_out=True)
        _flotilla.fleet.add_tables(save, names)


def load_persistables(executor, dirname, main_program=None, filename=None):
    """Read all that a program keeps from run to run."""
    names = _vars.chosen(main_program, None, is_persistable)
    _vars.read(names, dirname, main_program, filename, "load_persistables")


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
    program = _io.normalize_program(_vars.some_program(main_program), feeded_var_names, target_vars)
    names = _flotilla.persistable_names(program)
    _flotilla.fleet.look_up_here(program)
    with _flotilla.SaveSet(os.fspath(dirname)) as save:
        if not program_only and names:
            written = _vars.add(save, names, _base(params_filename), program, leave_out=True)
            left_out = set(names).difference(written)
            if left_out:
                _flotilla.fleet.look_up_on_servers(program, sorted(left_out))
            if left_out or with_tables:
                _flotilla.fleet.add_tables(save, names, sparse=True)
        save.add(_base(model_filename) or "__model__", program._serialize())
    return _flotilla.fetch_names(program)


def load_inference_model(
    dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None
):
    """Read an inference model; returns [program, names of its feeds, variables to fetch]."""
    _vars.check_folder("load_inference_model", dirname)
    with _flotilla.SavedFiles(os.fspath(dirname)) as files:
        model = _base(model_filename) or "__model__"
        _vars.check_file("load_inference_model", files, dirname, model)
        program = files.read_program(model)
        elsewhere = _flotilla.tables_asked(program)
        kept = [
            name for name in _vars.chosen(program, None, is_persistable) if name not in elsewhere
        ]
        _vars.load(files, kept, program, _base(params_filename))
    if elsewhere:
        _flotilla.fleet.open_tables(os.fspath(dirname), program, global_scope())
    return _io._loaded(program)


def save(program, model_path):
    """Write a program and its state: .pdmodel, .pdparams (parameters) and .pdopt (the rest)."""
    _io.save(program, model_path, protocol=2)


def get_parameter_value(para, executor):
    """The value of a parameter, as an array."""
    return np.array(global_scope().find_var(para.name).get_tensor())


def get_parameter_value_by_name(name, executor, program=None):
    """The value of the parameter of that name, as an array."""
    return get_parameter_value(_vars.some_program(program).global_block().var(name), executor)


def _base(filename):
    """An inference model stays within its folder, whatever path its files are called by."""
    return os.path.basename(filename) if filename else None
