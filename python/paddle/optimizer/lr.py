"""Learning rates that follow the epoch: call ``step()`` when one ends.

The values come from the C++ core; the executor writes them to the program's variable before a run.

>>> rate = paddle.optimizer.lr.NoamDecay(d_model=512, warmup_steps=4000)
>>> paddle.optimizer.Adam(rate).minimize(loss)
>>> executor.run(program); rate.step()
"""

import _flotilla as core
from paddle._names import names_of

__all__ = [
    *("LRScheduler", "CosineAnnealingDecay", "ExponentialDecay", "InverseTimeDecay"),
    *("LambdaDecay", "LinearWarmup", "MultiStepDecay", "MultiplicativeDecay", "NaturalExpDecay"),
    *("NoamDecay", "PiecewiseDecay", "PolynomialDecay", "ReduceOnPlateau", "StepDecay"),
]


class LRScheduler:
    """A learning rate that follows the epoch: write ``get_lr``, from ``self.last_epoch``."""

    def __init__(self, learning_rate=0.1, last_epoch=-1, verbose=False):
        if not isinstance(learning_rate, (int, float)):
            kind = type(learning_rate).__name__
            raise TypeError(f"learning_rate must be a number, but is of type {kind}")
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch, self.verbose = last_epoch, verbose
        self.step()

    def __call__(self):
        return self.last_lr

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr()")

    def step(self, epoch=None):
        """Go to the next epoch, or to the one given."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()
        if self.verbose:
            word = type(self).__name__
            print(f"Epoch {self.last_epoch}: {word} set learning rate to {self.last_lr}.")

    def state_dict(self):
        """What a checkpoint keeps."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict):
        """Go on from what ``state_dict`` gave."""
        for key in ("last_epoch", "last_lr"):
            if key not in state_dict:
                raise ValueError(f'the state of {type(self).__name__} must have "{key}"')
            setattr(self, key, state_dict[key])

    set_dict = set_state_dict


class NoamDecay(LRScheduler):
    """learning_rate * d_model^-0.5 * min(t^-0.5, t * warmup_steps^-1.5)."""

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.noam(self.last_epoch, self.d_model, self.warmup_steps, self.base_lr)


class PiecewiseDecay(LRScheduler):
    """values[i] until the epoch boundaries[i]."""

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        self.boundaries, self.values = list(boundaries), list(values)
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.piecewise(self.last_epoch, self.boundaries, self.values)


class NaturalExpDecay(LRScheduler):
    """learning_rate * exp(-gamma * t)."""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.natural_exp(self.last_epoch, self.base_lr, self.gamma)


class InverseTimeDecay(LRScheduler):
    """learning_rate / (1 + gamma * t)."""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.inverse_time(self.last_epoch, self.base_lr, self.gamma)


class ExponentialDecay(LRScheduler):
    """learning_rate * gamma^t."""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.exponential(self.last_epoch, self.base_lr, self.gamma)


class PolynomialDecay(LRScheduler):
    """(learning_rate - end_lr) * (1 - t / decay_steps)^power + end_lr.

    After ``decay_steps`` it stays, or with ``cycle`` the steps grow to the next multiple.
    """

    def __init__(
        self,
        learning_rate,
        decay_steps,
        end_lr=0.0001,
        power=1.0,
        cycle=False,
        last_epoch=-1,
        verbose=False,
    ):
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        rest = (self.decay_steps, self.end_lr, self.power, self.cycle)
        return core.lr.polynomial(self.last_epoch, self.base_lr, *rest)


class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in ``warmup_steps``, then ``learning_rate``: a number or a scheduler,
    which starts then."""

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps
        self.start_lr, self.end_lr = start_lr, end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        if self.last_epoch < self.warmup_steps:
            bounds = (self.warmup_steps, self.start_lr, self.end_lr)
            return core.lr.linear_warmup(self.last_epoch, *bounds)
        if not isinstance(self.learning_rate, LRScheduler):
            return float(self.learning_rate)
        self.learning_rate.step(self.last_epoch - self.warmup_steps)
        return self.learning_rate()

    def state_dict(self):
        """What a checkpoint keeps, that of the scheduler inside too."""
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        """Go on from what ``state_dict`` gave."""
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])


class MultiStepDecay(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.multi_step(self.last_epoch, self.base_lr, self.milestones, self.gamma)


class StepDecay(LRScheduler):
    """Times gamma every ``step_size`` epochs."""

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.step(self.last_epoch, self.base_lr, self.step_size, self.gamma)


class CosineAnnealingDecay(LRScheduler):
    """eta_min + (learning_rate - eta_min) * (1 + cos(pi * t / T_max)) / 2."""

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):  # noqa: N803
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return core.lr.cosine_annealing(self.last_epoch, self.base_lr, self.T_max, self.eta_min)


class LambdaDecay(LRScheduler):
    """learning_rate * lr_lambda(t)."""

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        self.lr_lambda = _function(lr_lambda)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """learning_rate * lr_lambda(1) * ... * lr_lambda(t)."""

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        self.lr_lambda = _function(lr_lambda)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate *= self.lr_lambda(epoch)
        return rate


def _function(value):
    if not callable(value):
        raise TypeError(f"lr_lambda must be a function of the epoch, but is {value!r}")
    return value


class ReduceOnPlateau(LRScheduler):
    """Times ``factor`` when a metric, given to ``step``, stops getting better.

    >>> rate.step(loss_of_this_epoch)
    """

    def __init__(
        self,
        learning_rate,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        epsilon=1e-8,
        verbose=False,
    ):
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                "mode must be min or max and threshold_mode rel or abs, "
                f"but they are {mode!r} and {threshold_mode!r}"
            )
        if factor >= 1.0:
            raise ValueError(f"factor must be below 1, but is {factor}")
        self.base_lr, self.verbose = float(learning_rate), verbose
        self._core = core.ReduceOnPlateau(
            float(learning_rate),
            mode == "max",
            *(factor, patience, threshold, threshold_mode == "rel", cooldown, min_lr, epsilon),
        )

    @property
    def last_lr(self):
        """The learning rate."""
        return self._core.get_lr()

    @property
    def last_epoch(self):
        """How many epochs have ended."""
        return self._core.state()["last_epoch"]

    def get_lr(self):
        """The learning rate."""
        return self._core.get_lr()

    def step(self, metrics, epoch=None):
        """An epoch ended with this metric: a number or an array of one element."""
        number = metrics.item() if hasattr(metrics, "item") else float(metrics)
        if self._core.step(number, epoch) and self.verbose:
            word = type(self).__name__
            print(f"Epoch {self.last_epoch}: {word} set learning rate to {self.last_lr}.")

    def state_dict(self):
        """What a checkpoint keeps."""
        return self._core.state()

    def set_state_dict(self, state_dict):
        """Go on from what ``state_dict`` gave."""
        self._core.set_state(dict(state_dict))


from .cycles import *  # noqa: E402, F403 - they stand on LRScheduler

__getattr__, __dir__ = names_of(__name__)
