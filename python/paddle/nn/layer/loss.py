"""Losses as layers."""

from paddle.nn import functional as F

from .of_function import layer_of

__all__ = [
    *("BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss"),
    *("GaussianNLLLoss", "HingeEmbeddingLoss", "KLDivLoss", "L1Loss", "MSELoss"),
    *("MarginRankingLoss", "MultiLabelSoftMarginLoss", "NLLLoss", "PoissonNLLLoss"),
    *("SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"),
]


def _loss(word, function, variables=2, without=()):
    return layer_of(word, function, __name__, variables, without)


BCELoss = _loss("BCELoss", F.binary_cross_entropy)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", F.cosine_embedding_loss, 3)
CrossEntropyLoss = _loss("CrossEntropyLoss", F.cross_entropy)
GaussianNLLLoss = _loss("GaussianNLLLoss", F.gaussian_nll_loss, 3)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", F.hinge_embedding_loss)
KLDivLoss = _loss("KLDivLoss", F.kl_div, without=["name"])
L1Loss = _loss("L1Loss", F.l1_loss)
MSELoss = _loss("MSELoss", F.mse_loss, without=["name"])
MarginRankingLoss = _loss("MarginRankingLoss", F.margin_ranking_loss, 3)
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", F.multi_label_soft_margin_loss)
NLLLoss = _loss("NLLLoss", F.nll_loss)
PoissonNLLLoss = _loss("PoissonNLLLoss", F.poisson_nll_loss)
SmoothL1Loss = _loss("SmoothL1Loss", F.smooth_l1_loss)
SoftMarginLoss = _loss("SoftMarginLoss", F.soft_margin_loss)
TripletMarginLoss = _loss("TripletMarginLoss", F.triplet_margin_loss, 3)
TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss, 3
)
