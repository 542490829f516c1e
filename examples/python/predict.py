"""Saves a network that recognises digits, and predicts with what the files hold, as a program does
that has no more than them.

    python predict.py --steps 20 --init 1
"""

import os
import tempfile

import example
import paddle
from paddle import inference, static

options = example.parse(steps=20, init=0, batch=64)

x = static.data("x", [None, 1, 28, 28])
hidden = static.nn.fc(paddle.reshape(x, [-1, 784]), 128, activation="tanh")
prediction = static.nn.fc(hidden, 10, activation="softmax")

paddle.seed(1)
executor = static.Executor()
executor.run(static.default_startup_program())
if options.init:
    example.set_parameters_by_rule(static.default_main_program())
with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, "digits")
    static.save_inference_model(prefix, [x], [prediction], executor)
    config = inference.Config(prefix + ".pdmodel", prefix + ".pdiparams")
    predictor = inference.create_predictor(config)

digits = example.Digits(options.batch)
scores = predictor.get_output_handle(predictor.get_output_names()[0])
for step in range(options.steps):
    predictor.get_input_handle("x").copy_from_cpu(digits.feeds(step)["x"])
    predictor.run()
    print(f"{scores.copy_to_cpu()[0, 0]:.9g}")
