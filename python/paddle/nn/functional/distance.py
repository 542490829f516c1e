"""Losses of pairs and triples, of several labels, and of distributions."""

import math

from paddle.tensor.creation import zeros_like
from paddle.tensor.linalg import matmul, norm
from paddle.tensor.logic import equal
from paddle.tensor.manipulation import cast, reshape, squeeze, unsqueeze
from paddle.tensor.math import add, clip, maximum, minimum, multiply, subtract, sum
from paddle.tensor.ops import exp, log, sigmoid, sqrt, square
from paddle.tensor.search import where
from paddle.tensor.stat import mean

from .activation import log_sigmoid, relu
from .common import one_hot
from .loss import binary_cross_entropy_with_logits, reduced, softmax_with_cross_entropy

__all__ = [
    *("cosine_embedding_loss", "dice_loss", "gaussian_nll_loss", "hinge_embedding_loss"),
    *("margin_ranking_loss", "multi_label_soft_margin_loss", "npair_loss", "pairwise_distance"),
    *("poisson_nll_loss", "sigmoid_focal_loss", "soft_margin_loss", "triplet_margin_loss"),
    "triplet_margin_with_distance_loss",
]


def pairwise_distance(x, y, p=2.0, epsilon=1e-6, keepdim=False, name=None):
    """The p-norm of x - y + epsilon along the last axis."""
    return norm(subtract(x, y) + epsilon, float(p), -1, keepdim)


def margin_ranking_loss(input, other, label, margin=0.0, reduction="mean", name=None):
    """max(0, -label * (input - other) + margin)."""
    apart = multiply(subtract(other, input), label)
    return reduced(relu(apart + margin if margin else apart), reduction)


def hinge_embedding_loss(input, label, margin=1.0, reduction="mean", name=None):
    """input where the label is 1, max(0, margin - input) where it is -1."""
    near = where(equal(label, 1.0), input, zeros_like(input))
    far = where(equal(label, -1.0), relu(margin - input), zeros_like(input))
    return reduced(add(near, far), reduction)


def cosine_embedding_loss(input1, input2, label, margin=0, reduction="mean", name=None):
    """1 - cosine where the label is 1, max(0, cosine - margin) where it is -1."""
    tiny = 1e-12
    product = sum(multiply(input1, input2), -1)
    lengths = multiply(sum(square(input1), -1) + tiny, sum(square(input2), -1) + tiny)
    cosine = product / sqrt(lengths)
    zeros = zeros_like(cosine)
    near = where(equal(label, 1), 1.0 - cosine, zeros)
    far = where(equal(label, -1), relu(cosine - float(margin)), zeros)
    return reduced(add(near, far), reduction)


def triplet_margin_with_distance_loss(
    input,
    positive,
    negative,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
    name=None,
):
    """max(0, distance to positive - distance to negative + margin).

    ``swap``: the negative's distance is the smaller one of those to input and positive.
    """
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(relu(near - far + margin), reduction)


def triplet_margin_loss(
    input,
    positive,
    negative,
    margin=1.0,
    p=2,
    epsilon=1e-6,
    swap=False,
    reduction="mean",
    name=None,
):
    """max(0, distance to positive - distance to negative + margin), by p-norms."""

    def distance(a, b):
        return pairwise_distance(a, b, p, epsilon)

    words = (distance, margin, swap, reduction)
    return triplet_margin_with_distance_loss(input, positive, negative, *words)


def soft_margin_loss(input, label, reduction="mean", name=None):
    """log(1 + exp(-label * input))."""
    return reduced(log(exp(multiply(-cast(label, input.dtype), input)) + 1.0), reduction)


def multi_label_soft_margin_loss(input, label, weight=None, reduction="mean", name=None):
    """The mean over classes of the binary cross entropy of the sigmoid of the input."""
    yes, no = log_sigmoid(input), log_sigmoid(-input)
    loss = -(multiply(label, yes) + multiply(1.0 - label, no))
    loss = loss if weight is None else multiply(loss, weight)
    return reduced(mean(loss, -1), reduction)


def dice_loss(input, label, epsilon=0.00001, name=None):
    """1 - twice what input and label share, over the sum of both. The last axis of label is a class."""
    label = one_hot(squeeze(label, [-1]), input.shape[-1])
    axes = list(range(1, input.ndim))
    shared = sum(multiply(input, label), axes)
    whole = sum(input, axes) + sum(label, axes)
    return mean(1.0 - shared * 2.0 / (whole + epsilon))


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """The cross entropy of similarities between anchors and positives, with decay of both."""
    rows = labels.shape[0]
    same = cast(equal(reshape(labels, [rows, 1]), reshape(labels, [1, rows])), "float32")
    target = same / sum(same, 1, keepdim=True)
    decay = mean(sum(square(anchor), 1)) + mean(sum(square(positive), 1))
    similar = matmul(anchor, positive, transpose_y=True)
    loss = softmax_with_cross_entropy(similar, target, soft_label=True)
    return mean(sum(multiply(target, loss), 0)) + decay * (0.25 * l2_reg)


def poisson_nll_loss(
    input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None
):
    """exp(input) - label * input, or without ``log_input`` input - label * log(input).

    ``full`` adds Stirling's approximation where the label is above 1.
    """
    if log_input:
        loss = exp(input) - multiply(label, input)
    else:
        loss = input - multiply(label, log(input + epsilon))
    if full:
        safe = maximum(label, 1.0)
        rest = multiply(safe, log(safe)) - safe + log(safe * (2 * math.pi)) * 0.5
        loss = loss + where(label > 1.0, rest, zeros_like(label))
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input, label, variance, full=False, epsilon=1e-6, reduction="mean", name=None
):
    """Half of log(variance) + (input - label)^2 / variance; ``full`` adds half of log(2 pi)."""
    if variance.shape != input.shape and variance.ndim + 1 == input.ndim:
        variance = unsqueeze(variance, -1)
    variance = clip(variance, epsilon)
    loss = (log(variance) + square(input - label) / variance) * 0.5
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def sigmoid_focal_loss(
    logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum", name=None
):
    """The binary cross entropy of logits, less where it is right: times (1 - p)^gamma."""
    loss = binary_cross_entropy_with_logits(logit, label, reduction="none")
    right = sigmoid(logit)
    right = multiply(right, label) + multiply(1.0 - right, 1.0 - label)
    loss = multiply(
        loss, multiply(label * alpha + (1.0 - label) * (1 - alpha), (1.0 - right) ** gamma)
    )
    return reduced(loss if normalizer is None else loss / normalizer, reduction)
