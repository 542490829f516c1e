"""Learning rates that rise and fall; see lr.py."""

import math

from .lr import LRScheduler

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "LinearLR", "OneCycleLR"]


class LinearLR(LRScheduler):
    """learning_rate times a factor that goes from start_factor to end_factor in total_steps."""

    def __init__(
        self,
        learning_rate,
        total_steps,
        start_factor=1.0 / 3,
        end_factor=1.0,
        last_epoch=-1,
        verbose=False,
    ):
        if not 0 < start_factor <= 1:
            raise ValueError(f"start_factor must lie in (0, 1], but is {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"end_factor must lie in [0, 1], but is {end_factor}")
        if total_steps <= 0:
            raise ValueError(f"total_steps must be above zero, but is {total_steps}")
        self.total_steps, self.start_factor, self.end_factor = total_steps, start_factor, end_factor
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        share = min(self.last_epoch, self.total_steps) / self.total_steps
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * share)


class CosineAnnealingWarmRestarts(LRScheduler):
    """A half cosine from learning_rate to eta_min in T_0 epochs, then again, T_mult times as long."""

    def __init__(self, learning_rate, T_0, T_mult=1, eta_min=0, last_epoch=-1, verbose=False):
        for word, value in (("T_0", T_0), ("T_mult", T_mult)):
            if value < 1 or not isinstance(value, int):
                raise ValueError(f"{word} must be a whole number of 1 or more, but is {value}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        place, length = self.last_epoch, self.T_0
        while place >= length:
            place, length = place - length, length * self.T_mult
        height = (self.base_lr - self.eta_min) / 2
        return self.eta_min + height * (1 + math.cos(math.pi * place / length))


class CyclicLR(LRScheduler):
    """Up from base_learning_rate to max_learning_rate in step_size_up steps, and down again.

    ``mode``: ``triangular``; ``triangular2`` halves the height of each cycle; ``exp_range`` makes it
    exp_gamma^step. ``scale_fn`` of the cycle or the step (``scale_mode``) stands before the mode.
    """

    def __init__(
        self,
        base_learning_rate,
        max_learning_rate,
        step_size_up,
        step_size_down=None,
        mode="triangular",
        exp_gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        last_epoch=-1,
        verbose=False,
    ):
        modes = {
            "triangular": (lambda x: 1.0, "cycle"),
            "triangular2": (lambda x: 1 / 2.0 ** (x - 1), "cycle"),
            "exp_range": (lambda x: exp_gamma**x, "iterations"),
        }
        if scale_fn is None and mode not in modes:
            raise ValueError(f"mode must be one of {', '.join(modes)}, but is {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f'scale_mode must be "cycle" or "iterations", but is {scale_mode!r}')
        self.max_lr = float(max_learning_rate)
        self.up = float(step_size_up)
        self.down = self.up if step_size_down is None else float(step_size_down)
        if self.up <= 0 or self.down <= 0:
            raise ValueError(f"steps must be above zero, but are {self.up:g} and {self.down:g}")
        self._scale, self._over = (scale_fn, scale_mode) if scale_fn else modes[mode]
        super().__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        whole = self.up + self.down
        cycle = 1 + self.last_epoch // whole
        place = self.last_epoch - (cycle - 1) * whole
        share = place / self.up if place <= self.up else (whole - place) / self.down
        scale = self._scale(cycle if self._over == "cycle" else self.last_epoch)
        return self.base_lr + (self.max_lr - self.base_lr) * share * scale


class OneCycleLR(LRScheduler):
    """From max / divide_factor up to max in phase_pct of total_steps, then to end_learning_rate.

    ``three_phase``: first back to where it began, in as many steps as it took up.
    """

    def __init__(
        self,
        max_learning_rate,
        total_steps,
        divide_factor=25.0,
        end_learning_rate=0.0001,
        phase_pct=0.3,
        anneal_strategy="cos",
        three_phase=False,
        last_epoch=-1,
        verbose=False,
    ):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f'anneal_strategy must be "cos" or "linear", but is {anneal_strategy!r}'
            )
        if not 0 <= phase_pct <= 1 or (three_phase and phase_pct > 0.5):
            raise ValueError(f"phase_pct must be a share of the steps, but is {phase_pct}")
        if total_steps <= 0:
            raise ValueError(f"total_steps must be above zero, but is {total_steps}")
        low, high, end = (
            max_learning_rate / float(divide_factor),
            max_learning_rate,
            end_learning_rate,
        )
        rise = phase_pct * total_steps
        ends = (
            [0, rise - 1, 2 * rise - 2, total_steps - 1]
            if three_phase
            else [0, rise - 1, total_steps - 1]
        )
        self._ends, self._rates = ends, [low, high, low, end] if three_phase else [low, high, end]
        self.total_steps, self._strategy = total_steps, anneal_strategy
        super().__init__(low, last_epoch, verbose)

    def get_lr(self):
        """The learning rate of ``self.last_epoch``."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"step {step} is beyond total_steps, {self.total_steps}")
        phase = next(
            (i for i, end in enumerate(self._ends[1:]) if step <= end), len(self._ends) - 2
        )
        first, last = self._ends[phase : phase + 2]
        share = (step - first) / (last - first)
        share = (1 - math.cos(math.pi * share)) / 2 if self._strategy == "cos" else share
        start, end = self._rates[phase : phase + 2]
        return start + (end - start) * share
