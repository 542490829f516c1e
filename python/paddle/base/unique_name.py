"""Unique names for layers and variables."""

import contextlib

import _flotilla as core

__all__ = ["generate", "switch", "guard"]


class UniqueNameGenerator:
    """Counters of its own: ``generator(key)`` gives ``<prefix><key>_<n>``."""

    def __init__(self, prefix=None):
        self.prefix = prefix or ""
        self._names = core.UniqueNames(self.prefix)  # the core's, while layers count with it

    def __call__(self, key):
        """A fresh name."""
        before = switch(self)
        try:
            return generate(key)
        finally:
            switch(before)


_current = [UniqueNameGenerator()]


def generate(key):
    """A fresh name: ``<key>_<n>``."""
    return core.unique_name(key)


def generate_with_ignorable_key(key):
    """A fresh name of something whose name nobody asks for: ``<key>_<n>`` in programs."""
    return generate(key)


def switch(new_generator=None, new_para_name_checker=None):
    """Go on with other counters, by default fresh ones; returns the counters in use before."""
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if not isinstance(new_generator, UniqueNameGenerator):
        new_generator = UniqueNameGenerator(new_generator)
    before = _current[0]
    if new_generator is before:
        return before
    before._names = core.switch_names(new_generator._names)
    _current[0] = new_generator
    return before


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
