"""Products of matrices and vectors, and norms."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import also, several

from .manipulation import reshape

__all__ = [*rows(globals()), "einsum", "inner", "matmul", "norm", "outer"]


def matmul(x, y, transpose_x=False, transpose_y=False, name=None):
    """Multiply the matrices in the last two axes; the axes before are broadcast.

    >>> paddle.matmul(x, y, transpose_y=True)
    """
    if core.writes_v1():
        attrs = {"transpose_X": transpose_x, "transpose_Y": transpose_y}
        return core.op("matmul", {"X": x, "Y": y}, attrs, name=name)
    attrs = {"trans_x": transpose_x, "trans_y": transpose_y}
    return core.op("matmul_v2", {"X": x, "Y": y}, attrs, name=name)


def outer(x, y, name=None):
    """The products of each element of ``x`` with each of ``y``."""
    left, right = reshape(x, [-1, 1]), reshape(y, [1, -1])
    return core.op("matmul_v2", {"X": left, "Y": right}, name=name, layer="outer")


def inner(x, y, name=None):
    """The inner products of the last axis of ``x`` with that of ``y``."""
    rows, columns = reshape(x, [-1, x.shape[-1]]), reshape(y, [-1, y.shape[-1]])
    made = matmul(rows, columns, transpose_y=True)
    return reshape(made, [*x.shape[:-1], *y.shape[:-1]], name)


@also(dim="axis", keep_dim="keepdim")
def norm(x, p="fro", axis=None, keepdim=False, name=None):
    """The p-norm of slices along ``axis``, or of all elements; ``p`` may be inf.

    Two axes are those of matrices and take the Frobenius norm, or any norm of their elements.
    """
    order = 2.0 if p == "fro" else float(p)
    axes = several(axis)
    if len(axes) > 1 and order != 2.0:
        raise ValueError(f"matrices have the norm p='fro' here, but p is {p!r}")
    if len(axes) > 1 or (axis is None and p == "fro"):
        attrs = {"keep_dim": keepdim, "reduce_all": axis is None, "dim": axes or [0]}
        return core.op("frobenius_norm", {"X": x}, attrs, name=name)
    attrs = {"porder": order, "keepdim": keepdim, "asvector": axis is None, "epsilon": 1e-12}
    attrs["axis"] = axes[0] if axes else -1
    return core.op("p_norm", {"X": x}, attrs, name=name)


# ---- labels of axes


def einsum(equation, *operands):
    """The sum over all labels that the result lacks: ``ij,jk->ik`` is a product of matrices.

    "..." stands for axes without a label. Without an arrow the result has the labels that occur
    once, in the order of the alphabet.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms, operands = left.split(","), list(operands)
    if len(terms) != len(operands):
        raise ValueError(
            f"{equation!r} is for {len(terms)} operands, but {len(operands)} are given"
        )
    if not arrow:
        right = _dots(left) + "".join(sorted(one for one in _letters(left) if left.count(one) == 1))
    while len(terms) > 2:
        pair, needed = terms[0] + terms[1], right + "".join(terms[2:])
        made = _dots(pair) + "".join(one for one in _letters(pair) if one in needed)
        operands[:2] = [_contract(f"{terms[0]},{terms[1]}->{made}", operands[:2])]
        terms[:2] = [made]
    return _contract(f"{','.join(terms)}->{right}", operands)


def _contract(equation, operands):
    outs = ["Out", ("InnerCache", len(operands)), ("XShape", len(operands))]
    return core.op("einsum", {"Operands": operands}, {"equation": equation}, outs=outs)[0]


def _letters(term):
    """Its labels, each once."""
    return dict.fromkeys(one for one in term if one.isalpha())


def _dots(term):
    return "..." if "..." in term else ""
