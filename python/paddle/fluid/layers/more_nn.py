"""Further functions of `fluid.layers.nn`."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import code
from paddle.base.framework import Variable
from paddle.fluid.layers.vision import image_resize

__all__ = [
    *rows(globals()),
    *("filter_by_instag", "image_resize_short", "lod_append", "unique"),
    "unique_with_counts",
]


def lod_append(x, level):
    """``x`` with a further level of sequences below its own: offsets, or a variable as in
    ``lod_reset``."""
    if isinstance(level, Variable):
        return core.op("lod_reset", {"X": x, "Y": level}, {"append": True})
    return core.op("lod_reset", {"X": x}, {"target_lod": list(level), "append": True})


def unique(x, dtype="int32"):
    """(the different elements of a list, in order; where each element of it stands there)."""
    return _unique("unique", x, dtype, ["Out", "Index"])


def unique_with_counts(x, dtype="int32"):
    """(the different elements of a list; where its elements stand there; how often each is in it)."""
    return _unique("unique_with_counts", x, dtype, ["Out", "Index", "Count"])


def _unique(type, x, dtype, outs):
    if str(dtype).rsplit(".", 1)[-1] not in ("int32", "int64"):
        raise TypeError(f"dtype must be int32 or int64, but is {dtype!r}")
    return tuple(core.op(type, {"X": x}, {"dtype": code(dtype)}, outs=outs, stop_gradient=True))


def filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0):
    """[the instances of ``ins`` that have one of the tags ``filter_tag``, weights of 1 for each].

    Where there is none, one row of ``out_val_if_empty`` with the weight 0. ``is_lod``: an instance
    is a sequence, not a row.
    """
    inputs = {"Ins": ins, "Ins_tag": ins_tag, "Filter_tag": filter_tag}
    attrs = {"is_lod": is_lod, "out_val_if_empty": out_val_if_empty}
    outs = ["Out", "LossWeight", "IndexMap"]
    return core.op("filter_by_instag", inputs, attrs, outs=outs)[:2]


def image_resize_short(input, out_short_len, resample="BILINEAR"):
    """Images whose shorter side has ``out_short_len`` elements."""
    sides = input.shape[2:4]
    short = min(sides)
    size = [out_short_len if a == short else int(a * out_short_len / short + 0.5) for a in sides]
    return image_resize(input, size, resample=resample)
