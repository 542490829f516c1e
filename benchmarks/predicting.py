"""What a call of a predictor costs beside its plan: the MLP, in C++ and in Python."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "build" / "dev" / "bin" / "bench_predictor"
GOAL_US = 20
CALLS = 200  # in a round


def run(quick, side, show, emit):
    """`side`: Flotilla, in whose environment the model is saved and Python is measured."""
    rounds = 20 if quick else 100
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "mlp")
        command = [side.python, __file__, prefix, str(rounds)]
        variables = {**os.environ, **side.variables(1)}
        in_python = json.loads(_output(command, variables))
        lines = _output([PROGRAM, prefix, str(rounds)], variables).splitlines()
    table = []
    for found in map(json.loads, lines):
        words = in_python[str(found["batch"])]
        cells = [found["plan"], found["call"], words["run"], words["all"]]
        for kind, value in zip(("plan", "C++", "Python", "Python with copies"), cells):
            emit(
                case=f"predict mlp {found['batch']} {kind}", side="Flotilla", unit="us", best=value
            )
        table.append((f"batch {found['batch']}", *(f"{value:.1f}" for value in cells)))
        for kind, value in (("C++", found["call"]), ("Python", words["run"])):
            above = value - found["plan"]
            if above > GOAL_US:
                print(
                    f"  missed: a call in {kind} is {above:.1f} us above its plan, goal {GOAL_US}"
                )
    show("A prediction of the MLP, one thread, us (best round)", table,
         ("its plan", "a call in C++", "in Python", "with copies in and out"))  # fmt: skip


def _output(command, variables):
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    if done.returncode:
        sys.exit(f"{command[0]} ended with status {done.returncode}: {done.stderr}")
    return done.stdout


def measure(prefix, rounds):
    """Saves the MLP at `prefix`; from batch sizes to microseconds of calls, and with copies."""
    import numpy as np
    import paddle
    from paddle import inference, static

    paddle.enable_static()
    x = static.data("x", [None, 1, 28, 28])
    hidden = paddle.reshape(x, [-1, 784])
    for _ in range(2):
        hidden = static.nn.fc(hidden, 128, activation="tanh")
    scores = static.nn.fc(hidden, 10, activation="softmax")
    executor = static.Executor()
    executor.run(static.default_startup_program())
    static.save_inference_model(prefix, [x], [scores], executor)

    predictor = inference.create_predictor(
        inference.Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams")
    )
    handle = predictor.get_input_handle("x")
    output = predictor.get_output_handle(predictor.get_output_names()[0])

    def whole(value):
        handle.copy_from_cpu(value)
        predictor.run()
        output.copy_to_cpu()

    found = {}
    for batch in (1, 64):
        value = np.random.RandomState(1).uniform(-1, 1, (batch, 1, 28, 28)).astype("float32")
        whole(value)
        calls = {"run": predictor.run, "all": lambda value=value: whole(value)}
        found[batch] = {
            kind: min(_microseconds(call) for _ in range(rounds)) for kind, call in calls.items()
        }
    return found


def _microseconds(call):
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS * 1e6


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
