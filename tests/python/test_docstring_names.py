"""Names that examples in the docstrings of Paddle use."""

import numpy as np
import paddle
import pytest
from paddle import fluid, static


def test_names_in_several_places():
    from paddle.incubate.hapi import distributed, vision

    assert paddle.incubate.optimizer.LarsMomentumOptimizer is fluid.optimizer.LarsMomentumOptimizer
    assert fluid.contrib.partial_sum is paddle.incubate.layers.partial_sum
    assert vision.transforms.ColorJitter is vision.ColorJitter
    assert vision.ColorJitter is paddle.vision.transforms.ColorJitter
    assert distributed.DistributedBatchSampler is paddle.io.DistributedBatchSampler


@pytest.mark.parametrize("word, joined", [("partial_concat", np.hstack), ("partial_sum", sum)])
def test_columns_of_several_matrices(word, joined):
    values = [np.arange(6, dtype="float32").reshape(2, 3) + k for k in (0, 10)]
    with static.program_guard(static.Program()):
        x, y = (static.data(name, [2, 3]) for name in "xy")
        out = getattr(fluid.contrib.layers, word)([x, y], start_index=1, length=2)
        (found,) = static.Executor().run(feed=dict(zip("xy", values)), fetch_list=[out])
    np.testing.assert_array_equal(found, joined([value[:, 1:] for value in values]))


def test_nothing_is_loaded_from_nowhere():
    with static.program_guard(static.Program()):
        fluid.io.load_params(static.Executor(), "./is_not_there")
        static.create_parameter([1], "float32")
        with pytest.raises(RuntimeError, match="does not exist"):
            fluid.io.load_params(static.Executor(), "./is_not_there")
