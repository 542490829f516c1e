"""Executor.run: what goes in, what comes out, from several threads, in a forked child."""

import os
import threading
import warnings

import _flotilla as core
import numpy as np
import paddle
import pytest
from paddle import static

ONES = np.ones((2, 3), "float32")


def double(shape=(None, 3), dtype="float32"):
    """A program with y = 2 x; returns (x, y)."""
    x = static.data("x", shape, dtype)
    block = static.default_main_program().global_block()
    y = block.create_var(name="y", dtype=dtype)
    block.append_op("scale", {"X": x}, {"Out": y}, {"scale": 2.0})
    return x, y


def linear():
    """A program with y = fc(x) and its startup; returns (x, y)."""
    x = static.data("x", [None, 3])
    return x, static.nn.fc(x, 2)


def test_fetches_names_and_variables_in_order(executor):
    x, y = double()
    results = executor.run(feed={"x": ONES}, fetch_list=[y, "x", y.name])
    assert isinstance(results, list)
    assert [r.tolist() for r in results] == [
        (2 * ONES).tolist(),
        ONES.tolist(),
        (2 * ONES).tolist(),
    ]


def test_a_single_fetch_needs_no_list(executor):
    x, y = double()
    assert executor.run(feed={"x": ONES}, fetch_list=y)[0].tolist() == (2 * ONES).tolist()
    assert executor.run(feed={"x": ONES}, fetch_list="y")[0].tolist() == (2 * ONES).tolist()


def test_without_fetches_there_are_no_results(executor):
    double()
    assert executor.run(feed={"x": ONES}) == []
    assert executor.run(static.default_startup_program()) == []


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2, 3]],
        ((1.0, 2.0, 3.0),),
        np.array([[1, 2, 3]], "float32"),
        np.array([[1, 2, 3]], ">f4"),
        np.array([[1, 9, 2, 9, 3]], "float32")[:, ::2],
        np.asfortranarray(np.array([[1, 2, 3]], "float32")),
    ],
    ids=["list", "tuple", "array", "big-endian", "strided", "fortran"],
)
def test_feeds_of_many_kinds(executor, value):
    double()
    (y,) = executor.run(feed={"x": value}, fetch_list=["y"])
    assert y.tolist() == [[2, 4, 6]] and y.dtype == np.float32


def test_feeds_a_read_only_array(executor):
    double()
    value = ONES.copy()
    value.setflags(write=False)
    assert executor.run(feed={"x": value}, fetch_list=["y"])[0].tolist() == (2 * ONES).tolist()


def test_a_number_becomes_one_element_of_the_variables_dtype(executor):
    double([1], "int64")
    (y,) = executor.run(feed={"x": 3}, fetch_list=["y"])
    assert y.tolist() == [6] and y.dtype == np.int64
    assert executor.run(feed={"x": np.int64(4)}, fetch_list=["y"])[0].tolist() == [8]


def test_feeds_the_list_with_one_dict_that_loaders_give(executor):
    double()
    assert executor.run(feed=[{"x": ONES}], fetch_list=["y"])[0].tolist() == (2 * ONES).tolist()


def test_variables_may_be_the_keys_of_a_feed(executor):
    x, y = double()
    assert executor.run(feed={x: ONES}, fetch_list=[y])[0].tolist() == (2 * ONES).tolist()


def test_feeds_and_returns_lod_tensors(executor):
    static.data("x", [None, 1], lod_level=1)
    block = static.default_main_program().global_block()
    block.append_op("scale", {"X": "x"}, {"Out": "y"}, {"scale": 2.0})
    value = paddle.fluid.create_lod_tensor(np.ones((5, 1), "float32"), [[2, 3]], paddle.CPUPlace())
    (y,) = executor.run(feed={"x": value}, fetch_list=["y"], return_numpy=False)
    assert isinstance(y, paddle.fluid.LoDTensor)
    assert y.shape() == [5, 1] and np.array(y).tolist() == [[2]] * 5
    assert y.lod() == [[0, 2, 5]] and y.recursive_sequence_lengths() == [[2, 3]]


