"""Python runs this before a program that prints nothing, and which stays as it is: what its executor
returns is noted, and the sum of each parameter at the end."""

import atexit
import functools
import json
import os

import paddle

real = os.environ.get("REAL_DIGITS")
if real:  # MNIST's test files, for both modes
    paths = [os.path.join(real, f"t10k-{part}-ubyte.gz") for part in ("images-idx3", "labels-idx1")]
    paddle.vision.datasets.MNIST = functools.partial(paddle.vision.datasets.MNIST, *paths)

run, losses = paddle.static.Executor.run, []


def noted(*args, **kwargs):
    values = run(*args, **kwargs)
    if values:
        losses.append(float(values[0].item()))
    return values


def write():
    scope, program = paddle.static.global_scope(), paddle.static.default_main_program()
    sums = {
        one.name: float(scope.find_var(one.name).get_tensor().numpy().sum())
        for one in program.all_parameters()
        if scope.find_var(one.name) is not None
    }
    rank = os.environ.get("PADDLE_TRAINER_ID", "0")
    with open(f"noted.{rank}.json", "w") as file:
        json.dump({"losses": losses, "sums": sums}, file)


paddle.static.Executor.run = noted
if os.environ.get("TRAINING_ROLE") != "PSERVER":
    atexit.register(write)
