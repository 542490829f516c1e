"""Variables whose values parameter servers keep, for those who want to save them."""

import warnings

import numpy as np

import _flotilla as core

from .framework import Program
from .place import CPUPlace
from .scope import Scope, global_scope


_home = []  # the scope in which this worker trains


def set_home(scope):
    """Say in which scope this worker trains: what is saved from there is what the servers have."""
    _home[:] = [scope]


def tables_among(names):
    """The sparse tables of the servers that are among ``names``."""
    if not core.servers_connected():
        return []
    names = set(names)
    return [one["name"] for one in core.server_tables() if one["sparse"] and one["name"] in names]


def any_of(names):
    """Whether servers keep one of the variables."""
    if not core.servers_connected():
        return False
    return not {one for table in core.server_tables() for one in table["params"]}.isdisjoint(names)


def rows_elsewhere(program, scope):
    """Whether a program has tables of the servers of which ``scope`` has no rows."""
    return any(_lacks_rows(name, scope) for name in tables_among(program.global_block().vars))


def _lacks_rows(name, scope):
    """The startup program of a worker makes a table without rows."""
    found = scope.find_var(name)
    return found is None or not found.is_initialized() or found.get_tensor().shape()[0] == 0


def looking_there(program):
    """A copy whose lookups ask the servers."""
    made = program.clone()
    core.look_up_on_servers(made)
    return made


def look_up_here(program):
    """Let a copy of a worker's program look rows up in variables of its own."""
    if core.servers_connected():
        core.look_up_here(program)


def tables_asked(program):
    """The tables of which a program has no rows: it asks those who have them."""
    asked = [op for op in program.global_block().ops if op.type == "distributed_lookup_table"]
    return {name for op in asked for name in op.input("W")}


def open_tables(folder, program, names):
    """Let a loaded program look rows up in what servers saved in ``folder``; on a worker of servers
    it asks them."""
    for name in names:
        width = program.global_block().var(name).shape[1]
        global_scope().var(name).get_tensor().set(np.zeros((0, width), "float32"), CPUPlace())
    if not core.is_worker_of_servers():
        core.open_tables(folder)


def with_tables(names, scope, program=None, leave_out=False):
    """(names, scope): ``scope``, or one with the values as the servers have them.

    ``program`` learns how many rows tables have. A table whose ids are no rows of a tensor is an
    error, or, with ``leave_out``, a warning and one name less.
    """
    at_home = bool(_home) and _home[0] is scope
    tables = [one for one in tables_among(names) if at_home or _lacks_rows(one, scope)]
    if tables or (at_home and any_of(names)):
        try:
            core.take_dense(scope)
        except RuntimeError as error:
            if tables or "has left its servers" not in str(error):
                raise  # else the scope has what the servers had when this worker left them
    if not tables:
        return names, scope
    full = Scope()
    for name in names:
        found = None if name in tables else scope.find_var(name)
        if found is not None:
            full.var(name).set_tensor(found.get_tensor())
    left_out = set()
    for name in tables:
        try:
            core.bring_table(name, program or _program_with(name), full)
        except ValueError as error:
            if not leave_out:
                raise
            warnings.warn(f"{name} is not saved as a file: {error}", stacklevel=4)
            left_out.add(name)
    return [name for name in names if name not in left_out], full


def _program_with(name):
    program = Program()
    program.global_block().create_var(name=name)
    return program
