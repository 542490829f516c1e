"""What is fed, fetched and looked up."""

import os
import re
import subprocess
import sys

import numpy as np
import paddle
import pytest
from paddle import static

HERE = re.escape(__file__)
IMAGES = np.zeros((8, 784), "float32")
LABELS = np.zeros((8, 1), "int64")


@pytest.fixture
def digits(executor):
    """A network for digits; what runs it with a feed."""
    image = static.data("image", [None, 784])
    label = static.data("label", [None, 1], "int64")
    logits = static.nn.fc(image, 10)
    loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(logits, label))
    executor.run(static.default_startup_program())

    def run(feed, fetch_list=(loss,)):
        return executor.run(feed=feed, fetch_list=fetch_list)

    return run


def test_a_typo_in_the_name_of_a_feed(digits, said):
    with pytest.warns(UserWarning) as warned:
        first, notes = said(lambda: digits({"imge": IMAGES, "label": LABELS}), ValueError)
    assert first == (
        'variable "image" (shape [-1, 784], float32) must be fed, but the feed holds only "imge", '
        '"label". Did you mean "image" instead of "imge"?'
    )
    assert re.match(HERE + r":\d+ in digits: logits = ", notes["from"])
    assert str(warned[0].message) == (
        'the program has no variable "imge", so its feed is ignored. Did you mean "image"?'
    )
    assert warned[0].filename == __file__


def test_a_feed_of_unknown_names_alone(digits, said):
    with pytest.warns(UserWarning):
        first, _ = said(lambda: digits({"imge": IMAGES}), ValueError)
    assert 'but the feed holds only "imge". Did you mean "image" instead of "imge"?' in first


def test_a_feed_too_many(digits):
    with pytest.warns(UserWarning) as warned:
        digits({"image": IMAGES, "label": LABELS, "weight": IMAGES})
    assert [str(one.message) for one in warned] == [
        'the program has no variable "weight", so its feed is ignored.'
    ]


def test_a_wrong_shape(digits, said):
    feed = {"image": np.zeros((8, 1, 28, 28), "float32"), "label": LABELS}
    assert said(lambda: digits(feed), ValueError)[0] == (
        'variable "image" is declared with shape [-1, 784], but was fed shape [8, 1, 28, 28]'
    )


def test_batches_of_two_lengths(digits, said):
    first, notes = said(lambda: digits({"image": IMAGES, "label": LABELS[:6]}), ValueError)
    assert first == (
        '"label" (Label) must have shape [8, 1] because "fc_0.tmp_1" (Logits) is [8, 10], but has '
        "shape [6, 1]"
    )
    assert notes["op"].startswith("softmax_with_cross_entropy(Label=label, Logits=fc_0.tmp_1)")
    assert re.match(HERE + r":\d+ in digits: loss = ", notes["from"])


def test_other_types_than_declared(digits, said):
    feed = {"image": IMAGES.astype("float64"), "label": LABELS}
    assert said(lambda: digits(feed), ValueError)[0] == (
        'variable "image" is declared as float32, but was fed float64: feed an array of float32, '
        'e.g. array.astype("float32")'
    )
    feed = {"image": IMAGES, "label": LABELS.astype("int32")}
    assert said(lambda: digits(feed), ValueError)[0] == (
        'variable "label" is declared as int64, but was fed int32: feed an array of int64, e.g. '
        'array.astype("int64")'
    )


def test_a_label_out_of_range(digits, said):
    labels = LABELS.copy()
    labels[0] = 14
    first, notes = said(lambda: digits({"image": IMAGES, "label": labels}), ValueError)
    assert first == "label 0 is 14, but there are the classes 0 to 9"
    assert re.match(HERE + r":\d+ in digits: loss = ", notes["from"])


def test_an_id_outside_of_the_table(executor, said):
    ids = static.data("ids", [None, 1], "int64")
    rows = static.nn.embedding(ids, [10, 4])
    executor.run(static.default_startup_program())
    feed = {"ids": np.array([[3], [99]])}
    first, notes = said(lambda: executor.run(feed=feed, fetch_list=[rows]), ValueError)
    assert first == (
        'id 99 at position 1 is not a row of the table "embedding_0.w_0", which has the rows 0 to 9'
    )
    assert re.match(HERE + r":\d+ in test_an_id_outside_of_the_table: rows = ", notes["from"])


def test_the_startup_program_was_forgotten(executor, said):
    out = static.nn.fc(static.data("x", [None, 3]), 2)
    feed = {"x": np.ones((2, 3), "float32")}
    first, notes = said(lambda: executor.run(feed=feed, fetch_list=[out]), ValueError)
    assert re.fullmatch(
        r'variable "fc_0\.[wb]_0" is read but has no value yet. Run the startup program first',
        first,
    )
    assert re.match(HERE + r":\d+ in test_the_startup_program_was_forgotten: out = ", notes["from"])
    assert "fc_0.w_0" in notes["op"] or "fc_0.b_0" in notes["op"]


