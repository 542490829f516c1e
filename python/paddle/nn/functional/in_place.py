"""Activations with ``_`` behind their names, which compute out of place."""

from paddle._words import out_of_place

from . import activation

_WORDS = ("elu", "hardtanh", "leaky_relu", "relu", "softmax", "tanh", "thresholded_relu")
__all__ = [f"{word}_" for word in _WORDS]
globals().update({f"{word}_": out_of_place(word, getattr(activation, word)) for word in _WORDS})
