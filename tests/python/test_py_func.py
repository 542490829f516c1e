"""Functions of Python inside of programs."""

import numpy as np
import paddle
import pytest
from paddle import static


def made(name, shape, dtype="float32"):
    block = static.default_main_program().current_block()
    return block.create_var(name=name, shape=shape, dtype=dtype)


ROWS = np.arange(6, dtype="float32").reshape(3, 2)


def test_a_function_and_its_gradient(executor):
    calls = []

    def square(x):
        return np.array(x) ** 2

    def slope(x, y, dy):
        calls.append((np.array(x), np.array(y)))
        return 2 * np.array(x) * np.array(dy)

    x = static.data("x", [None, 2])
    x.stop_gradient = False
    out = static.py_func(square, x, made("out", [-1, 2]), slope)
    grad = static.gradients([paddle.sum(out * 3.0)], [x])[0]
    found = executor.run(feed={"x": ROWS}, fetch_list=[out, grad])
    np.testing.assert_allclose(found[0], ROWS**2)
    np.testing.assert_allclose(found[1], 6 * ROWS)
    np.testing.assert_allclose(calls[0][1], ROWS**2)
    # Another number of rows.
    np.testing.assert_allclose(
        executor.run(feed={"x": ROWS[:1]}, fetch_list=[grad])[0], 6 * ROWS[:1]
    )


def test_several_inputs_and_results_and_what_is_left_out(executor):
    def both(x, y):
        return np.array(x) + np.array(y), np.array(x) * np.array(y)

    def slopes(x, y, dsum, dproduct):
        x, y, dsum, dproduct = (np.array(one) for one in (x, y, dsum, dproduct))
        return dsum + y * dproduct, dsum + x * dproduct

    x, y = static.data("x", [3, 2]), static.data("y", [3, 2])
    x.stop_gradient = y.stop_gradient = False
    outs = [made("sum", [3, 2]), made("product", [3, 2])]
    static.nn.py_func(both, [x, y], outs, slopes, skip_vars_in_backward_input=outs)
    # No gradient flows into the sum: the function sees zeros.
    grads = static.gradients([paddle.sum(outs[1])], [x, y])
    found = executor.run(feed={"x": ROWS, "y": ROWS + 1}, fetch_list=[*outs, *grads])
    np.testing.assert_allclose(found[0], 2 * ROWS + 1)
    np.testing.assert_allclose(found[1], ROWS * (ROWS + 1))
    np.testing.assert_allclose(found[2], ROWS + 1)
    np.testing.assert_allclose(found[3], ROWS)


def test_a_function_for_its_effect(executor):
    seen = []
    x = static.data("x", [3, 2])
    static.py_func(lambda value: seen.append(np.array(value)), x, None)
    executor.run(feed={"x": ROWS})
    np.testing.assert_allclose(seen, [ROWS])


def test_what_a_function_raises_reaches_the_caller(executor):
    def fails(x):
        raise KeyError("no such thing")

    x = static.data("x", [3, 2])
    out = static.py_func(fails, x, made("out", [3, 2]))
    with pytest.raises(KeyError, match="no such thing"):
        executor.run(feed={"x": ROWS}, fetch_list=[out])


def test_refusals(executor):
    x = static.data("x", [3, 2])
    with pytest.raises(TypeError, match="func must be a function, but is 5"):
        static.py_func(5, x, made("a", [3, 2]))
    with pytest.raises(ValueError, match="'x' is to be skipped, but is neither in x nor in out"):
        static.py_func(np.array, [], made("b", [3, 2]), skip_vars_in_backward_input=[x])
    wrong = static.py_func(lambda value: np.array(value).T, x, made("c", [3, 2]))
    with pytest.raises(
        ValueError, match=r"gave shape \[2, 3\] for \"c\", which has shape \[3, 2\]"
    ):
        executor.run(feed={"x": ROWS}, fetch_list=[wrong])
