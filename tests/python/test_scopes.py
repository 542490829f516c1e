"""Scopes: find_var, get_tensor, set, guards, children; handles outlive what they point at."""

import gc

import numpy as np
import paddle
import pytest
from paddle import static


def test_find_var_and_var():
    scope = static.Scope()
    assert scope.find_var("w") is None
    assert scope.var("w").is_initialized() is False
    assert scope.find_var("w") is not None
    assert scope.local_var_names() == ["w"]


def test_set_and_read_a_tensor():
    tensor = static.global_scope().var("w").get_tensor()
    tensor.set(np.arange(6, dtype="float32").reshape(2, 3), paddle.CPUPlace())
    assert tensor._get_dims() == [2, 3] == tensor.shape()
    assert np.array(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.array(tensor, dtype="int64").dtype == np.int64
    assert np.asarray(tensor)[1, 2] == 5 and len(tensor) == 2
    again = static.global_scope().find_var("w").get_tensor()
    again.set(np.zeros((2, 3), "float32"))
    assert np.array(tensor).sum() == 0


def test_set_copies_the_array():
    tensor, array = paddle.fluid.LoDTensor(), np.ones(3, "float32")
    tensor.set(array)
    array[:] = 7
    assert np.array(tensor).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "dtype", "bool int8 uint8 int16 int32 int64 float16 float32 float64".split()
)
def test_every_dtype_goes_in_and_out(dtype):
    tensor, array = paddle.fluid.LoDTensor(), np.array([[0, 1], [1, 0]], dtype)
    tensor.set(array)
    out = np.array(tensor)
    assert out.dtype == dtype and out.tolist() == array.tolist() and tensor._dtype() == dtype


def test_empty_and_zero_dimensional_tensors():
    tensor = paddle.fluid.LoDTensor()
    tensor.set(np.zeros((0, 3), "float32"))
    assert np.array(tensor).shape == (0, 3)
    tensor.set(np.array(2.5, "float32"))
    assert np.array(tensor).shape == () and float(tensor) == 2.5


def test_a_tensor_keeps_what_a_run_changes(executor):
    n = static.create_global_var([1], 1.0, "float32", persistable=True, name="n")
    block = static.default_main_program().global_block()
    block.append_op("scale", {"X": n}, {"Out": n}, {"scale": 2.0})
    executor.run(static.default_startup_program())
    tensor = static.global_scope().find_var("n").get_tensor()
    executor.run()
    assert np.array(tensor).tolist() == [2]
    tensor.set(np.array([5], "float32"), paddle.CPUPlace())
    executor.run()
    assert np.array(tensor).tolist() == [10]


def test_guards_nest_and_end_after_an_exception():
    outer, inner = static.Scope(), static.Scope()
    before = static.global_scope()
    with static.scope_guard(outer):
        with pytest.raises(ZeroDivisionError), static.scope_guard(inner):
            assert static.global_scope() is inner
            1 / 0  # noqa: B018
        assert static.global_scope() is outer
    assert static.global_scope() is before


def test_a_child_looks_into_its_parent():
    parent = static.Scope()
    parent.var("w").get_tensor().set(np.ones(2, "float32"))
    child = parent.new_scope()
    assert np.array(child.find_var("w").get_tensor()).tolist() == [1, 1]
    child.var("mine")
    assert parent.find_var("mine") is None


def test_handles_outlive_erased_variables_and_dropped_children():
    scope = static.Scope()
    tensor = scope.var("w").get_tensor()
    tensor.set(np.ones(2, "float32"))
    child = scope.new_scope()
    child.var("c").get_tensor().set(np.ones(3, "float32"))
    kept = child.find_var("c")
    scope.erase(["w"])
    scope.drop_kids()
    assert scope.find_var("w") is None
    assert np.array(tensor).tolist() == [1, 1]
    assert child.find_var("c").get_tensor().shape() == [3]
    del child, scope
    gc.collect()
    assert np.array(kept.get_tensor()).tolist() == [1, 1, 1]


def test_lod_tensors():
    tensor = paddle.fluid.create_lod_tensor([[1, 2], [3, 4, 5]], [[2, 3]], paddle.CPUPlace())
    assert np.array(tensor).tolist() == [[1], [2], [3], [4], [5]]
    assert tensor.lod() == [[0, 2, 5]]
    assert tensor.has_valid_recursive_sequence_lengths()
    tensor.set_lod([[0, 1, 5]])
    assert tensor.recursive_sequence_lengths() == [[1, 4]]
    tensor.set_recursive_sequence_lengths([[1, 9]])
    assert not tensor.has_valid_recursive_sequence_lengths()
    with pytest.raises(ValueError, match=r"\[\[2, 9\]\] does not fit data of 5 rows"):
        paddle.fluid.create_lod_tensor(np.ones((5, 1)), [[2, 9]], paddle.CPUPlace())
    random = paddle.fluid.create_random_int_lodtensor([[2, 1]], [4], paddle.CPUPlace(), 0, 3)
    assert random.shape() == [3, 4] and np.array(random).max() <= 3


def test_refusals():
    with pytest.raises(ValueError, match="the tensor has no value yet"):
        np.array(paddle.fluid.LoDTensor())
    with pytest.raises(ValueError, match="an array of dtype complex64 cannot be a tensor; use fl"):
        paddle.fluid.LoDTensor().set(np.ones(2, "complex64"))
    not_one = pytest.raises(TypeError, match="scope must be a paddle.static.Scope, but is str")
    with not_one, static.scope_guard("scope"):
        pass
