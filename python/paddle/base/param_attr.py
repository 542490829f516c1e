"""How a parameter is made and trained."""

import _flotilla as core


class ParamAttr(core.ParamAttr):
    """The name of a parameter, how it starts, and how an optimizer treats it.

    ``learning_rate`` multiplies the optimizer's; ``regularizer`` overrides the optimizer's;
    ``need_clip``: whether the optimizer's ``grad_clip`` applies.
    """

    def __init__(
        self,
        name=None,
        initializer=None,
        learning_rate=1.0,
        regularizer=None,
        trainable=True,
        do_model_average=True,
        need_clip=True,
    ):
        super().__init__(
            name, initializer, learning_rate, regularizer, trainable, do_model_average, need_clip
        )

    @staticmethod
    def _to_attr(arg):
        """A ParamAttr from any form that layers take; False where there is to be no parameter."""
        attr = core.to_param_attr(arg)
        return False if attr is None else attr


class WeightNormParamAttr(ParamAttr):
    """A parameter g * v / |v| whose length g and direction v are learnt, as ``<name>_g`` and
    ``<name>_v``. ``dim``: the axis of which each place has a length of its own; None: one for all.

    Salimans, Kingma: Weight normalization, 2016.
    """

    def __init__(
        self,
        dim=None,
        name=None,
        initializer=None,
        learning_rate=1.0,
        regularizer=None,
        trainable=True,
        do_model_average=False,
        need_clip=True,
    ):
        words = (name, initializer, learning_rate, regularizer, trainable, do_model_average)
        axis = -1 if dim is None else dim
        core.ParamAttr.__init__(self, *words, need_clip, axis)
        self.dim = dim
