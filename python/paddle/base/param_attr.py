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
