"""Words of 1.x that are no ops: metrics of counts, versions, what plans do by themselves."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest


def test_chunks():
    chunks = fluid.metrics.ChunkEvaluator()
    assert chunks.eval() == (0.0, 0.0, 0.0)
    chunks.update(np.array([6]), np.array([4]), np.array([3]))
    chunks.update(4, 6, 2)
    assert chunks.eval() == (0.5, 0.5, 0.5)
    chunks.reset()
    assert chunks.num_infer_chunks == 0


def test_edit_distances():
    distance = fluid.metrics.EditDistance("distance")
    with pytest.raises(ValueError, match="never called"):
        distance.eval()
    distance.update(np.array([[1.0], [0.0], [4.0]]), np.array([3]))
    distance.update(np.array([[0.0]]), 1)
    assert distance.eval() == (5 / 4, 2 / 4)


def test_versions():
    fluid.require_version("1.6.0")
    fluid.require_version(paddle.version.full_version)
    with pytest.raises(RuntimeError, match="Paddle 1.6.0 to 1.8.5 is required, but this is"):
        fluid.require_version("1.6.0", "1.8.5")
    with pytest.raises(RuntimeError, match="Paddle 99.0.0 or newer is required"):
        fluid.require_version("99.0.0")
    with pytest.raises(ValueError, match="must be like \"1.8.5\", but is 'new'"):
        fluid.require_version("new")


def test_memory_is_reused_anyway():
    program = fluid.default_main_program()
    assert fluid.memory_optimize(program) is None and fluid.release_memory(program) is None


def test_a_counter_counts_runs(executor):
    counter = fluid.layers.autoincreased_step_counter(begin=3, step=2)
    assert fluid.layers.autoincreased_step_counter() is not None
    executor.run(fluid.default_startup_program())
    found = [executor.run(fetch_list=[counter])[0].item() for _ in range(3)]
    assert found == [4, 6, 8]


def test_heads_of_attention_must_fit():
    x = fluid.data("x", [2, 3, 4])
    with pytest.raises(ValueError, match="do not fit 3 heads"):
        fluid.nets.scaled_dot_product_attention(x, x, x, num_heads=3)
