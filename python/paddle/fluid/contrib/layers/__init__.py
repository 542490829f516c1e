"""Layers that 1.x kept aside."""

from paddle._names import names_of

from paddle.static.metric import ctr_metric_bundle  # noqa: F401

from .nn import fused_embedding_seq_pool, sparse_embedding  # noqa: F401

__getattr__, __dir__ = names_of(__name__, ["nn"])
