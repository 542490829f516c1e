"""What the functions of single ops are made with."""

import functools
import warnings

import _flotilla as core


def also(**others):
    """Let a function take arguments under their names of other eras: ``@also(input="x")``."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            return function(*args, **renamed(function, others, kwargs))

        call._also = others
        return call

    return decorate


def renamed(function, others, kwargs):
    """The arguments by the names that ``function`` has for them; ``others``: those of other eras."""
    for other in others.keys() & kwargs.keys():
        if others[other] in kwargs:
            raise TypeError(
                f"{function.__name__}() got the same argument twice, "
                f"as {other!r} and as {others[other]!r}"
            )
        kwargs[others[other]] = kwargs.pop(other)
    return kwargs


def writes_v1(function):
    """The function of ``fluid`` that is made of functions of 2.x: they write the ops of 1.8."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        before = core.switch_v1(True)
        try:
            return function(*args, **kwargs)
        finally:
            core.switch_v1(before)

    return call


def named(function, word, doc):
    """The function under its name in the API, and with its docstring."""
    function.__name__ = function.__qualname__ = word
    function.__doc__ = doc
    return function


_noticed = []


def out_of_place(word, function):
    """``function`` under the name ``<word>_``. A program's variables are not changed in place, so it
    gives a new one; the first call in a process says so."""

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        if not _noticed:
            _noticed.append(word)
            warnings.warn(
                f"{word}_() gives a new variable, as {word}() does, and leaves the old one as it is: "
                "in a program nothing is computed in place. So do all words that end with _",
                stacklevel=2,
            )
        return function(*args, **kwargs)

    call._also = getattr(function, "_also", {})
    return named(call, f"{word}_", f"As ``{word}``: gives a new variable, in static programs.")


def of_kind(value, kinds, said, error=TypeError):
    """``value``, unless it is not of one of these kinds: then ``said`` and its own kind are refused."""
    if not isinstance(value, kinds):
        raise error(f"{said} {type(value).__name__}")
    return value


def compiled(name, signature, body, **names):
    """The function ``name(<signature>)``: Python itself shows the signature and refuses wrong
    calls. ``names`` are what ``body`` uses besides."""
    exec(compile(f"def {name}({signature}): {body}", __file__, "exec"), names)
    return names[name]


def made_class(word, base, signature, make, doc, module, **members):
    """A class ``word(<signature>)`` below ``base``: making one calls ``make(self, **words)``."""
    body = "words = locals(); make(words.pop('self'), **words)"
    start = compiled("__init__", f"self, {signature}", body, make=make)
    start.__qualname__, start.__module__ = f"{word}.__init__", module
    return type(word, (base,), {"__init__": start, "__doc__": doc, "__module__": module, **members})


def several(value):
    """A list of one thing or many, or of none."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def code(what):
    """The number of an element type, by default of the default type."""
    return core.dtype_code(core.default_dtype() if what is None else what)


def is_floating(x):
    """Whether the elements of a variable are floating-point numbers."""
    return "float" in x.dtype_name
