"""A click model on parameter servers, as fleet programs of 1.5 to 1.8 wrote it.

    fleetrun --server_num 2 --worker_num 2 ctr_fleet.py --train_dir DIR
    python ctr_fleet.py --infer --test_dir DIR
"""

import argparse
import logging
import math
import os
import time

import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import (
    StrategyFactory,
)
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s")
logger = logging.getLogger("fluid")
logger.setLevel(logging.INFO)

DENSE_DIM, SLOTS, HASH_DIM = 13, 26, 100001


def parse_args():
    parser = argparse.ArgumentParser("ctr on fleet")
    parser.add_argument("--train_dir", default="clicks/train")
    parser.add_argument("--test_dir", default="clicks/test")
    parser.add_argument("--model_path", default="fleet_models")
    parser.add_argument("--mode", default="sync", choices=["sync", "async", "half_async", "geo"])
    parser.add_argument("--reader", default="dataset", choices=["dataset", "py_reader"])
    parser.add_argument("--batch_size", type=int, default=100)
    parser.add_argument("--embedding_size", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--infer", action="store_true")
    return parser.parse_args()


class CTR(object):
    def input_data(self):
        dense_input = fluid.layers.data(name="dense_input", shape=[DENSE_DIM], dtype="float32")
        sparse_input_ids = [
            fluid.layers.data(name="C" + str(i), shape=[1], lod_level=1, dtype="int64")
            for i in range(1, SLOTS + 1)
        ]
        label = fluid.layers.data(name="label", shape=[1], dtype="int64")
        return [dense_input] + sparse_input_ids + [label]

    def net(self, inputs, embedding_size):
        def embedding_layer(input):
            emb = fluid.layers.embedding(
                input=input,
                is_sparse=True,
                is_distributed=False,
                size=[HASH_DIM, embedding_size],
                param_attr=fluid.ParamAttr(
                    name="SparseFeatFactors", initializer=fluid.initializer.Uniform()
                ),
            )
            return fluid.layers.sequence_pool(input=emb, pool_type="average")

        def fc(input, size, act):
            return fluid.layers.fc(
                input=input,
                size=size,
                act=act,
                param_attr=fluid.ParamAttr(
                    initializer=fluid.initializer.Normal(scale=1 / math.sqrt(input.shape[1]))
                ),
            )

        sparse_embed_seq = list(map(embedding_layer, inputs[1:-1]))
        hidden = fluid.layers.concat(sparse_embed_seq + inputs[0:1], axis=1)
        for size in (64, 64, 32):
            hidden = fc(hidden, size, "relu")
        predict = fc(hidden, 2, "softmax")
        cost = fluid.layers.cross_entropy(input=predict, label=inputs[-1])
        avg_cost = fluid.layers.reduce_sum(cost)
        accuracy = fluid.layers.accuracy(input=predict, label=inputs[-1])
        auc_var, batch_auc_var, _ = fluid.layers.auc(
            input=predict, label=inputs[-1], num_thresholds=2**12, slide_steps=20
        )
        return avg_cost, auc_var, batch_auc_var, accuracy, predict


def get_strategy(args):
    if args.mode == "sync":
        strategy = DistributeTranspilerConfig()
        strategy.sync_mode = True
        return strategy
    if args.mode == "async":
        strategy = DistributeTranspilerConfig()
        strategy.sync_mode = False
        strategy.runtime_split_send_recv = True
        return strategy
    if args.mode == "half_async":
        return StrategyFactory.create_half_async_strategy()
    return StrategyFactory.create_geo_strategy(10)


def file_list(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def train_with_dataset(args, exe, inputs, avg_cost, auc_var):
    dataset = fluid.DatasetFactory().create_dataset()
    dataset.set_use_var(inputs)
    dataset.set_pipe_command("python ctr_reader.py")
    dataset.set_batch_size(args.batch_size)
    dataset.set_thread(int(os.getenv("CPU_NUM", "1")))
    files = file_list(args.train_dir)
    dataset.set_filelist(files[fleet.worker_index() :: fleet.worker_num()])
    for epoch in range(args.epochs):
        start_time = time.time()
        exe.train_from_dataset(
            program=fleet.main_program,
            dataset=dataset,
            fetch_list=[auc_var],
            fetch_info=["Epoch {} auc ".format(epoch)],
            print_period=10,
            debug=False,
        )
        logger.info("epoch %d finished, use time=%d" % (epoch, time.time() - start_time))
        if fleet.is_first_worker():
            model_path = "{}/epoch_{}".format(args.model_path, epoch)
            fleet.save_persistables(executor=exe, dirname=model_path)


def criteo(path):
    """Samples of a file for a reader in Python."""
    import zlib

    mins = [0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    spans = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
    with open(path) as lines:
        for line in lines:
            features = line.rstrip("\n").split("\t")
            dense = [
                0.0 if value == "" else (float(value) - low) / span
                for value, low, span in zip(features[1:14], mins, spans)
            ]
            sparse = [
                [zlib.crc32((str(idx) + features[idx]).encode()) % HASH_DIM]
                for idx in range(14, 40)
            ]
            yield [dense] + sparse + [[int(features[0])]]


def train_with_py_reader(args, exe, reader, avg_cost, auc_var, batch_auc_var):
    files = fleet.split_files(file_list(args.train_dir))

    def samples():
        for path in files:
            for sample in criteo(path):
                yield sample

    reader.decorate_paddle_reader(
        paddle.batch(
            paddle.reader.shuffle(samples, buf_size=args.batch_size * 100),
            batch_size=args.batch_size,
        )
    )
    exec_strategy = fluid.ExecutionStrategy()
    exec_strategy.num_threads = int(os.getenv("CPU_NUM", "1"))
    build_strategy = fluid.BuildStrategy()
    build_strategy.async_mode = args.mode == "async"
    compiled_prog = fluid.compiler.CompiledProgram(fleet.main_program).with_data_parallel(
        loss_name=avg_cost.name, build_strategy=build_strategy, exec_strategy=exec_strategy
    )
    for epoch in range(args.epochs):
        reader.start()
        batch_id = 0
        try:
            while True:
                loss_val, auc_val, batch_auc_val = exe.run(
                    program=compiled_prog,
                    fetch_list=[avg_cost.name, auc_var.name, batch_auc_var.name],
                )
                if batch_id % 10 == 0 and batch_id != 0:
                    print(
                        "TRAIN --> pass: {} batch: {} loss: {:.4f} auc: {:.4f}".format(
                            epoch, batch_id, np.mean(loss_val) / args.batch_size, np.mean(auc_val)
                        )
                    )
                batch_id += 1
        except fluid.core.EOFException:
            reader.reset()
        if fleet.is_first_worker():
            model_path = "{}/epoch_{}".format(args.model_path, epoch)
            fluid.io.save_persistables(executor=exe, dirname=model_path)


def train(args):
    role = role_maker.PaddleCloudRoleMaker()
    fleet.init(role)
    fluid.default_startup_program().random_seed = args.seed
    model = CTR()
    inputs = model.input_data()
    reader = None
    words = inputs
    if args.reader == "py_reader":
        reader = fluid.layers.create_py_reader_by_data(
            capacity=64, feed_list=inputs, name="py_reader", use_double_buffer=False
        )
        words = fluid.layers.read_file(reader)
    avg_cost, auc_var, batch_auc_var, _, predict = model.net(words, args.embedding_size)
    if args.mode == "geo":
        optimizer = fluid.optimizer.SGD(args.learning_rate)
    else:
        optimizer = fluid.optimizer.Adam(args.learning_rate, lazy_mode=True)
    optimizer = fleet.distributed_optimizer(optimizer, get_strategy(args))
    optimizer.minimize(avg_cost)

    if fleet.is_server():
        fleet.init_server()
        logger.info("PServer init success!")
        fleet.run_server()
    elif fleet.is_worker():
        fleet.init_worker()
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fleet.startup_program)
        if reader is None:
            train_with_dataset(args, exe, inputs, avg_cost, auc_var)
            if fleet.is_first_worker():
                names = [var.name for var in inputs[:-1]]
                fleet.save_inference_model(exe, args.model_path + "/serving", names, [predict])
        else:
            train_with_py_reader(args, exe, reader, avg_cost, auc_var, batch_auc_var)
        fleet.stop_worker()
        logger.info("Distribute Train Success!")


def infer(args, model_path):
    place = fluid.CPUPlace()
    startup_program = fluid.framework.Program()
    test_program = fluid.framework.Program()

    def samples():
        for path in file_list(args.test_dir):
            for sample in criteo(path):
                yield sample

    def set_zero(var_name):
        param = fluid.global_scope().var(var_name).get_tensor()
        param.set(np.zeros(param._get_dims()).astype("int64"), place)

    with fluid.framework.program_guard(test_program, startup_program):
        with fluid.unique_name.guard():
            model = CTR()
            inputs = model.input_data()
            loss, auc_var, _, _, _ = model.net(inputs, args.embedding_size)
            exe = fluid.Executor(place)
            feeder = fluid.DataFeeder(feed_list=inputs, place=place)
            fluid.io.load_persistables(
                executor=exe, dirname=model_path, main_program=fluid.default_main_program()
            )
            for i in range(4):
                set_zero("_generated_var_%d" % i)
            for data in paddle.batch(samples, batch_size=args.batch_size)():
                loss_val, auc_val = exe.run(
                    test_program, feed=feeder.feed(data), fetch_list=[loss, auc_var]
                )
            print("TEST --> {} loss: {:.4f} auc: {:.4f}".format(
                model_path, float(loss_val[0]) / args.batch_size, float(auc_val[0])
            ))  # fmt: skip


if __name__ == "__main__":
    arguments = parse_args()
    if arguments.infer:
        for epoch in range(arguments.epochs):
            infer(arguments, "{}/epoch_{}".format(arguments.model_path, epoch))
    else:
        train(arguments)
