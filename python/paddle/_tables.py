"""Names that say no more than where something is, from tables: functions and classes that only hand
their arguments on, and names from elsewhere. ``NAME.api`` stands beside ``NAME.py``, which takes it in by
``rows(globals())``, or is the module alone; the comment at its beginning is the docstring then.
``__init__.api`` alone is a package.

    # a comment
    NAME(PARAMETERS) = TARGET
        The docstring; without one, what the operator says of itself.
    class NAME(PARAMETERS)(VARIABLES) = FUNCTION(NAME=VALUE, ...); OPTION; ...
    class NAME(PARAMETERS) = BASE(NAME=VALUE, ...); unused NAME, ...
    NAME = ANOTHER
    from MODULE: NAME, NAME as NAME, ...        or *, all that it offers
    holds MODULE: NAME, NAME as NAME, ...       is taken in, too, but not offered to those who take *

A line that goes on is indented by eight spaces. TARGET is an operator, or a function:

    TYPE(PLACE=VALUE, ...) -> OUT, ...; OPTION; ...
    MODULE.FUNCTION(VALUE, NAME=VALUE, ...); OPTION; ...      .FUNCTION is one of the module itself

PLACE      an input or an attribute of the operator, or several in order: ``Min|min``, a variable to the
           first and a number to the second; ``Shape|ShapeTensor[]|shape``, where numbers with
           variables among them go to the input in the middle
VALUE      an argument or a literal; ``A or B``, which is B where A is None; ``missing(A)``, whether A is
           None; ``not A``; ``cast(A, DTYPE)``; ``dtype(A)``, the number of an element type, of that
           of a variable, or where A is None of the default type
OUT        an output that is returned, or in brackets one that is only made; without any, the first
OPTION     ``layer=NAME`` stands for the type in default names; ``stop_gradient``; ``number``: one of
           the first two arguments may be a number; ``unused NAME, ...``; ``also OTHER=NAME, ...``:
           names of arguments in other eras; ``v1``: ops are written as 1.8 knows them;
           ``stop_gradient=A``: the argument says so; ``into A``: the result is copied to that variable,
           unless it is None

An argument that is named like an attribute or an input of the operator goes there unless the row says
what does; so do ``name``, ``act`` and ``out``. None leaves a place out. ``core`` is the C++ core.

The first form of a class is a layer: an object is made with PARAMETERS, which become its attributes, and
calls FUNCTION with VARIABLES; where no module is named, FUNCTION is one of ``paddle.nn.functional``. Each
further parameter of the function gets the attribute of its name, if there is one, unless the row says what
it gets: VALUE is an attribute or a literal. What the layer learns and ``training`` are attributes, too.
``...`` stands for those parameters of the function that are no variables; the function's docstring for
one that is missing. OPTION:

    NAME [EXTENT, ...] = NUMBER     the layer learns a parameter, which the argument ``NAME_attr`` describes
                                    and whose first value is NUMBER; without one, as of any parameter
    shows TEXT                      what stands in brackets when the layer is printed, with attributes in
                                    {}; by default all arguments
    unused NAME, ...                arguments for which neither the function nor a parameter has use

The other form is a class below BASE: ``BASE.__init__`` gets the arguments by their names, but for those
that are unused or that a VALUE names, and the VALUEs.
"""

import re
from typing import NamedTuple, Optional

SUFFIX = ".api"
_LINE = re.compile(
    r"^(?:(class )?(\w+)\(((?:.|\n {8})*?)\)(?:\(([\w, ]+)\))? = ((?:.|\n {8})+)\n"
    r"((?:(?: {4}.*)?\n)*)"  # a function or a class
    r"|(\w+) = (\w+)$"
    r"|(from|holds) ([\w.]+): ((?:.|\n {8})+)$"
    r"|#.*$|$)",
    re.MULTILINE,
)


class Row(NamedTuple):
    """A function of a table."""

    name: str
    parameters: list  # (name, default as it is written, or "" without one)
    target: str
    options: list
    doc: str
    line: int


class Class(NamedTuple):
    """A class of a table."""

    name: str
    parameters: list  # as a row's; [("...", "")] are those of the function
    variables: list  # what the layer is called with; none: a class below another
    target: str  # the function, or the class above
    given: dict  # what it gets besides arguments: from its word for it to a name or a literal
    options: list
    doc: str
    line: int


class Alias(NamedTuple):
    """Another name of a function, which may be of another module."""

    name: str
    other: str
    module: Optional[str] = None
    offered: bool = True  # to those who take all that the module offers


def read(path):
    """The rows and aliases of the table at ``path``, in order."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    place, line = 0, 1
    while place < len(text):
        found = _LINE.match(text, place)
        if found is None:
            raise SyntaxError(f"{path}, line {line}: neither a row, an alias nor an import")
        kind, name, parameters, variables, target, doc, *rest = found.groups()
        alias, other, word, module, imported = rest
        if name:
            target, *options = (" ".join(part.split()) for part in target.split(";"))
            doc = "\n".join(part[4:] for part in doc.rstrip().split("\n"))
            parameters = _parameters(parameters)
            if kind:
                target, _, given = target.partition("(")
                given = dict(_parameters(given.removesuffix(")")))
                yield Class(name, parameters, words(variables), target, given, options, doc, line)
            else:
                yield Row(name, parameters, target, options, doc, line)
        elif alias:
            yield Alias(alias, other)
        elif module:
            for part in imported.split(","):
                other, _, alias = part.strip().partition(" as ")
                yield Alias(alias or other, other, module, word == "from")
        end = found.end() + (not name)
        line += text.count("\n", place, end)
        place = end


def heading(path):
    """The comment at the beginning of a table."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                break
            lines.append(line[2:])
    return "".join(lines).strip()


def words(text):
    """The words between commas; none of nothing."""
    return [word.strip() for word in text.split(",")] if text else []


def _parameters(text):
    """The parameters of a signature; the commas of their defaults stand in brackets."""
    simple = "(" not in text and "[" not in text
    parts = text.split(",") if simple else re.findall(r"[^,(\[]+(?:[(\[][^)\]]*[)\]])?", text)
    pairs = (part.strip().partition("=") for part in parts if part)
    return [(name, default) for name, _, default in pairs]
