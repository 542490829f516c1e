"""``fluid.Trainer``, its events and checkpoints, and ``fluid.Inferencer``."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import zlib

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
import watched

GENERATOR = np.random.RandomState(7)
ROWS = GENERATOR.rand(50, 3).astype("float32")
ANSWERS = ROWS @ np.float32([[1], [-2], [3]]) + 0.5


def reader():
    for first in range(0, 50, 10):
        yield list(zip(ROWS[first : first + 10], ANSWERS[first : first + 10]))


def predict():
    x = fluid.layers.data(name="x", shape=[3], dtype="float32")
    return fluid.layers.fc(input=x, size=1, param_attr=fluid.initializer.Constant(0.1))


def net():
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    guess = predict()
    return fluid.layers.mean(fluid.layers.square_error_cost(input=guess, label=y)), guess


def optimizer():
    return fluid.optimizer.Momentum(learning_rate=0.05, momentum=0.9)


def trainer(**words):
    return fluid.Trainer(train_func=net, optimizer_func=optimizer, **words)


ORDER = ["x", "y"]


def weights(one):
    return np.array(one.scope.find_var("fc_0.w_0").get_tensor())


def train(one, epochs, handler=lambda event: None):
    one.train(num_epochs=epochs, event_handler=handler, reader=reader, feed_order=ORDER)
    return weights(one)


# ---- the loop


@pytest.mark.parametrize("parallel", [False, True])
def test_events_come_in_order_and_the_loss_falls(parallel):
    seen, losses = [], []

    def handler(event):
        kind = type(event).__name__
        seen.append((kind, event.epoch, getattr(event, "step", None)))
        if isinstance(event, fluid.EndStepEvent):
            loss, guess = event.metrics
            losses.append(float(loss))
            assert guess.shape == (10, 1)

    train(trainer(parallel=parallel), 8, handler)
    steps = [(f"{which}StepEvent", 0, step) for step in range(5) for which in ("Begin", "End")]
    assert seen[:12] == [("BeginEpochEvent", 0, None), *steps, ("EndEpochEvent", 0, None)]
    assert len(losses) == 40 and losses[-1] < 0.2 * losses[0]


def test_a_handler_can_spare_the_metrics():
    metrics = []

    def handler(event):
        if isinstance(event, fluid.BeginStepEvent):
            event.fetch_metrics = event.step % 2 == 0
        if isinstance(event, fluid.EndStepEvent):
            metrics.append(len(event.metrics))

    train(trainer(), 1, handler)
    assert metrics == [2, 0, 2, 0, 2]


def test_stop_leaves_before_the_next_step():
    seen = []
    one = trainer()

    def handler(event):
        seen.append(type(event).__name__)
        if isinstance(event, fluid.EndStepEvent) and event.step == 2:
            one.stop()

    train(one, 100, handler)
    assert seen.count("EndStepEvent") == 3 and "EndEpochEvent" not in seen


def test_test_gives_the_means_of_the_batches_as_numbers():
    one = trainer()
    before = weights(one)
    loss, guess = one.test(reader=reader, feed_order=ORDER)
    expected = np.mean((ROWS @ before - ANSWERS) ** 2)
    assert isinstance(loss, float) and loss == pytest.approx(expected, rel=1e-5)
    assert guess.shape == (10, 1)
    np.testing.assert_array_equal(weights(one), before)  # nothing is learnt
    with pytest.raises(ValueError, match="the reader gave no batch"):
        one.test(reader=lambda: iter(()), feed_order=ORDER)


@pytest.mark.parametrize("order", [None, {"y": 0, "x": 1}, ["y", "x"]])
def test_feed_order(order):
    def swapped():
        for batch in reader():
            yield [(y, x) for x, y in batch]

    one = trainer()  # net() declares y first
    one.train(1, lambda event: None, reader=swapped, feed_order=order)
    np.testing.assert_array_equal(weights(one), train(trainer(), 1))


def test_the_schedule_of_the_optimizer_is_not_part_of_the_test_program():
    def scheduled():
        rate = fluid.layers.exponential_decay(0.1, decay_steps=1, decay_rate=0.5)
        return fluid.optimizer.SGD(learning_rate=rate)

    one = fluid.Trainer(train_func=net, optimizer_func=scheduled)
    kinds = [op.type for op in one.test_program.global_block().ops]
    assert "sgd" not in kinds and "increment" not in kinds
    train(one, 1)


def test_wrong_arguments_are_refused_in_a_sentence():
    with pytest.raises(TypeError, match="train_func must return the loss, or .* returned nothing"):
        fluid.Trainer(train_func=lambda: None, optimizer_func=optimizer)
    with pytest.raises(TypeError, match="optimizer_func must return an optimizer, .* a int"):
        fluid.Trainer(train_func=net, optimizer_func=lambda: 3)
    with pytest.raises(TypeError, match="must be a CheckpointConfig, but is a str"):
        trainer(checkpoint_config="here")
    with pytest.raises(ValueError, match="step_interval must be 1 or more, but is 0"):
        fluid.CheckpointConfig(step_interval=0)
    with pytest.raises(ValueError, match="needs a reader"):
        trainer().train(num_epochs=1, event_handler=print)
    with pytest.warns(UserWarning, match="no folder nowhere to load parameters from"):
        trainer(param_path="nowhere")


# ---- files


def test_parameters_are_saved_and_go_on(tmp_path):
    one = trainer()
    half = train(one, 2)
    one.save_params(str(tmp_path))
    again = trainer(param_path=str(tmp_path))
    np.testing.assert_array_equal(weights(again), half)
    np.testing.assert_array_equal(train(again, 2), train(one, 2))  # momentum is there too


def test_an_inferencer_predicts_what_was_trained(tmp_path):
    one = trainer()
    trained = train(one, 20)
    one.save_params(str(tmp_path))
    inferencer = fluid.Inferencer(infer_func=predict, param_path=str(tmp_path))
    (found,) = inferencer.infer({"x": ROWS})
    bias = np.array(one.scope.find_var("fc_0.b_0").get_tensor())
    np.testing.assert_allclose(found, ROWS @ trained + bias, rtol=1e-5)
    (tensor,) = inferencer.infer({"x": ROWS}, return_numpy=False)
    np.testing.assert_array_equal(np.array(tensor), found)
    with pytest.raises(ValueError, match="inputs must be a dict from names to values"):
        inferencer.infer([ROWS])


def test_an_inference_model_is_what_the_chosen_outputs_need(tmp_path, executor):
    one = trainer()
    train(one, 3)
    one.save_inference_model(str(tmp_path), ["x"], [1])
    program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path), executor)
    assert feeds == ["x"]
    (found,) = executor.run(program, feed={"x": ROWS}, fetch_list=fetches)
    _, expected = one.test(reader=lambda: iter([list(zip(ROWS, ANSWERS))]), feed_order=ORDER)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_names_of_later_releases():
    from paddle.fluid.contrib.inferencer import Inferencer
    from paddle.fluid.contrib.trainer import EndStepEvent, Trainer

    assert (Trainer, EndStepEvent) == (fluid.Trainer, fluid.EndStepEvent)
    assert fluid.contrib.Inferencer is Inferencer is fluid.inferencer.Inferencer
    assert paddle.fluid.contrib.CheckpointConfig is fluid.trainer.CheckpointConfig


# ---- checkpoints


def checkpoints(folder):
    return sorted(path.name for path in pathlib.Path(folder).iterdir())


def interrupted(folder, epoch, step, **words):
    """Train until an exception leaves the loop, as a process that dies would."""

    def handler(event):
        if isinstance(event, fluid.EndStepEvent) and (event.epoch, event.step) == (epoch, step):
            raise KeyboardInterrupt

    config = fluid.CheckpointConfig(str(folder), **words)
    with pytest.raises(KeyboardInterrupt):
        train(trainer(checkpoint_config=config), 6, handler)


@pytest.mark.parametrize("epoch, step", [(0, 0), (2, 3), (3, 4)])
def test_training_goes_on_where_it_was(tmp_path, epoch, step):
    interrupted(tmp_path / "kept", epoch, step, step_interval=1)
    config = fluid.CheckpointConfig(str(tmp_path / "kept"), step_interval=1)
    seen = []

    def handler(event):
        if isinstance(event, fluid.EndStepEvent):
            seen.append((event.epoch, event.step))

    resumed = trainer(checkpoint_config=config)
    assert (config.epoch_id, config.step_id) == (epoch, step)
    found = train(resumed, 6, handler)
    every = [(e, s) for e in range(6) for s in range(5)]
    assert seen == every[every.index((epoch, step)) + 1 :]
    np.testing.assert_array_equal(found, train(trainer(), 6))
    assert not (tmp_path / "kept").exists()  # training has ended


def test_intervals_and_the_number_that_is_kept(tmp_path):
    interrupted(tmp_path, 4, 4, max_num_checkpoints=2, epoch_interval=2, step_interval=3)
    assert checkpoints(tmp_path) == ["checkpoint_4", "checkpoint_5"]
    manifest = json.loads((tmp_path / "checkpoint_5" / "manifest.json").read_text())
    assert (manifest["epoch"], manifest["step"]) == (4, 3)
    assert set(manifest["files"]) == {
        f"__model__/{name}" for name in os.listdir(tmp_path / "checkpoint_5" / "__model__")
    }


@pytest.mark.parametrize("damage", ["cut", "changed", "missing", "no manifest", "nonsense"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, damage, capsys):
    interrupted(tmp_path, 1, 2, step_interval=1)
    newest = tmp_path / "checkpoint_7"
    file = newest / "__model__" / "fc_0.w_0"
    content = file.read_bytes()
    if damage == "cut":
        file.write_bytes(content[:-4])
    elif damage == "changed":
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "missing":
        file.unlink()
    elif damage == "no manifest":
        (newest / "manifest.json").unlink()
    else:
        (newest / "manifest.json").write_text("{")
    config = fluid.CheckpointConfig(str(tmp_path), step_interval=1)
    trainer(checkpoint_config=config)
    assert (config.epoch_id, config.step_id) == (1, 1)
    assert f"fluid.Trainer: skipping {newest}: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["/dev/zero", "../secret", "__model__/../../secret", "pipe"])
def test_a_manifest_names_files_of_its_checkpoint_alone(tmp_path, name, capsys):
    kept = tmp_path / "kept"
    interrupted(kept, 0, 1, step_interval=1)
    newest = kept / "checkpoint_1"
    (kept / "secret").write_bytes(b"abc")
    (tmp_path / "secret").write_bytes(b"abc")
    os.mkfifo(newest / "pipe")  # that nobody writes to
    manifest = json.loads((newest / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": 3, "crc32": zlib.crc32(b"abc")}
    (newest / "manifest.json").write_text(json.dumps(manifest))
    config = fluid.CheckpointConfig(str(kept), step_interval=1)
    trainer(checkpoint_config=config)
    assert (config.epoch_id, config.step_id) == (0, 0)
    why = (
        "is a named pipe, not a file"
        if name == "pipe"
        else f'the manifest names "{name}", which is not a file of the checkpoint'
    )
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[]", '{"files": []}', '{"files": {}, "epoch": 1}', "[" * 100000])
def test_a_manifest_of_another_form_is_passed_over(tmp_path, text, capsys):
    interrupted(tmp_path, 0, 1, step_interval=1)
    (tmp_path / "checkpoint_1" / "manifest.json").write_text(text)
    config = fluid.CheckpointConfig(str(tmp_path), step_interval=1)
    trainer(checkpoint_config=config)
    assert (config.epoch_id, config.step_id) == (0, 0)
    said = capsys.readouterr().err
    assert "skipping " in said and "checkpoint_1: " in said


def test_a_killed_process_goes_on(tmp_path):
    """SIGKILL in the middle, as if while a checkpoint is written; then the same program again."""
    script = tmp_path / "program.py"
    folders = [str(pathlib.Path(file).parent) for file in (__file__, watched.__file__)]
    script.write_text(
        textwrap.dedent(
            f"""
            import sys, time
            sys.path[:0] = {folders}
            import paddle.fluid as fluid
            import test_trainer as t

            config = fluid.CheckpointConfig("kept", step_interval=1)
            one = t.trainer(checkpoint_config=config)
            def handler(event):
                if isinstance(event, fluid.EndStepEvent):
                    print(event.epoch, event.step, flush=True)
                    if sys.argv[1:] == ["wait"] and (event.epoch, event.step) == (4, 2):
                        time.sleep(100)
            found = t.train(one, 10, handler)
            print("end", found.ravel().tolist())
            """
        )
    )
    job = [sys.executable, str(script)]
    first = subprocess.Popen([*job, "wait"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    for _ in range(23):
        last = first.stdout.readline().split()
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    assert last == ["4", "2"]
    (tmp_path / "kept" / f".checkpoint_99.{first.pid}").mkdir()  # as if it was writing
    done = watched.run(job, cwd=tmp_path, seconds=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "4 3"
    expected = train(trainer(), 10).ravel().tolist()
    assert done.stdout.splitlines()[-1] == f"end {expected}"
    assert not (tmp_path / "kept").exists()
