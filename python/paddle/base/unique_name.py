"""Unique names for layers and variables."""

import contextlib

import _flotilla as core

__all__ = ["generate", "switch", "guard"]

UniqueNameGenerator = core.UniqueNames


def generate(key):
    """A fresh name: ``<key>_<n>``."""
    return core.unique_name(key)


def switch(new_generator=None, new_para_name_checker=None):
    """Go on with other counters, by default fresh ones; returns the counters in use before."""
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if not isinstance(new_generator, UniqueNameGenerator):
        new_generator = UniqueNameGenerator(new_generator or "")
    return core.switch_names(new_generator)


@contextlib.contextmanager
def guard(new_generator=None):
    """Count from zero inside the ``with`` block, with names that begin with ``new_generator``.

    Two nets built in the same way under two guards share the names of their parameters.
    """
    before = switch(new_generator)
    try:
        yield
    finally:
        switch(before)
