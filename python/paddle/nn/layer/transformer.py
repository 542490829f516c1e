"""Attention, and encoders and decoders made of it. Caches of a decoding are not implemented."""

import numpy as np

from paddle._words import is_floating
from paddle.nn import functional as F
from paddle.tensor.creation import assign
from paddle.tensor.linalg import matmul
from paddle.tensor.manipulation import cast, reshape, transpose
from paddle.tensor.math import scale

from .common import Dropout, Linear
from .container import LayerList
from .layers import Layer
from .norm import LayerNorm

__all__ = [
    *("MultiHeadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer"),
    *("TransformerEncoder", "TransformerEncoderLayer"),
]


def _as_summand(mask, dtype):
    """A mask as what is added to scores: where it is false or 0, a large negative number."""
    if mask is None or is_floating(mask):
        return mask
    return scale(cast(mask, dtype), 1e9, -1e9)


def _without_cache(cache):
    if cache is not None:
        raise ValueError("cache is not implemented: attention sees the whole sequence in each call")


def _attrs(attr, count):
    """One attribute for each part of a layer: the same for all, or a list of them."""
    if isinstance(attr, (list, tuple)):
        if len(attr) != count:
            raise ValueError(f"the layer has {count} parts, but {len(attr)} attributes were given")
        return list(attr)
    return [attr] * count


class MultiHeadAttention(Layer):
    """Values mixed by how well their keys fit queries, in several heads.

    ``attn_mask``: [batch, heads, queries, keys] or what repeats to it; bool or whole numbers say what
    is seen, floats are added to the scores.
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        kdim=None,
        vdim=None,
        need_weights=False,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(f"embed_dim, {embed_dim}, cannot be cut into {num_heads} heads")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.need_weights = dropout, need_weights
        attrs = {"weight_attr": weight_attr, "bias_attr": bias_attr}
        self.q_proj = Linear(embed_dim, embed_dim, **attrs)
        self.k_proj = Linear(self.kdim, embed_dim, **attrs)
        self.v_proj = Linear(self.vdim, embed_dim, **attrs)
        self.out_proj = Linear(embed_dim, embed_dim, **attrs)

    def _heads(self, x):
        """[batch, length, heads * width] as [batch, heads, length, width]."""
        return transpose(reshape(x, [0, 0, self.num_heads, self.head_dim]), [0, 2, 1, 3])

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        """What queries find; with ``need_weights`` also the weights."""
        _without_cache(cache)
        key = query if key is None else key
        value = query if value is None else value
        q, k = self._heads(self.q_proj(query)), self._heads(self.k_proj(key))
        v = self._heads(self.v_proj(value))
        scores = matmul(scale(q, self.head_dim**-0.5), k, transpose_y=True)
        mask = _as_summand(attn_mask, scores.dtype)
        weights = F.softmax(scores if mask is None else scores + mask)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, training=self.training)
        found = transpose(matmul(weights, v), [0, 2, 1, 3])
        out = self.out_proj(reshape(found, [0, 0, self.embed_dim]))
        return (out, weights) if self.need_weights else out


class _TransformerLayer(Layer):
    """What encoder and decoder layers share: attention and a net of two layers, each with a
    residual sum and a norm."""

    _attentions = ()

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
    ):
        config = {word: value for word, value in locals().items() if word != "self"}
        Layer.__init__(self)
        self._config = config
        count = len(self._attentions) + 1
        weights, biases = _attrs(weight_attr, count), _attrs(bias_attr, count)
        attn_dropout = dropout if attn_dropout is None else attn_dropout
        act_dropout = dropout if act_dropout is None else act_dropout
        self.normalize_before, self.activation = normalize_before, getattr(F, activation)
        for name, weight, bias in zip(self._attentions, weights, biases):
            words = {"dropout": attn_dropout, "weight_attr": weight, "bias_attr": bias}
            setattr(self, name, MultiHeadAttention(d_model, nhead, **words))
        self.linear1 = Linear(d_model, dim_feedforward, weights[-1], biases[-1])
        self.dropout = Dropout(act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, weights[-1], biases[-1])
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _step(self, i, x, part):
        """x + part(x), with norm i before the part or behind the sum."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        inside = norm(x) if self.normalize_before else x
        out = x + dropout(part(inside))
        return out if self.normalize_before else norm(out)

    def _net(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of a sequence to itself, then a net of two layers for each place."""

    _attentions = ("self_attn",)

    def forward(self, src, src_mask=None, cache=None):
        """[batch, length, d_model] again."""
        _without_cache(cache)
        src = self._step(1, src, lambda x: self.self_attn(x, attn_mask=src_mask))
        return self._step(2, src, self._net)


class TransformerDecoderLayer(_TransformerLayer):
    """Attention to itself, attention to what an encoder made, then a net for each place."""

    _attentions = ("self_attn", "cross_attn")

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        """[batch, length, d_model] again."""
        _without_cache(cache)
        tgt = self._step(1, tgt, lambda x: self.self_attn(x, attn_mask=tgt_mask))
        tgt = self._step(2, tgt, lambda x: self.cross_attn(x, memory, memory, memory_mask))
        return self._step(3, tgt, self._net)


class _Stack(Layer):
    """Layers made like one, one behind the other, and a norm at the end."""

    def __init__(self, layer, num_layers, norm):
        super().__init__()
        others = [type(layer)(**layer._config) for _ in range(num_layers - 1)]
        self.layers = LayerList([layer, *others])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x, *rest, cache):
        _without_cache(cache)
        for layer in self.layers:
            x = layer(x, *rest)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Encoder layers, one behind the other, and a norm at the end."""

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src, src_mask=None, cache=None):
        """[batch, length, d_model] again."""
        return self._through(src, src_mask, cache=cache)


class TransformerDecoder(_Stack):
    """Decoder layers, one behind the other, and a norm at the end."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        """[batch, length, d_model] again."""
        return self._through(tgt, memory, tgt_mask, memory_mask, cache=cache)


class Transformer(Layer):
    """An encoder of one sequence and a decoder of another that attends to it."""

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        custom_encoder=None,
        custom_decoder=None,
    ):
        super().__init__()
        words = (d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout)
        words += (normalize_before,)
        self.d_model, self.nhead = d_model, nhead
        self.encoder, self.decoder = custom_encoder, custom_decoder
        if custom_encoder is None:
            attrs = [_part(attr, (0, 2)) for attr in (weight_attr, bias_attr)]
            layer = TransformerEncoderLayer(*words, *attrs)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is None:
            attrs = [_part(attr, (0, 1, 2)) for attr in (weight_attr, bias_attr)]
            layer = TransformerDecoderLayer(*words, *attrs)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model))

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None):
        """What the decoder makes of ``tgt``, seeing ``src``."""
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, memory_mask)

    def generate_square_subsequent_mask(self, length):
        """A mask with which a place sees itself and those before it."""
        return assign(np.triu(np.full([length, length], -np.inf, "float32"), 1))


def _part(attr, places):
    """Those of three attributes (attention, attention to the encoder, net) that a layer takes."""
    return [_attrs(attr, 3)[place] for place in places] if isinstance(attr, (list, tuple)) else attr
