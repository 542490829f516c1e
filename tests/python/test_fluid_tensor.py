"""Random tensors in the words of 1.8, which no recording can hold."""

import numpy as np
import pytest
import paddle.fluid as fluid
from paddle.fluid import layers


def test_random_numbers(executor):
    whole = [layers.randint(3, 9, [50], seed=4) for _ in range(2)]
    order = layers.randperm(20, seed=4)
    normal = layers.randn([2000])
    found = executor.run(fetch_list=[*whole, order, normal])
    np.testing.assert_array_equal(found[0], found[1])  # the same seed
    assert found[0].min() >= 3 and found[0].max() < 9
    assert sorted(found[2]) == list(range(20))
    assert abs(found[3].mean()) < 0.15 and abs(found[3].std() - 1) < 0.15


def test_results_go_where_they_are_wanted(executor):
    out = fluid.default_main_program().global_block().create_var(name="out", dtype="float32")
    layers.full([2], 1.5, out=out, dtype="float32")
    (found,) = executor.run(fetch_list=["out"])
    np.testing.assert_array_equal(found, [1.5, 1.5])


@pytest.mark.parametrize("word", [lambda x: layers.topk(x, 2), layers.argsort])
def test_gradients_stop_where_elements_are_sorted(word):
    """As in 1.8; those of 2.x let them through."""
    x = fluid.data("x", [3, 4])
    x.stop_gradient = False
    values, places = word(x)
    assert values.stop_gradient and places.stop_gradient
    (grad,) = fluid.gradients(layers.reduce_sum(values * x[:, :1]), [x])
    assert "top_k_grad" not in str(fluid.default_main_program()) and grad is not None
