"""Every name of ours that real Paddle exports too takes the arguments that Paddle's takes.

Ours may have further arguments at the end, may have a default where Paddle's has none, and may take
an argument under another era's name as well (`@also`): then the position is what counts.
"""

import importlib
import inspect
from pathlib import Path

import paddle  # noqa: F401
import pytest

RECORDED = Path(__file__).parent / "recorded"
# Bases of classes, which programs do not call, and the loader, where 2.x's serves both eras.
APART = {
    "paddle.fluid.optimizer.Optimizer",
    "paddle.fluid.metrics.MetricBase",
    "paddle.fluid.io.DataLoader",
}


def theirs(version):
    """{"paddle.static.data": [its parameters]}"""
    found = {}
    for line in (RECORDED / f"signatures_{version}.txt").read_text().splitlines():
        name, arguments = line.split("(", 1)
        scope = {}
        exec(f"def function({arguments}: pass", scope)
        found[name] = list(inspect.signature(scope["function"]).parameters.values())
    return found


def ours(name):
    """The object of that name, or None; a class of C++ shows no signature."""
    module, word = name.rsplit(".", 1)
    try:
        found = getattr(importlib.import_module(module), word)
        return found, list(inspect.signature(found).parameters.values())
    except (AttributeError, TypeError, ValueError):
        return None


def same_default(a, b):
    listed = [tuple(value) if isinstance(value, list) else value for value in (a, b)]
    return listed[0] == listed[1]


def differences(found, parameters, expected):
    words, also = {p.name: p for p in parameters}, getattr(found, "_also", {})
    for position, theirs in enumerate(expected):
        if theirs.kind in (theirs.VAR_KEYWORD, theirs.VAR_POSITIONAL):
            continue
        word = also.get(theirs.name, theirs.name)
        if word not in words:
            yield f"does not take {theirs.name}"
            continue
        wants = theirs.default is theirs.empty
        if not wants and not same_default(words[word].default, theirs.default):
            yield f"{word} is {words[word].default!r} by default, not {theirs.default!r}"
        in_order = theirs.kind == theirs.KEYWORD_ONLY or parameters[position].name == word
        if not in_order:
            yield f"{word} does not stand at {position}"


@pytest.mark.parametrize("version", ["2.6.2", "1.8.5"])
def test_signatures_are_paddles(version):
    compared, problems = 0, []
    for name, expected in theirs(version).items():
        mine = ours(name)
        if mine is None or name in APART:
            continue
        compared += 1
        problems += [f"{name}: {problem}" for problem in differences(*mine, expected)]
    assert not problems, "\n".join(problems)
    assert compared > {"2.6.2": 420, "1.8.5": 250}[version]


@pytest.mark.parametrize("version", ["2.6.2", "1.8.5"])
def test_names_are_documented(version):
    found = [(name, ours(name)) for name in theirs(version)]
    missing = [name for name, mine in found if mine is not None and not inspect.getdoc(mine[0])]
    assert missing == []
