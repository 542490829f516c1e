"""A click model of the 1.8 era: sparse slots, a data set of files, train_from_dataset."""

import argparse
import os

import paddle.fluid as fluid

SLOTS = 26
DENSE = 13


def parse_args():
    parser = argparse.ArgumentParser(description="ctr dnn")
    parser.add_argument("--train_files", required=True)
    parser.add_argument("--reader", default="ctr_reader.py")
    parser.add_argument("--embedding_size", type=int, default=10)
    parser.add_argument("--sparse_feature_dim", type=int, default=100001)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--thread", type=int, default=1)
    parser.add_argument("--model_dir", default="ctr_models")
    return parser.parse_args()


def ctr_dnn_model(embedding_size, sparse_feature_dim):
    dense_input = fluid.layers.data(name="dense_input", shape=[DENSE], dtype="float32")
    sparse_input_ids = [
        fluid.layers.data(name="C" + str(i), shape=[1], lod_level=1, dtype="int64")
        for i in range(1, SLOTS + 1)
    ]
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")

    def embedding_layer(input):
        emb = fluid.layers.embedding(
            input=input,
            is_sparse=True,
            size=[sparse_feature_dim, embedding_size],
            param_attr=fluid.ParamAttr(
                name="SparseFeatFactors", initializer=fluid.initializer.Uniform()
            ),
        )
        return fluid.layers.sequence_pool(input=emb, pool_type="average")

    sparse_embed_seq = list(map(embedding_layer, sparse_input_ids))
    concated = fluid.layers.concat(sparse_embed_seq + [dense_input], axis=1)
    fc = concated
    for i, size in enumerate([64, 32, 16]):
        fc = fluid.layers.fc(
            input=fc,
            size=size,
            act="relu",
            param_attr=fluid.ParamAttr(
                initializer=fluid.initializer.Normal(scale=1 / (fc.shape[1] ** 0.5))
            ),
            name="fc_%d" % i,
        )
    predict = fluid.layers.fc(
        input=fc,
        size=2,
        act="softmax",
        param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=1 / 16**0.5)),
    )
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    avg_cost = fluid.layers.reduce_sum(cost)
    accuracy = fluid.layers.accuracy(input=predict, label=label)
    auc_var, batch_auc_var, auc_states = fluid.layers.auc(
        input=predict, label=label, num_thresholds=2**12, slide_steps=20
    )
    return avg_cost, auc_var, batch_auc_var, [dense_input] + sparse_input_ids + [label]


def main():
    args = parse_args()
    avg_cost, auc_var, batch_auc_var, data_list = ctr_dnn_model(
        args.embedding_size, args.sparse_feature_dim
    )
    optimizer = fluid.optimizer.Adam(learning_rate=1e-3, lazy_mode=True)
    optimizer.minimize(avg_cost)

    dataset = fluid.DatasetFactory().create_dataset()
    dataset.set_use_var(data_list)
    dataset.set_pipe_command("python " + args.reader)
    dataset.set_batch_size(100)
    dataset.set_filelist(
        [os.path.join(args.train_files, name) for name in sorted(os.listdir(args.train_files))]
    )
    dataset.set_thread(args.thread)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for epoch in range(args.epochs):
        exe.train_from_dataset(
            program=fluid.default_main_program(),
            dataset=dataset,
            fetch_list=[auc_var],
            fetch_info=[f"Epoch {epoch} auc "],
            print_period=20,
            debug=False,
        )
        print("epoch %d done" % epoch)
        fluid.io.save_persistables(exe, os.path.join(args.model_dir, "epoch_%d" % epoch))


if __name__ == "__main__":
    main()
