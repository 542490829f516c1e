"""Further functions of `fluid.layers.nn`."""

import _flotilla as core
from paddle._words import code, several
from paddle.base.framework import Variable
from paddle.fluid.layers.vision import image_resize
from paddle.static.nn.crf import crf_decoding, linear_chain_crf  # noqa: F401
from paddle.static.nn.products import bilinear_tensor_product, row_conv  # noqa: F401
from paddle.static.nn.transposed import conv2d_transpose  # noqa: F401
from paddle.static.functions import py_func  # noqa: F401

__all__ = [
    *("bilinear_tensor_product", "chunk_eval", "conv2d_transpose", "crf_decoding"),
    *("affine_channel", "filter_by_instag", "fsp_matrix", "gaussian_random_batch_size_like"),
    *("image_resize_short", "pad_constant_like"),
    *("hash", "linear_chain_crf", "lod_append", "lod_reset", "lrn", "multiplex", "py_func"),
    *("row_conv", "sampling_id", "unique", "unique_with_counts"),
]


def lod_reset(x, y=None, target_lod=None):
    """``x`` with other sequences: those of ``y``, or the offsets that ``y`` or ``target_lod``
    holds."""
    if y is not None:
        return core.op("lod_reset", {"X": x, "Y": y})
    if target_lod is None:
        raise ValueError("lod_reset needs y or target_lod")
    return core.op("lod_reset", {"X": x}, {"target_lod": list(target_lod)})


def lod_append(x, level):
    """``x`` with a further level of sequences below its own: offsets, or a variable as in
    ``lod_reset``."""
    if isinstance(level, Variable):
        return core.op("lod_reset", {"X": x, "Y": level}, {"append": True})
    return core.op("lod_reset", {"X": x}, {"target_lod": list(level), "append": True})


def hash(input, hash_size, num_hash=1, name=None):
    """``num_hash`` numbers in [0, hash_size) for each row of ids, [rows, num_hash, 1]."""
    attrs = {"num_hash": num_hash, "mod_by": hash_size}
    return core.op("hash", {"X": input}, attrs, name=name, stop_gradient=True)


def multiplex(inputs, index):
    """Rows, each from the variable of ``inputs`` that ``index`` names for it."""
    return core.op("multiplex", {"X": inputs, "Ids": index})


def lrn(input, n=5, k=1.0, alpha=1e-4, beta=0.75, name=None, data_format="NCHW"):
    """Elements of images divided by what the ``n`` channels around them hold."""
    attrs = {"n": n, "k": float(k), "alpha": float(alpha), "beta": float(beta)}
    attrs["data_format"] = data_format
    return core.op("lrn", {"X": input}, attrs, name=name, outs=["Out", "MidOut"])[0]


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


def gaussian_random_batch_size_like(
    input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype="float32"
):
    """Normally distributed numbers of ``shape``, with one extent of ``input``."""
    attrs = {"shape": list(shape), "input_dim_idx": input_dim_idx}
    attrs.update(output_dim_idx=output_dim_idx, mean=float(mean), std=float(std), seed=seed)
    attrs["dtype"] = code(dtype)
    return core.op("gaussian_random_batch_size_like", {"Input": input}, attrs)


def sampling_id(x, min=0.0, max=1.0, seed=0, dtype="float32"):
    """A column of each row, drawn by the probabilities in it."""
    attrs = {"min": float(min), "max": float(max), "seed": seed}
    return core.op("sampling_id", {"X": x}, attrs, stop_gradient=True)


def chunk_eval(
    input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None
):
    """(precision, recall, F1, chunks found, chunks that are right, chunks found that are right).

    Tags are type * kinds + kind: ``IOB``, ``IOE``, ``IOBES`` or ``plain``.
    """
    inputs = {"Inference": input, "Label": label, "SeqLength": several(seq_length)}
    attrs = {
        "num_chunk_types": num_chunk_types,
        "chunk_scheme": chunk_scheme,
        "excluded_chunk_types": excluded_chunk_types or [],
    }
    outs = ["Precision", "Recall", "F1-Score"]
    outs += ["NumInferChunks", "NumLabelChunks", "NumCorrectChunks"]
    return tuple(core.op("chunk_eval", inputs, attrs, outs=outs, stop_gradient=True))


def filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0):
    """[the instances of ``ins`` that have one of the tags ``filter_tag``, weights of 1 for each].

    Where there is none, one row of ``out_val_if_empty`` with the weight 0. ``is_lod``: an instance
    is a sequence, not a row.
    """
    inputs = {"Ins": ins, "Ins_tag": ins_tag, "Filter_tag": filter_tag}
    attrs = {"is_lod": is_lod, "out_val_if_empty": out_val_if_empty}
    outs = ["Out", "LossWeight", "IndexMap"]
    return core.op("filter_by_instag", inputs, attrs, outs=outs)[:2]


def affine_channel(x, scale=None, bias=None, data_layout="NCHW", name=None, act=None):
    """Each channel of images times a number of ``scale``, plus one of ``bias``."""
    inputs, attrs = {"X": x, "Scale": scale, "Bias": bias}, {"data_layout": data_layout}
    return core.op("affine_channel", inputs, attrs, name=name, act=act)


def fsp_matrix(x, y):
    """How the channels of two images go together: the means of their products, [N, Cx, Cy]."""
    return core.op("fsp", {"X": x, "Y": y})


def pad_constant_like(x, y, pad_value=0.0, name=None):
    """``y`` with ``pad_value`` behind it along each axis, up to the extents of ``x``."""
    attrs = {"pad_value": float(pad_value)}
    return core.op("pad_constant_like", {"X": x, "Y": y}, attrs, name=name)


def image_resize_short(input, out_short_len, resample="BILINEAR"):
    """Images whose shorter side has ``out_short_len`` elements."""
    sides = input.shape[2:4]
    short = min(sides)
    size = [out_short_len if a == short else int(a * out_short_len / short + 0.5) for a in sides]
    return image_resize(input, size, resample=resample)
