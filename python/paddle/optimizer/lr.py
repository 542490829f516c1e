"""Learning rates that follow the epoch: call ``step()`` when one ends.

The values come from the C++ core; the executor writes them to the program's variable before a run.

>>> rate = paddle.optimizer.lr.NoamDecay(d_model=512, warmup_steps=4000)
>>> paddle.optimizer.Adam(rate).minimize(loss)
>>> executor.run(program); rate.step()
"""

import _flotilla as core
from paddle._names import names_of
from paddle._rows import rows


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
            self._tell()

    def _tell(self):
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


class _Schedule(LRScheduler):
    """A function of the core, of the epoch and the arguments, which are attributes."""

    def __init__(self, rate, last_epoch, verbose, **words):
        self._rate = rate
        self._words = ["base_lr" if word == "learning_rate" else word for word in words]
        start = words.pop("learning_rate", 0.1)
        vars(self).update(words)
        super().__init__(start, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        words = {word: getattr(self, word) for word in self._words}
        return getattr(core.lr, self._rate)(self.last_epoch, **words)


class _OneCycle(_Schedule):
    """It begins at a share of its largest rate."""

    base_lr = property(
        lambda self: self.max_learning_rate / float(self.divide_factor), lambda self, _: None
    )


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

    def get_lr(self):
        """The learning rate."""
        return self._core.get_lr()

    last_lr = property(get_lr)
    last_epoch = property(lambda self: self._core.state()["last_epoch"])

    def step(self, metrics, epoch=None):
        """An epoch ended with this metric: a number or an array of one element."""
        number = metrics.item() if hasattr(metrics, "item") else float(metrics)
        if self._core.step(number, epoch) and self.verbose:
            self._tell()

    def state_dict(self):
        """What a checkpoint keeps."""
        return self._core.state()

    def set_state_dict(self, state_dict):
        """Go on from what ``state_dict`` gave."""
        self._core.set_state(dict(state_dict))


__all__ = [*rows(globals()), "LRScheduler", "LinearWarmup", "ReduceOnPlateau"]


# 2.x has the schedules of 1.x here, too.
_OF_1X = {"autoincreased_step_counter": "paddle.fluid.layers.nn"} | dict.fromkeys(
    (
        *("cosine_decay", "exponential_decay", "inverse_time_decay", "linear_lr_warmup"),
        *("natural_exp_decay", "noam_decay", "piecewise_decay", "polynomial_decay"),
    ),
    "paddle.fluid.layers.learning_rate_scheduler",
)
__getattr__, __dir__ = names_of(__name__, elsewhere=_OF_1X)
