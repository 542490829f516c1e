"""Pools of every kind with windows, strides and paddings of all sizes, also larger than the image."""

import paddle

from .dsl import case, op, program, uniform

# 1.8 divides by the extents of a window, wherever it ends; 2.6 by what lies within the image and, at
# its end, as much padding as at its beginning.
IS_18 = paddle.__version__.startswith("1.8")

EXTENTS = (6, 5)
KINDS = [
    {"pooling_type": "max"},
    {"pooling_type": "avg", "exclusive": True},
    {"pooling_type": "avg", "exclusive": False},
]
PADDINGS = [[0, 0], [1, 1], [1, 0], [0, 1, 1, 0], [1, 0, 0, 1]]


def places(extent, size, stride, begin, end, ceil):
    """How many windows there are: the division of C, which rounds to zero."""
    return int((extent + begin + end - size + (stride - 1 if ceil else 0)) / stride) + 1


def lasts(sizes, stride, paddings, ceil):
    """Along each axis how far 2.6 counts, and where windows end; None where there are no
    windows, or some lie wholly in the padding."""
    ends = paddings if len(paddings) == 4 else [end for pad in paddings for end in (pad, pad)]
    found = []
    for axis, extent in enumerate(EXTENTS):
        begin, end = ends[2 * axis : 2 * axis + 2]
        count = places(extent, sizes[axis], stride, begin, end, ceil)
        last = (count - 1) * stride - begin
        if count < 1 or last >= extent or begin >= sizes[axis]:
            return None
        found.append((extent + begin, last + sizes[axis]))
    return found


def kinds(sizes, stride, paddings, ceil):
    """The kinds of pools that can be recorded."""
    found = lasts(sizes, stride, paddings, ceil)
    if found is None:
        return []
    return KINDS[:2] if IS_18 and any(end > padded for padded, end in found) else KINDS


def pools(name, attrs):
    """A program with a pool for each of `attrs`."""
    vars, ops = {}, []
    for i, one in enumerate(attrs):
        vars[f"x{i}"] = uniform(1, 2, *EXTENTS)
        ops.append(op("pool2d", {"X": [f"x{i}"]}, {"Out": [f"out{i}"]}, one))
    outs = [f"out{i}" for i in range(len(attrs))]
    return program(name, vars, ops, outs, grad=list(vars), seeds=outs)


def cases():
    for sizes in ([1, 1], [2, 2], [3, 3], [3, 2], [7, 7], [8, 3]):
        for stride in (1, 2, 3):
            for paddings in PADDINGS:
                window = {"ksize": sizes, "strides": [stride, stride], "paddings": paddings}
                attrs = [
                    {**window, **kind, "ceil_mode": ceil}
                    for ceil in (False, True)
                    for kind in kinds(sizes, stride, paddings, ceil)
                ]
                if attrs:
                    ends = "".join(map(str, paddings))
                    yield pools(f"pool2d.{sizes[0]}x{sizes[1]}_by{stride}_pad{ends}", attrs)
                if len(set(paddings)) == 1 and kinds(sizes, stride, paddings, False):
                    yield case(
                        f"max_pool2d_with_index.{sizes[0]}x{sizes[1]}_by{stride}_pad{paddings[0]}",
                        {"X": uniform(1, 2, *EXTENTS)},
                        "Out Mask",
                        window,
                        grad="X",
                        dtypes={"Mask": "int32"},
                    )
    for sizes in ([1, 1], [2, 3], [4, 5], [6, 5]):
        adaptive = {"ksize": sizes, "adaptive": True}
        # Both releases pool the largest by windows of that size instead, from each element on.
        attrs = [{**adaptive, **kind} for kind in KINDS[1:]]
        yield pools(f"pool2d.adaptive_{sizes[0]}x{sizes[1]}", attrs)
        yield case(
            f"max_pool2d_with_index.adaptive_{sizes[0]}x{sizes[1]}",
            {"X": uniform(1, 2, *EXTENTS)},
            "Out Mask",
            adaptive,
            grad="X",
            dtypes={"Mask": "int32"},
        )
    attrs = [{"ksize": [2, 2], "global_pooling": True, **kind} for kind in KINDS]
    yield pools("pool2d.global", attrs)
    yield case(
        "max_pool2d_with_index.global",
        {"X": uniform(1, 2, *EXTENTS)},
        "Out Mask",
        {"ksize": [2, 2], "global_pooling": True},
        grad="X",
        dtypes={"Mask": "int32"},
    )
