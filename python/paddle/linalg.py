"""Matrices: their norms, products, powers, inverses, determinants and factors."""

import _flotilla as core
from paddle._rows import rows

__all__ = [*rows(globals()), "qr"]


def qr(x, mode="reduced", name=None):
    """Columns at right angles and a triangle whose product is ``x``; with the mode ``r`` the triangle.

    With the mode ``complete`` the first is square.

    >>> q, r = paddle.linalg.qr(x)
    """
    q, r = core.op("qr", {"X": x}, {"mode": mode}, outs=["Q", "R"], name=name)
    return r if mode == "r" else (q, r)
