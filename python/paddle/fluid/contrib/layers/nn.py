"""Embeddings that 1.x kept aside."""

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
    rows = _layers.embedding(
        input,
        size,
        is_sparse=is_sparse,
        padding_idx=padding_idx,
        param_attr=param_attr,
        dtype=dtype,
    )
    return _layers.sequence_pool(rows, "sum")


__getattr__, __dir__ = names_of(__name__)
