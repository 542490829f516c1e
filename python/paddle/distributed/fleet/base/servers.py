"""Jobs whose parameters live on servers: what this process does there, as worker or server."""

import os
import warnings

import _flotilla as core
import paddle.fluid.io as _io
from paddle.base import served
from paddle.base.framework import default_main_program, is_persistable
from paddle.base.scope import global_scope
from paddle.static import io as _static_io


def begin(role):
    """Tell the others that this process is there."""
    if role.is_worker():
        core.begin_worker(role)


def distribute(role, main, startup, strategy):
    """Make the programs of ``minimize`` those of a worker; a server needs no program."""
    if not role.is_worker():
        return
    begin(role)
    settings = getattr(strategy, "_transpiler_settings", None)  # in the words of 1.8
    how = settings() if settings else strategy._core
    for notice in core.apply_servers(main, startup, role, how):
        warnings.warn(notice, stacklevel=4)
    main._before_run = (*main._before_run, _connect_first)


def _connect_first(scope):
    if not core.servers_connected():
        _connect(scope)


def _connect(scope):
    core.connect_servers(scope)
    served.set_home(scope)


def connect(scope=None):
    """Connect with the parameters of ``scope``; where it has none yet, the first run connects."""
    scope = scope or global_scope()
    if core.can_connect_servers(scope):
        _connect(scope)


def load(folder, table=None):
    """Fill the tables, or one, from a worker; all of them from the server itself."""
    if table is None and not core.is_worker_of_servers():
        core.load_server(folder)
        return
    _connect_first(global_scope())
    core.load_tables(folder, table, global_scope())


def _sparse_tables():
    return [table for table in core.server_tables() if table["sparse"]]


_BATCH_MODEL = 3  # of pslib: a day's model, which has all rows


def save_persistables(executor, folder, program=None, mode=0):
    """Write what the worker keeps, with the parameters of the servers, and their tables beside."""
    program = _static_io._to_program(program) if program else default_main_program()
    core.take_dense(global_scope())
    elsewhere = {table["name"] for table in _sparse_tables()}
    kept = [var for var in program.list_vars() if is_persistable(var) and var.name not in elsewhere]
    mode = 0 if mode == _BATCH_MODEL else mode
    with core.SaveSet(os.fspath(folder)) as save:
        _io._add(save, _io._chosen(program, kept, None), None)
        core.add_tables(save, mode)
    core.tables_saved(mode)


def save_inference_model(folder, feeded_var_names, target_vars, program=None):
    """Write a model that brings its tables along, and what :meth:`Fleet.load_model` reads."""
    _io._save_inference_model(folder, feeded_var_names, target_vars, program, with_tables=True)
