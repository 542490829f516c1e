"""DeepFM on parameter servers, as 2.x wrote it: sparse_embedding, a data set in memory,
train_from_dataset, evaluation over all workers.

    fleetrun --server_num 1 --worker_num 2 deepfm_fleet.py --train_data DIR --test_data DIR
"""

import argparse
import logging
import os
import time

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.nn.functional as F

try:
    from paddle.base.executor import FetchHandler
except ImportError:  # before 2.5
    from paddle.fluid.executor import FetchHandler

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s", level=logging.INFO)
logger = logging.getLogger(__name__)

DENSE, SLOTS, FACTORS = 13, 26, 9


def parse_args():
    parser = argparse.ArgumentParser("deepfm")
    parser.add_argument("--train_data", default="clicks/train")
    parser.add_argument("--test_data", default="clicks/test")
    parser.add_argument("--sync_mode", default="async", choices=["sync", "async", "geo"])
    parser.add_argument("--batch_size", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--save_model_path", default="deepfm_model")
    parser.add_argument("--warmup", default=None, help="a model to start from")
    parser.add_argument("--admit", type=int, default=0, help="after how many times an id has a row")
    return parser.parse_args()


class FetchAuc(FetchHandler):
    def handler(self, res_dict):
        for name in res_dict:
            if res_dict[name] is not None:
                logger.info("now %s is %s", name, np.array(res_dict[name]).ravel())


class DeepFM(object):
    def __init__(self, args):
        self.args = args

    def embedding(self, ids, width, name):
        if self.args.sync_mode == "geo":
            rows = paddle.static.nn.embedding(
                input=ids,
                size=[100001, width],
                is_sparse=True,
                param_attr=paddle.ParamAttr(
                    name=name, initializer=paddle.nn.initializer.Uniform(-0.01, 0.01)
                ),
            )
            return paddle.squeeze(rows, axis=1)
        entry = paddle.distributed.CountFilterEntry(self.args.admit) if self.args.admit else None
        return paddle.static.nn.sparse_embedding(
            input=ids,
            size=[100001, width],
            entry=entry,
            param_attr=paddle.ParamAttr(
                name=name, initializer=paddle.nn.initializer.Uniform(-0.01, 0.01)
            ),
        )

    def create_feeds(self):
        dense = paddle.static.data(name="dense_input", shape=[None, DENSE], dtype="float32")
        sparse = [
            paddle.static.data(name="C" + str(i), shape=[None, 1], lod_level=1, dtype="int64")
            for i in range(1, SLOTS + 1)
        ]
        label = paddle.static.data(name="label", shape=[None, 1], dtype="int64")
        return [dense] + sparse + [label]

    def net(self, inputs):
        dense, sparse, label = inputs[0], inputs[1:-1], inputs[-1]
        first = [
            paddle.static.nn.sequence_pool(self.embedding(ids, 1, "first_order"), "sum")
            for ids in sparse
        ]
        factors = [
            paddle.static.nn.sequence_pool(self.embedding(ids, FACTORS, "factors"), "sum")
            for ids in sparse
        ]
        linear = paddle.static.nn.fc(paddle.concat(first + [dense], axis=1), size=1)
        stacked = paddle.stack(factors, axis=1)
        square_of_sum = paddle.square(paddle.sum(stacked, axis=1))
        sum_of_square = paddle.sum(paddle.square(stacked), axis=1)
        pairs = 0.5 * paddle.sum(square_of_sum - sum_of_square, axis=1, keepdim=True)
        deep = paddle.concat(factors + [dense], axis=1)
        for i, size in enumerate([64, 32]):
            deep = paddle.static.nn.fc(
                x=deep,
                size=size,
                activation="relu",
                weight_attr=paddle.ParamAttr(
                    initializer=paddle.nn.initializer.Normal(std=1.0 / np.sqrt(deep.shape[1]))
                ),
                name="deep_%d" % i,
            )
        deep = paddle.static.nn.fc(deep, size=1, name="deep_out")
        predict = F.sigmoid(linear + pairs + deep)
        two = paddle.concat([1 - predict, predict], axis=1)
        self.auc, _, states = paddle.static.auc(input=two, label=label, num_thresholds=2**12)
        self.stat_pos, self.stat_neg = states[2], states[3]
        cost = F.log_loss(predict, paddle.cast(label, "float32"))
        self.predict, self.cost = predict, paddle.mean(x=cost)
        return self.cost

    def minimize(self):
        strategy = fleet.DistributedStrategy()
        if self.args.sync_mode == "sync":
            strategy.a_sync = False
        elif self.args.sync_mode == "async":
            strategy.a_sync = True
            strategy.a_sync_configs = {"send_queue_size": 4, "max_merge_var_num": 4}
        else:
            strategy.a_sync = True
            strategy.a_sync_configs = {"k_steps": 10}
        if self.args.sync_mode == "geo":
            optimizer = paddle.optimizer.SGD(learning_rate=0.5)
        else:
            optimizer = paddle.optimizer.Adam(learning_rate=0.002, lazy_mode=True)
        optimizer = fleet.distributed_optimizer(optimizer, strategy)
        optimizer.minimize(self.cost)


def file_list(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def dataset_of(args, inputs, files, kind="InMemoryDataset"):
    dataset = getattr(paddle.distributed, kind)()
    dataset.init(
        use_var=inputs,
        pipe_command="python ctr_reader.py",
        batch_size=args.batch_size,
        thread_num=1,
    )
    dataset.set_filelist(files)
    return dataset


def clear(*names):
    """Start counting anew."""
    for name in names:
        tensor = paddle.static.global_scope().find_var(name).get_tensor()
        tensor.set(np.zeros(np.array(tensor).shape, "int64"), paddle.CPUPlace())


def run_worker(args, model, inputs):
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    dataset = dataset_of(args, inputs, fleet.util.get_file_shard(file_list(args.train_data)))
    dataset.load_into_memory()
    dataset.global_shuffle(fleet, 12)
    logger.info("samples after the shuffle: %d", dataset.get_shuffle_data_size(fleet))
    for epoch in range(args.epochs):
        begun = time.time()
        exe.train_from_dataset(
            paddle.static.default_main_program(),
            dataset,
            fetch_list=[model.cost, model.auc],
            fetch_info=["Epoch %d cost" % epoch, "auc"],
            print_period=10,
            fetch_handler=FetchAuc({"auc": model.auc}, period_secs=1) if epoch else None,
        )
        fleet.barrier_worker()
        auc = fleet.metrics.auc(model.stat_pos, model.stat_neg)
        clear(model.stat_pos.name, model.stat_neg.name)
        if fleet.is_first_worker():
            print("epoch %d: train auc %.4f, %.1f s" % (epoch, auc, time.time() - begun))
            fleet.save_persistables(exe, "%s/epoch_%d" % (args.save_model_path, epoch))
    dataset.release_memory()
    test_set = dataset_of(
        args, inputs, fleet.util.get_file_shard(file_list(args.test_data)), "QueueDataset"
    )
    exe.infer_from_dataset(
        paddle.static.default_main_program(),
        test_set,
        fetch_list=[model.auc],
        fetch_info=["test"],
        print_period=100,
    )
    fleet.barrier_worker()
    auc = fleet.metrics.auc(model.stat_pos, model.stat_neg)
    if fleet.is_first_worker():
        print("test auc %.4f" % auc)
        fleet.save_inference_model(
            exe,
            args.save_model_path + "/inference",
            [feed.name for feed in inputs[:-1]],
            [model.predict],
        )
    fleet.stop_worker()
    logger.info("Run Success, Exit.")


def main():
    args = parse_args()
    paddle.enable_static()
    fleet.init()
    model = DeepFM(args)
    inputs = model.create_feeds()
    model.net(inputs)
    model.minimize()
    if fleet.is_server():
        fleet.init_server(args.warmup)
        fleet.run_server()
    elif fleet.is_worker():
        run_worker(args, model, inputs)


if __name__ == "__main__":
    main()