def test_a_typo_in_a_fetch(digits, said):
    feed = {"image": IMAGES, "label": LABELS}
    assert said(lambda: digits(feed, ["fc_0.tmp_11"]), RuntimeError)[0] == (
        'the program has no variable "fc_0.tmp_11". Did you mean "fc_0.tmp_1"?'
    )


def saved_model(executor, folder):
    """Saves a network up to its output; returns [program, feeds, targets], and the loss."""
    x = static.data("x", [None, 4])
    out = static.nn.fc(x, 2)
    loss = paddle.mean(out)
    executor.run(static.default_startup_program())
    static.save_inference_model(str(folder / "model"), [x], [out], executor)
    return static.load_inference_model(str(folder / "model"), executor), loss


def test_a_fetch_of_what_was_cut_off_when_the_model_was_saved(executor, said, tmp_path):
    (program, _, targets), loss = saved_model(executor, tmp_path)
    feed = {"x": np.ones((2, 4), "float32")}

    def run(fetch):
        return executor.run(program, feed=feed, fetch_list=[fetch])

    assert run(targets[0])[0].shape == (2, 2)
    assert said(lambda: run(loss.name), RuntimeError)[0] == (
        'the program has no variable "mean_0.tmp_0": when it was saved for inference, it was '
        'pruned to what "fc_0.tmp_1" needs. Fetch that, or save it again with "mean_0.tmp_0" among '
        "the targets"
    )


def test_a_fetch_of_another_program(executor, said):
    x = static.data("x", [None, 4])
    out = static.nn.fc(x, 2)
    loss = paddle.mean(out)
    executor.run(static.default_startup_program())
    pruned = static.default_main_program()._prune([out.name])
    feed = {"x": np.ones((2, 4), "float32")}
    assert said(lambda: executor.run(pruned, feed=feed, fetch_list=[loss]), RuntimeError)[0] == (
        'the program has no variable "mean_0.tmp_0", which belongs to another program: the one '
        "that runs was pruned when it was cloned or saved. Fetch one of its variables, or run the "
        "other program"
    )


def test_matrices_that_do_not_fit(said):
    a, b = static.data("a", [None, 4]), static.data("b", [5, 3])
    first, notes = said(lambda: paddle.matmul(a, b), ValueError)
    assert first == (
        'the inner axes of "a" (X) [-1, 4] and "b" (Y) [5, 3] must be equal, but are 4 and 5'
    )
    assert re.match(HERE + r":\d+ in <lambda>: ", notes["from"])


def test_more_memory_than_there_is(executor, said):
    huge = paddle.ones([1000, 1000, 1000, 1000])
    out = paddle.tanh(huge)
    first, notes = said(lambda: executor.run(fetch_list=[out.name]), (ValueError, RuntimeError))
    assert re.fullmatch(
        r"the program needs 4000000000000 bytes of memory at once, but only \d+ are available",
        first,
    )
    assert huge.name in str(notes) and "float32[1000, 1000, 1000, 1000]" in str(notes)


def test_a_parameter_that_is_too_large(executor, said):
    static.create_parameter([10**6, 10**6], "float32", name="table")
    start = static.default_startup_program()
    first, notes = said(lambda: executor.run(start), (ValueError, RuntimeError))
    assert re.fullmatch(
        r"cannot allocate a buffer of 4000000000000 bytes \(\d+ bytes are in use, \d+ are "
        r"available\)",
        first,
    )
    assert notes["for"] == 'variable "table", float32[1000000, 1000000]'


def test_nan_is_found_where_it_arises(executor, said):
    x = static.data("x", [None, 3])
    bad = paddle.log(x)
    loss = paddle.mean(paddle.tanh(bad))
    feed = {"x": np.array([[1, -1, 1]], "float32")}

    def run():
        return executor.run(feed=feed, fetch_list=[loss])

    assert np.isnan(run()[0])
    paddle.set_flags({"FLAGS_check_nan_inf": 1})
    try:
        first, notes = said(run, ValueError)
        feed["x"][0, 1] = 2
        assert np.isfinite(run()[0])
        feed["x"][0, 0] = 0
        infinite, _ = said(run, ValueError)
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": False})
    assert first == (
        f'variable "{bad.name}" (f32[1, 3]) got 1 NaN and 0 infinite values, the first at position 1 '
        "(FLAGS_check_nan_inf=1)"
    )
    assert notes["op"].startswith(f"log(X=x) -> {bad.name}")
    assert re.match(HERE + r":\d+ in test_nan_is_found_where_it_arises: bad = ", notes["from"])
    assert "got 0 NaN and 1 infinite values, the first at position 0" in infinite
    run()  # nobody looks any more


def test_nan_by_the_environment():
    program = (
        "import numpy as np, paddle; paddle.enable_static(); x = paddle.static.data('x', [1])\n"
        "loss = paddle.log(x)\n"
        "exe = paddle.static.Executor()\n"
        "exe.run(feed={'x': np.array([-1], 'float32')}, fetch_list=[loss])"
    )
    for flag, code in (("1", 1), ("0", 0)):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "FLAGS_check_nan_inf": flag},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        assert ("got 1 NaN and 0 infinite values" in done.stderr) == (flag == "1")
