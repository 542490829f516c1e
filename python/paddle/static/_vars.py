"""Variables in files: a file for each, or one for all."""

import os

import _flotilla as core
from paddle._names import did_you_mean
from paddle.base import served
from paddle.base.executor import _program_of
from paddle.base.framework import default_main_program, is_parameter, is_persistable
from paddle.base.scope import global_scope

__all__ = ["load_vars", "save_vars"]


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Write variables of a program: those of ``vars``, or those for which ``predicate`` is true.

    Each goes to a file of its name in the folder ``dirname``; with ``filename`` all go to one file,
    in the order of their names.
    """
    folder, filename = place(dirname, filename)
    with core.SaveSet(folder) as save:
        add(save, chosen(main_program, vars, predicate), filename)


def add(save, names, filename, program=None, leave_out=False):
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
    read(chosen(main_program, vars, predicate), dirname, main_program, filename)


def check_folder(word, dirname):
    """Refuse a folder that does not exist, before its files are asked for one by one."""
    folder = os.fspath(dirname or "")
    if folder and not os.path.isdir(folder):
        kind = "is a file" if os.path.exists(folder) else "does not exist"
        raise RuntimeError(
            f'{word}() reads the folder of an earlier save, but "{folder}" {kind} (the working '
            f"directory is {os.getcwd()})"
        )


def check_file(word, files, folder, filename):
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


def read(names, dirname, main_program, filename, word="load_vars"):
    if not names:
        return
    check_folder(word, dirname)
    folder, filename = place(dirname, filename)
    with core.SavedFiles(folder) as files:
        if filename is not None:
            check_file(word, files, folder, filename)
        load(files, names, some_program(main_program), filename)


def load(files, names, program, filename):
    """Give variables the values of a file that holds all, or each that of its own."""
    if filename is None:
        files.load_vars(names, global_scope(), program.global_block())
    else:
        files.load_combined(filename, names, global_scope(), program.global_block())


def some_program(program):
    """A program, of which a compiled one may be given, or the default one."""
    return default_main_program() if program is None else _program_of(program)


def chosen(program, vars, predicate):
    """Names, sorted, as they stand in a combined file."""
    if vars is not None:
        return sorted(set(core.names_of(list(vars))))
    wanted = predicate or is_persistable
    return sorted({var.name for var in some_program(program).list_vars() if wanted(var)})


def place(dirname, filename):
    """(folder, name of the file in it); no name where every variable has a file of its own."""
    if filename is None:
        return os.fspath(dirname), None
    return os.path.split(os.path.join(os.fspath(dirname or ""), filename))


def get_program_parameter(program):
    """The parameters of a program."""
    return [var for var in program.list_vars() if is_parameter(var)]


def get_program_persistable_vars(program):
    """The variables that a program keeps from run to run."""
    return [var for var in program.list_vars() if is_persistable(var)]
