"""Embeddings that 1.x kept aside."""

import _flotilla as core
from paddle._names import names_of
from paddle.fluid import layers as _layers
from paddle.static.nn import sparse_embedding

__all__ = ["fused_embedding_seq_pool", "sparse_embedding"]


def fused_embedding_seq_pool(
    input,
    size,
    is_sparse=False,
    padding_idx=None,
    combiner="sum",
    param_attr=None,
    dtype="float32",
):
    """For each sequence of ids, the sum of their rows."""
    if combiner != "sum":
        raise ValueError(f'combiner must be "sum", but is {combiner!r}')
    if is_sparse:
        # The rows may live on parameter servers, which serve lookups.
        rows = _layers.embedding(
            input,
            size,
            is_sparse=True,
            padding_idx=padding_idx,
            param_attr=param_attr,
            dtype=dtype,
        )
        return _layers.sequence_pool(rows, "sum")
    layer = core.unique_name("fused_embedding_seq_pool")
    table = core.create_parameter(list(size), dtype, param_attr, layer=layer)
    padding = -1 if padding_idx is None else padding_idx
    attrs = {"combiner": combiner, "is_sparse": False}
    attrs["padding_idx"] = padding + size[0] if padding < -1 else padding
    inputs = {"Ids": input, "W": table}
    return core.op("fused_embedding_seq_pool", inputs, attrs, layer=layer)


__getattr__, __dir__ = names_of(__name__)
