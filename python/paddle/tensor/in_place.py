"""Words with ``_`` behind them, which compute out of place, as those of 2.x do in static programs."""

import inspect

from paddle._words import compiled, out_of_place

from . import composed, creation, linalg, logic, manipulation, math, ops, search

_WORDS = {
    *("abs", "acos", "acosh", "add", "addmm", "asin", "asinh", "atan", "atanh", "bitwise_and"),
    *("bitwise_not", "bitwise_or", "bitwise_xor", "cast", "ceil", "clip", "cos", "cosh", "cumprod"),
    *("cumsum", "digamma", "divide", "equal", "erf", "erfinv", "exp", "expm1", "flatten", "floor"),
    *("floor_divide", "floor_mod", "frac", "gcd", "greater_equal", "greater_than", "hypot", "i0"),
    *("index_add", "index_fill", "index_put", "lcm", "ldexp", "lerp", "less_equal", "less_than"),
    *("lgamma", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or"),
    *(
        "logical_xor",
        "logit",
        "masked_fill",
        "mod",
        "multigammaln",
        "multiply",
        "nan_to_num",
        "neg",
    ),
    *("not_equal", "polygamma", "pow", "put_along_axis", "reciprocal", "remainder", "renorm"),
    *("reshape", "round", "rsqrt", "scale", "scatter", "sigmoid", "sin", "sinh", "sqrt", "square"),
    *("squeeze", "subtract", "t", "tan", "tanh", "transpose", "tril", "triu", "trunc", "unsqueeze"),
    "where",
}


def _without_out(function):
    """A function of logic or bits without its argument ``out``, which 2.x leaves out in place."""
    words = [word for word in inspect.signature(function).parameters if word not in ("out", "name")]
    words = ", ".join(words)
    body = f"return function({words}, None, name)"
    return compiled(function.__name__, f"{words}, name=None", body, function=function)


__all__ = []
for _module in (composed, creation, linalg, logic, manipulation, math, ops, search):
    for _word in sorted(_WORDS & set(_module.__all__)):
        _function = getattr(_module, _word)
        if _module is logic and _word.startswith(("logical", "bitwise")):
            _function = _without_out(_function)
        globals()[f"{_word}_"] = out_of_place(_word, _function)
        __all__.append(f"{_word}_")
