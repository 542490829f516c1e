"""Losses as layers."""

from paddle.nn import functional as F

from .layers import Layer

__all__ = [
    *("BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss"),
    *("NLLLoss", "SmoothL1Loss"),
]


class _Loss(Layer):
    """A function of an input and a label with its other arguments."""

    def __init__(self, **arguments):
        super().__init__()
        self._arguments = arguments

    def forward(self, input, label):
        """The loss."""
        return self._function(input, label, **self._arguments)


class CrossEntropyLoss(_Loss):
    """-log of the probability of the label; see paddle.nn.functional.cross_entropy."""

    _function = staticmethod(F.cross_entropy)

    def __init__(
        self,
        weight=None,
        ignore_index=-100,
        reduction="mean",
        soft_label=False,
        axis=-1,
        use_softmax=True,
        label_smoothing=0.0,
        name=None,
    ):
        super().__init__(
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
            soft_label=soft_label,
            axis=axis,
            use_softmax=use_softmax,
            label_smoothing=label_smoothing,
            name=name,
        )


class MSELoss(_Loss):
    """(input - label)^2."""

    _function = staticmethod(F.mse_loss)

    def __init__(self, reduction="mean"):
        super().__init__(reduction=reduction)


class L1Loss(_Loss):
    """|input - label|."""

    _function = staticmethod(F.l1_loss)

    def __init__(self, reduction="mean", name=None):
        super().__init__(reduction=reduction, name=name)


class SmoothL1Loss(_Loss):
    """Half the square of the difference where that is below ``delta``, linear above."""

    _function = staticmethod(F.smooth_l1_loss)

    def __init__(self, reduction="mean", delta=1.0, name=None):
        super().__init__(reduction=reduction, delta=delta, name=name)


class BCELoss(_Loss):
    """-label * log(input) - (1 - label) * log(1 - input)."""

    _function = staticmethod(F.binary_cross_entropy)

    def __init__(self, weight=None, reduction="mean", name=None):
        super().__init__(weight=weight, reduction=reduction, name=name)


class BCEWithLogitsLoss(_Loss):
    """The binary cross entropy of the sigmoid of the input."""

    _function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight=None, reduction="mean", pos_weight=None, name=None):
        super().__init__(weight=weight, reduction=reduction, pos_weight=pos_weight, name=name)


class NLLLoss(_Loss):
    """-input of the label's class; the input holds logarithms of probabilities."""

    _function = staticmethod(F.nll_loss)

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", name=None):
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction, name=name)


class KLDivLoss(_Loss):
    """label * (log(label) - input); the input holds logarithms of probabilities."""

    _function = staticmethod(F.kl_div)

    def __init__(self, reduction="mean"):
        super().__init__(reduction=reduction)
