"""Variables whose values parameter servers keep, for those who want to save them."""

import warnings

import _flotilla as core


def with_tables(names, scope, program=None, leave_out=False):
    """(names, scope): ``scope``, or one with the values as the servers have them.

    ``program`` learns how many rows tables have. A table whose ids are no rows of a tensor is an
    error, or, with ``leave_out``, a warning and one name less.
    """
    names, full, notices = core.fleet.values_of(names, scope, program, leave_out)
    for notice in notices:
        warnings.warn(notice, stacklevel=4)
    return names, full or scope
