"""Functions of one tensor, element by element."""

import _flotilla as core
from paddle._words import unary

__all__ = [
    "abs",
    "acos",
    "acosh",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "isfinite",
    "isinf",
    "isnan",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stanh",
    "tan",
    "tanh",
]

abs = unary("abs", "Without the sign.")
acos = unary("acos", "The angle with this cosine.")
acosh = unary("acosh", "The inverse of cosh.")
digamma = unary("digamma", "The derivative of lgamma.")
angle = unary("angle", "pi where x is negative, else 0.")
asin = unary("asin", "The angle with this sine.")
asinh = unary("asinh", "The inverse of sinh.")
atan = unary("atan", "The angle with this tangent.")
atanh = unary("atanh", "The inverse of tanh.")
ceil = unary("ceil", "The next whole number above.")
conj = unary("conj", "x, which is no complex number.")
cos = unary("cos", "The cosine.")
cosh = unary("cosh", "The hyperbolic cosine.")
erf = unary("erf", "The error function.")
erfinv = unary("erfinv", "The number with this error function.")
exp = unary("exp", "e to the power of x.")
expm1 = unary("expm1", "e to the power of x, minus one.")
floor = unary("floor", "The next whole number below.")
i0 = unary("i0", "The modified Bessel function of the first kind and order 0.", slot="x")
i0e = unary("i0e", "exp(-|x|) i0(x).", slot="x")
i1 = unary("i1", "The modified Bessel function of the first kind and order 1.", slot="x")
i1e = unary("i1e", "exp(-|x|) i1(x).", slot="x")
lgamma = unary("lgamma", "The logarithm of the size of the gamma function.")
log = unary("log", "The natural logarithm.")
log10 = unary("log10", "The logarithm to base 10.")
log1p = unary("log1p", "The natural logarithm of 1 + x.")
log2 = unary("log2", "The logarithm to base 2.")
reciprocal = unary("reciprocal", "1 / x.")
round = unary("round", "The nearest whole number.")
rsqrt = unary("rsqrt", "1 / sqrt(x).")
sigmoid = unary("sigmoid", "1 / (1 + exp(-x)).")
sign = unary("sign", "-1, 0 or 1.")
sin = unary("sin", "The sine.")
sinh = unary("sinh", "The hyperbolic sine.")
sqrt = unary("sqrt", "The square root.")
square = unary("square", "x * x.")
tan = unary("tan", "The tangent.")
tanh = unary("tanh", "The hyperbolic tangent.")

isfinite = unary("isfinite", "Whether elements are neither infinite nor NaN.", "isfinite_v2")
isinf = unary("isinf", "Whether elements are infinite.", "isinf_v2")
isnan = unary("isnan", "Whether elements are no numbers.", "isnan_v2")


def neg(x, name=None):
    """-x."""
    return core.op("scale", {"X": x}, {"scale": -1.0}, name=name)


def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """scale_b * tanh(scale_a * x)."""
    return core.op("stanh", {"X": x}, {"scale_a": scale_a, "scale_b": scale_b}, name=name)