def test_a_data_feeder_makes_feeds_of_samples(executor):
    x = static.data("x", [None, 2])
    y = static.data("y", [None, 1], "int64")
    ids = static.data("ids", [None, 1], "int64", lod_level=1)
    feeder = paddle.fluid.DataFeeder([x, "y", ids], paddle.CPUPlace())
    feed = feeder.feed([([1.0, 2.0], 0, [7]), (np.array([3.0, 4.0]), 1, [8, 9])])
    x, y, ids = executor.run(feed=feed, fetch_list=[x, y, ids], return_numpy=False)
    assert np.array(x).tolist() == [[1, 2], [3, 4]] and np.array(y).tolist() == [[0], [1]]
    assert np.array(ids).tolist() == [[7], [8], [9]] and ids.lod() == [[0, 1, 3]]
    with pytest.raises(ValueError, match="a sample must have 3 fields, .* but one has 2"):
        feeder.feed([(1, 2)])


def test_a_feed_is_read_again_at_each_run(executor):
    double()
    value = ONES.copy()
    executor.run(feed={"x": value}, fetch_list=["y"])
    value[:] = 5
    assert executor.run(feed={"x": value}, fetch_list=["y"])[0].tolist() == [[10] * 3] * 2


def test_results_are_copies(executor):
    double()
    (first,) = executor.run(feed={"x": ONES}, fetch_list=["y"])
    executor.run(feed={"x": 3 * ONES}, fetch_list=["y"])
    assert first.tolist() == (2 * ONES).tolist()
    first[:] = 0
    assert executor.run(feed={"x": ONES}, fetch_list=["y"])[0].tolist() == (2 * ONES).tolist()


def test_an_unknown_name_in_the_feed_is_left_out_with_a_warning(executor):
    double()
    with pytest.warns(UserWarning, match='the program has no variable "z", so its feed is ignored'):
        executor.run(feed={"x": ONES, "z": ONES}, fetch_list=["y"])


def test_a_fetched_parameter_has_the_value_after_the_run(executor):
    block = static.default_main_program().global_block()
    n = static.create_global_var([1], 1.0, "float32", persistable=True, name="n")
    block.append_op("scale", {"X": n}, {"Out": n}, {"scale": 1.0, "bias": 1.0})
    executor.run(static.default_startup_program())
    assert [executor.run(fetch_list=[n])[0].item() for _ in range(3)] == [2, 3, 4]


def test_a_scope_of_ones_own(executor):
    x, y = linear()
    mine = static.Scope()
    executor.run(static.default_startup_program(), scope=mine)
    assert mine.find_var("fc_0.w_0").is_initialized()
    assert static.global_scope().find_var("fc_0.w_0") is None
    (inside,) = executor.run(feed={"x": ONES}, fetch_list=[y], scope=mine)
    with static.scope_guard(mine):
        (guarded,) = executor.run(feed={"x": ONES}, fetch_list=[y])
    assert inside.tolist() == guarded.tolist()


def test_prune_runs_what_the_fetches_need(executor):
    x, y = double()
    counter = static.create_global_var([1], 0.0, "float32", persistable=True, name="counter")
    block = static.default_main_program().global_block()
    block.append_op("scale", {"X": counter}, {"Out": counter}, {"scale": 1.0, "bias": 1.0})
    executor.run(static.default_startup_program())
    for _ in range(3):
        executor.run(feed={"x": ONES}, fetch_list=[y], use_prune=True)
    assert np.array(static.global_scope().find_var("counter").get_tensor()).tolist() == [0]
    assert executor._core.plans_made == 2
    executor.run(feed={"x": ONES}, fetch_list=[y])
    assert np.array(static.global_scope().find_var("counter").get_tensor()).tolist() == [1]


