"""fleet.metrics, with the workers played by a helper that adds what a second one would give."""

import numpy as np
import paddle
import pytest
from paddle.distributed.fleet import metrics


class Alone:
    """One worker."""

    def all_reduce(self, value, mode):
        return value


class WithTwin:
    """Two workers that have counted the same."""

    def all_reduce(self, value, mode):
        return value * 2 if mode == "sum" else value


POSITIVE, NEGATIVE = np.array([[3, 1, 4, 1, 5]]), np.array([[9, 2, 6, 5, 0]])


@pytest.mark.parametrize("util", [Alone(), WithTwin()])
def test_known_values(util):
    """Paddle 2.6.2 gives these."""
    assert metrics.auc(POSITIVE, NEGATIVE, util=util) == pytest.approx(0.6785714285714286)
    assert metrics.mae(np.array([3.5]), np.array([7]), util=util) == 0.5
    assert metrics.mse(np.array([3.5]), np.array([7]), util=util) == 0.5
    assert metrics.rmse(np.array([3.5]), np.array([7]), util=util) == pytest.approx(0.5**0.5)
    assert metrics.acc(np.array([3.0]), np.array([7]), util=util) == pytest.approx(3 / 7)


def test_sums_and_extremes():
    given = np.array([1, 5])
    assert metrics.sum(given, util=WithTwin()).tolist() == [2, 10]
    assert metrics.max(given, util=WithTwin()).tolist() == [1, 5]
    assert metrics.min(given, util=WithTwin()).tolist() == [1, 5]


def test_without_samples():
    assert metrics.auc(np.zeros(4), np.zeros(4), util=Alone()) == 0.5
    assert metrics.acc(0, 0, util=Alone()) == 0.0


def test_variables_are_read_from_the_scope():
    scope = paddle.static.Scope()
    scope.var("hits").get_tensor().set(np.array([3.0], "float32"), paddle.CPUPlace())
    assert metrics.sum("hits", scope, Alone()).tolist() == [3.0]
    with pytest.raises(ValueError, match="no variable 'misses'"):
        metrics.sum("misses", scope, Alone())
