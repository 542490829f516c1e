"""Learning rates by epoch: the values of real Paddle 2.6.2, states, and steps out of order."""

import math

import numpy as np
import pytest
from paddle.optimizer import lr


def values(scheduler, count):
    found = []
    for _ in range(count):
        found.append(scheduler())
        scheduler.step()
    return found


CASES = [
    (lambda: lr.PiecewiseDecay([2, 4], [0.1, 0.01, 0.001]), [0.1, 0.1, 0.01, 0.01, 0.001]),
    (
        lambda: lr.CosineAnnealingDecay(0.5, T_max=5),
        [0.5, 0.452254, 0.327254, 0.172746, 0.047746, 0, 0.047746],
    ),
    (lambda: lr.LinearWarmup(0.5, 4, 0.0, 0.5), [0, 0.125, 0.25, 0.375, 0.5, 0.5]),
    (lambda: lr.NoamDecay(64, 4), [0, 0.015625, 0.03125, 0.046875, 0.0625, 0.0559017]),
    (lambda: lr.ExponentialDecay(0.5, 0.1), [0.5, 0.05, 0.005]),
    (lambda: lr.NaturalExpDecay(0.5, 0.1), [0.5 * math.exp(-0.1 * t) for t in range(4)]),
    (lambda: lr.InverseTimeDecay(0.5, 0.1), [0.5 / (1 + 0.1 * t) for t in range(4)]),
    (lambda: lr.PolynomialDecay(0.5, 4, 0.1, 2.0), [0.5, 0.325, 0.2, 0.125, 0.1, 0.1]),
    (lambda: lr.StepDecay(0.5, 2, 0.1), [0.5, 0.5, 0.05, 0.05, 0.005]),
    (lambda: lr.MultiStepDecay(0.5, [1, 3], 0.1), [0.5, 0.05, 0.05, 0.005, 0.005]),
    (lambda: lr.LambdaDecay(0.5, lambda t: 1 / (t + 1)), [0.5, 0.25, 0.5 / 3]),
    (lambda: lr.MultiplicativeDecay(0.5, lambda t: 0.5), [0.5, 0.25, 0.125]),
    (
        lambda: lr.LinearWarmup(lr.StepDecay(0.4, 2, 0.5), 2, 0.0, 0.4),
        [0, 0.2, 0.4, 0.4, 0.2, 0.2],
    ),
    (lambda: lr.LinearLR(0.5, 4), [0.1666667, 0.25, 0.3333333, 0.4166667, 0.5, 0.5]),
    (lambda: lr.LinearLR(0.4, 5, 0.5, 0.25), [0.2, 0.18, 0.16, 0.14, 0.12, 0.1, 0.1]),
    (
        lambda: lr.CosineAnnealingWarmRestarts(0.5, 2, 2, 0.1),
        [0.5, 0.3, 0.5, 0.4414214, 0.3, 0.1585786, 0.5, 0.4847759, 0.4414214],
    ),
    (lambda: lr.CyclicLR(0.1, 0.5, 2), [0.1, 0.3, 0.5, 0.3, 0.1, 0.3]),
    (
        lambda: lr.CyclicLR(0.1, 0.5, 2, 3, "triangular2"),
        [0.1, 0.3, 0.5, 0.3666667, 0.2333333, 0.1, 0.2, 0.3, 0.2333333, 0.1666667],
    ),
    (
        lambda: lr.CyclicLR(0.1, 0.5, 2, mode="exp_range", exp_gamma=0.9),
        [0.1, 0.28, 0.424, 0.2458, 0.1, 0.218098, 0.3125764, 0.1956594],
    ),
    (
        lambda: lr.OneCycleLR(1.0, 10),
        [0.04, 0.52, 1.0, 0.9504894, 0.8117637, 0.6112993, 0.3888007, 0.1883363, 0.0496106, 0.0001],
    ),
    (
        lambda: lr.OneCycleLR(1.0, 10, 10.0, 0.01, anneal_strategy="linear", three_phase=True),
        [0.1, 0.55, 1.0, 0.55, 0.1, 0.082, 0.064, 0.046, 0.028, 0.01],
    ),
]


@pytest.mark.parametrize("make, expected", CASES, ids=[type(make()).__name__ for make, _ in CASES])
def test_values(make, expected):
    np.testing.assert_allclose(values(make(), len(expected)), expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("make, expected", CASES, ids=[type(make()).__name__ for make, _ in CASES])
def test_states_and_epochs(make, expected):
    first, second = make(), make()
    first.step()
    second.set_state_dict(first.state_dict())
    assert (second(), second.last_epoch) == (first(), 1)
    second.step(2)
    np.testing.assert_allclose(second(), expected[2], rtol=1e-5, atol=1e-12)


def test_plateau():
    rate = lr.ReduceOnPlateau(1.0, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    found = []
    for metric in [1.0, 0.9, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95]:
        rate.step(np.array([metric]))
        found.append(rate())
    assert found == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]
    other = lr.ReduceOnPlateau(1.0, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    other.set_state_dict(rate.state_dict())
    assert other() == 0.25 and other.last_epoch == rate.last_epoch


def test_it_tells_what_it_does(capsys):
    lr.ExponentialDecay(0.5, 0.1, verbose=True).step()
    assert "Epoch 1: ExponentialDecay set learning rate to 0.05." in capsys.readouterr().out


def test_own_schedules():
    class Halves(lr.LRScheduler):
        def get_lr(self):
            return self.base_lr / 2**self.last_epoch

    assert values(Halves(1.0), 3) == [1.0, 0.5, 0.25]
    with pytest.raises(NotImplementedError, match="get_lr"):
        lr.LRScheduler(0.1)


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: lr.ExponentialDecay("0.1", 0.9), TypeError),
        (lambda: lr.LambdaDecay(0.1, 3), TypeError),
        (lambda: lr.PiecewiseDecay([2], [0.1]), ValueError),
        (lambda: lr.ReduceOnPlateau(0.1, mode="least"), ValueError),
        (lambda: lr.ReduceOnPlateau(0.1, factor=1.5), ValueError),
        (lambda: lr.StepDecay(0.1, 2).set_state_dict({}), ValueError),
    ],
)
def test_wrong_arguments(make, error):
    with pytest.raises(error):
        make()