def test_plans_are_made_once_for_each_shape(executor):
    double()
    for _ in range(3):
        executor.run(feed={"x": ONES}, fetch_list=["y"])
        executor.run(feed={"x": np.ones((5, 3), "float32")}, fetch_list=["y"])
    assert executor._core.plans_made == 2


def test_close_gives_back_and_the_executor_runs_again(executor):
    double()
    executor.run(feed={"x": ONES}, fetch_list=["y"])
    executor.close()
    assert executor._core.plans_made == 0
    assert executor.run(feed={"x": ONES}, fetch_list=["y"])[0].shape == (2, 3)


def test_compiled_programs_run_like_the_program(executor):
    x, y = double()
    main = static.default_main_program()
    strategy = static.BuildStrategy()
    strategy.fuse_all_reduce_ops = False
    compiled = static.CompiledProgram(main).with_data_parallel(
        loss_name=y.name, build_strategy=strategy, exec_strategy=static.ExecutionStrategy()
    )
    (result,) = executor.run(compiled, feed={"x": ONES}, fetch_list=[y])
    assert result.tolist() == (2 * ONES).tolist()
    again = static.CompiledProgram(compiled)
    assert executor.run(again, feed={"x": ONES}, fetch_list=[y])[0].shape == (2, 3)


def test_parallel_executor_of_the_oldest_programs():
    x, y = double()
    old = paddle.fluid.ParallelExecutor(use_cuda=False, loss_name=y.name)
    assert old.device_count == 1
    assert old.run([y.name], feed={"x": ONES})[0].tolist() == (2 * ONES).tolist()


def test_the_same_seed_repeats_a_run(executor):
    linear()
    startup = static.default_startup_program()

    def weights(seed):
        paddle.seed(seed)
        with static.scope_guard(static.Scope()):
            executor.run(startup)
            return np.array(static.global_scope().find_var("fc_0.w_0").get_tensor()).tolist()

    assert weights(7) == weights(7) != weights(8)


def test_a_programs_seed_gives_layers_of_one_shape_the_same_weights(executor):
    static.nn.fc(linear()[0], 2)
    static.default_startup_program().random_seed = 5
    executor.run(static.default_startup_program())
    first, second = (
        np.array(static.global_scope().find_var(f"fc_{i}.w_0").get_tensor()) for i in range(2)
    )
    assert first.tolist() == second.tolist()


def test_hooks_run_before_each_run_and_not_in_test_clones(executor):
    x, y = double()
    main, seen = static.default_main_program(), []
    test = main.clone(for_test=True)
    core.fleet.on_run(main, seen.append)
    executor.run(main, feed={"x": ONES})
    executor.run(test, feed={"x": ONES})
    executor.run(main.clone(), feed={"x": ONES})
    assert seen == [static.global_scope()] * 2


def test_threads_take_turns_at_one_executor(executor):
    double()
    program, scope = static.default_main_program(), static.global_scope()
    wrong = []

    def work(number):
        value = np.full((number + 1, 3), number, "float32")
        for _ in range(200):
            (y,) = executor.run(program, {"x": value}, ["y"], scope=scope)
            if y.tolist() != (2 * value).tolist():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_child_is_refused_instead_of_hanging(executor):
    double()
    executor.run(feed={"x": ONES}, fetch_list=["y"])
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own about forking with threads
        child = os.fork()
    if child == 0:
        try:
            executor.run(feed={"x": ONES}, fetch_list=["y"])
            text = "it ran"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    assert (
        os.read(reading, 1000)
        .decode()
        .startswith(
            "ValueError: this process was forked after a program had run, and the threads of that "
            "run do not exist in it"
        )
    )
    assert os.waitpid(child, 0)[1] == 0
    assert executor.run(feed={"x": ONES}, fetch_list=["y"])[0].tolist() == (2 * ONES).tolist()
