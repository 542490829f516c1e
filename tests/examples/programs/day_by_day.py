"""A click model that trains day by day on pslib's fleet, as programs of 1.6 to 1.8 wrote it."""

import logging
import os
import sys

import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base.role_maker import GeneralRoleMaker
from paddle.fluid.incubate.fleet.parameter_server.pslib import fleet
from paddle.fluid.incubate.fleet.utils.fleet_util import FleetUtil

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s", level=logging.INFO)

DAYS = sys.argv[1].split(",")
OUTPUT = "pslib_models"
EMBEDDING = 11

config = {
    "use_cvm": False,
    "embedding": {
        "sparse_table_class": "DownpourSparseTable",
        "sparse_accessor_class": "DownpourCtrAccessor",
        "sparse_embedx_dim": EMBEDDING - 3,
        "sparse_learning_rate": 0.05,
        "sparse_initial_range": 1e-4,
        "sparse_delete_after_unseen_days": 2,
    },
}


def network(slots):
    show = fluid.layers.data(name="label", shape=[1], dtype="int64")
    dense = fluid.layers.data(name="dense_input", shape=[13], dtype="float32")
    inputs, bows = [], []
    for slot in slots:
        data = fluid.layers.data(name=slot, shape=[1], dtype="int64", lod_level=1)
        emb = fluid.layers.embedding(
            input=data,
            size=[1, EMBEDDING],
            is_sparse=True,
            is_distributed=True,
            param_attr=fluid.ParamAttr(name="embedding"),
        )
        bows.append(fluid.layers.sequence_pool(input=emb, pool_type="sum"))
        inputs.append(data)
    hidden = fluid.layers.concat(bows + [dense], axis=1)
    for size in (64, 32):
        hidden = fluid.layers.fc(input=hidden, size=size, act="relu")
    predict = fluid.layers.fc(input=hidden, size=1, act="sigmoid")
    cost = fluid.layers.log_loss(predict, fluid.layers.cast(show, "float32"))
    avg_cost = fluid.layers.reduce_mean(cost)
    two = fluid.layers.concat([1 - predict, predict], axis=1)
    auc, batch_auc, [batch_pos, batch_neg, pos, neg] = fluid.layers.auc(
        input=two, label=show, num_thresholds=2**12, slide_steps=1
    )
    return [dense] + inputs + [show], avg_cost, auc, (pos, neg)


def dataset_of(day, inputs):
    dataset = fluid.DatasetFactory().create_dataset("InMemoryDataset")
    dataset.set_use_var(inputs)
    dataset.set_pipe_command("python ctr_reader.py")
    dataset.set_batch_size(50)
    dataset.set_thread(1)
    files = sorted(os.path.join(day, name) for name in os.listdir(day))
    dataset.set_filelist(files[fleet.worker_index() :: fleet.worker_num()])
    dataset.set_date(day)
    dataset.load_into_memory()
    dataset.global_shuffle(fleet, 12)
    return dataset


def main():
    fleet.init(GeneralRoleMaker())
    util = FleetUtil()
    inputs, avg_cost, auc, (pos, neg) = network(["C%d" % i for i in range(1, 27)])
    adam = fluid.optimizer.Adam(learning_rate=0.001)
    optimizer = fleet.distributed_optimizer(adam, strategy=config)
    optimizer.minimize([avg_cost], [fluid.global_scope()])
    if fleet.is_server():
        fleet.run_server()
        return
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fleet.init_worker()
    for pass_id, day in enumerate(DAYS, 1):
        dataset = dataset_of(day, inputs)
        util.rank0_print("day %s: %d samples" % (day, dataset.get_memory_data_size(fleet)))
        for _ in range(2):
            exe.train_from_dataset(
                program=fluid.default_main_program(),
                dataset=dataset,
                scope=fluid.global_scope(),
                fetch_list=[auc],
                fetch_info=["auc"],
                print_period=20,
                debug=False,
            )
        dataset.release_memory()
        util.print_global_auc(fluid.global_scope(), pos.name, neg.name, "day " + day)
        for one in (pos, neg):
            util.set_zero(one.name, fluid.global_scope())
        fleet.print_table_stat(0)
        fleet.shrink_sparse_table()
        util.save_delta_model(OUTPUT, day, pass_id)
    fleet.save_persistables(exe, OUTPUT + "/final", mode=0)
    fleet.clear_model()
    fleet.print_table_stat(0)
    fleet.load_model(OUTPUT + "/final", mode=0)
    fleet.print_table_stat(0)
    fleet.stop_worker()


main()
