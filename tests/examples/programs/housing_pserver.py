"""Linear regression on parameter servers started by hand, as programs of 2018 and 2019 wrote it.

Each process gets its role from the environment: PADDLE_TRAINING_ROLE (PSERVER, TRAINER),
PADDLE_PSERVER_IPS, PADDLE_PSERVER_PORT, PADDLE_CURRENT_IP, PADDLE_TRAINERS, PADDLE_TRAINER_ID;
without a role it trains alone.
"""

from __future__ import print_function

import argparse
import os

import numpy as np
import paddle
import paddle.fluid as fluid

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--async_mode", action="store_true", help="do not wait for other trainers")
parser.add_argument("--no_split_var", action="store_true", help="keep each variable on one server")
parser.add_argument("--passes", type=int, default=20)
parser.add_argument("--save", default="housing.model")
args = parser.parse_args()


def network():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    hidden = fluid.layers.fc(input=x, size=32, act="tanh", name="hidden")
    y_predict = fluid.layers.fc(input=hidden, size=1, act=None)
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    return [x, y], y_predict, fluid.layers.mean(cost)


def evaluate(exe, program, reader, feeder, avg_cost):
    costs = []
    for data in reader():
        costs.append(exe.run(program, feed=feeder.feed(data), fetch_list=[avg_cost.name])[0])
    return float(np.mean(costs))


def train_loop(exe, train_program, test_program, feeds, y_predict, avg_cost, trainer_id, trainers):
    def mine():
        for i, sample in enumerate(paddle.dataset.uci_housing.train()()):
            if i % trainers == trainer_id:
                yield sample

    train_reader = paddle.batch(paddle.reader.shuffle(mine, buf_size=500), batch_size=20)
    test_reader = paddle.batch(paddle.dataset.uci_housing.test(), batch_size=20)
    feeder = fluid.DataFeeder(place=fluid.CPUPlace(), feed_list=feeds)
    exe.run(fluid.default_startup_program())
    for pass_id in range(args.passes):
        for batch_id, data in enumerate(train_reader()):
            (loss,) = exe.run(train_program, feed=feeder.feed(data), fetch_list=[avg_cost])
            if np.isnan(loss[0]):
                raise RuntimeError("got NaN loss")
        test_cost = evaluate(exe, test_program, test_reader, feeder, avg_cost)
        print("Trainer %d, Pass %d, Test cost %f" % (trainer_id, pass_id, test_cost))
    if trainer_id == 0:
        fluid.io.save_inference_model(args.save, ["x"], [y_predict], exe)
        fluid.io.save_persistables(exe, args.save + ".persistables", train_program)


def main():
    feeds, y_predict, avg_cost = network()
    test_program = fluid.default_main_program().clone(for_test=True)
    lr = fluid.layers.exponential_decay(
        learning_rate=0.001, decay_steps=100, decay_rate=0.9, staircase=True
    )
    optimizer = fluid.optimizer.Momentum(
        learning_rate=lr, momentum=0.5, regularization=fluid.regularizer.L2Decay(1e-4)
    )
    optimizer.minimize(avg_cost)
    exe = fluid.Executor(fluid.CPUPlace())

    training_role = os.getenv("PADDLE_TRAINING_ROLE", "")
    if not training_role:
        main_program = fluid.default_main_program()
        train_loop(exe, main_program, test_program, feeds, y_predict, avg_cost, 0, 1)
        return
    port = os.getenv("PADDLE_PSERVER_PORT", "6174")
    pserver_endpoints = ",".join(
        ":".join([ip, port]) for ip in os.getenv("PADDLE_PSERVER_IPS", "").split(",")
    )
    trainers = int(os.getenv("PADDLE_TRAINERS", "1"))
    trainer_id = int(os.getenv("PADDLE_TRAINER_ID", "0"))
    current_endpoint = os.getenv("PADDLE_CURRENT_IP", "") + ":" + port
    config = fluid.DistributeTranspilerConfig()
    config.slice_var_up = not args.no_split_var
    config.split_method = fluid.transpiler.ps_dispatcher.RoundRobin
    t = fluid.DistributeTranspiler(config=config)
    t.transpile(
        trainer_id, pservers=pserver_endpoints, trainers=trainers, sync_mode=not args.async_mode
    )
    if training_role == "PSERVER":
        pserver_prog, pserver_startup = t.get_pserver_programs(current_endpoint)
        exe.run(pserver_startup)
        exe.run(pserver_prog)
        print("pserver %s is done" % current_endpoint)
    elif training_role == "TRAINER":
        trainer_prog = t.get_trainer_program()
        train_loop(
            exe, trainer_prog, test_program, feeds, y_predict, avg_cost, trainer_id, trainers
        )
        exe.close()
    else:
        raise ValueError("PADDLE_TRAINING_ROLE must be PSERVER or TRAINER")


if __name__ == "__main__":
    main()
