"""Mixed precision: accepted, but training runs in single precision."""

import contextlib
import warnings

from paddle.base.around import AroundOptimizer

from ..makers import create_global_var

__all__ = ["AutoMixedPrecisionLists", "CustomOpLists", "decorate", "fp16_guard"]


class AutoMixedPrecisionLists:
    """Ops that are to run in half precision, and that are not."""

    def __init__(
        self,
        custom_white_list=None,
        custom_black_list=None,
        custom_black_varnames=None,
        dtype="float16",
    ):
        both = set(custom_white_list or ()) & set(custom_black_list or ())
        if both:
            raise ValueError(f"{', '.join(sorted(both))} cannot be on both lists")
        self.white_list = set(custom_white_list or ())
        self.black_list = set(custom_black_list or ())
        self.black_varnames = custom_black_varnames


CustomOpLists = AutoMixedPrecisionLists


class OptimizerWithMixedPrecision(AroundOptimizer):
    """An optimizer that was to train in mixed precision. All it can do is the optimizer's; the loss
    is scaled with one."""

    def __init__(self, optimizer):
        super().__init__(optimizer)
        self._loss_scaling = self._scaled_loss = None

    def _scale(self):
        if self._loss_scaling is None:
            self._loss_scaling = create_global_var([1], 1.0, "float32", persistable=True)
        return self._loss_scaling

    def get_loss_scaling(self):
        """A variable that holds one."""
        return self._scale()

    def get_scaled_loss(self):
        """The loss that :meth:`minimize` or :meth:`backward` got."""
        return self._scaled_loss

    def backward(self, loss, *args, **kwargs):
        self._scaled_loss = loss
        return self._optimizer.backward(loss, *args, **kwargs)

    def minimize(self, loss, *args, **kwargs):
        self._scaled_loss = loss
        self._scale()
        return self._optimizer.minimize(loss, *args, **kwargs)

    def amp_init(self, place, scope=None, test_program=None, use_fp16_test=False):
        """Nothing to do: parameters stay in single precision."""


def decorate(
    optimizer,
    amp_lists=None,
    init_loss_scaling=2.0**15,
    incr_every_n_steps=1000,
    decr_every_n_nan_or_inf=2,
    incr_ratio=2.0,
    decr_ratio=0.8,
    use_dynamic_loss_scaling=True,
    use_pure_fp16=False,
    use_fp16_guard=None,
    use_bf16=False,
    use_promote=False,
):
    """``optimizer``, and a warning that it trains in single precision."""
    warnings.warn("mixed precision has no effect yet: training runs in float32", stacklevel=2)
    return OptimizerWithMixedPrecision(optimizer)


@contextlib.contextmanager
def fp16_guard():
    """A ``with`` block whose ops may run in half precision; they run in single precision."""
    yield
