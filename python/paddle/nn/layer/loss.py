"""Losses as layers."""

from paddle.nn import functional as F

from .of_function import OfTwo, layer_of

__all__ = [
    *("BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss"),
    *("NLLLoss", "SmoothL1Loss"),
]


def _loss(word, function, without=()):
    return layer_of(word, function, __name__, OfTwo, without)


BCELoss = _loss("BCELoss", F.binary_cross_entropy)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)
CrossEntropyLoss = _loss("CrossEntropyLoss", F.cross_entropy)
KLDivLoss = _loss("KLDivLoss", F.kl_div, without=["name"])
L1Loss = _loss("L1Loss", F.l1_loss)
MSELoss = _loss("MSELoss", F.mse_loss, without=["name"])
NLLLoss = _loss("NLLLoss", F.nll_loss)
SmoothL1Loss = _loss("SmoothL1Loss", F.smooth_l1_loss)
