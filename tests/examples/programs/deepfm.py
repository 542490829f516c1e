"""DeepFM of the 2.x era: embeddings of two orders, an in-memory data set, train_from_dataset."""

import os
import sys

import paddle
import paddle.nn.functional as F

paddle.enable_static()

DENSE, SLOTS, FEATURES, FACTORS = 13, 26, 100001, 9


class FM(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        normal = paddle.nn.initializer.TruncatedNormal(mean=0.0, std=0.1 / FACTORS**0.5)
        self.embedding_one = paddle.nn.Embedding(
            FEATURES, 1, sparse=True, padding_idx=0,
            weight_attr=paddle.ParamAttr(name="one", initializer=normal),
        )  # fmt: skip
        self.embedding = paddle.nn.Embedding(
            FEATURES, FACTORS, sparse=True, padding_idx=0,
            weight_attr=paddle.ParamAttr(name="factors", initializer=normal),
        )  # fmt: skip
        self.dense_w_one = self.create_parameter(
            shape=[DENSE], default_initializer=paddle.nn.initializer.Constant(0.01)
        )
        self.dense_w = self.create_parameter(
            shape=[1, DENSE, FACTORS], default_initializer=paddle.nn.initializer.Constant(0.01)
        )

    def forward(self, sparse_inputs, dense_inputs):
        ids = paddle.concat(sparse_inputs, axis=1)
        first_sparse = paddle.sum(self.embedding_one(ids), axis=1)
        first_dense = paddle.sum(
            paddle.multiply(dense_inputs, self.dense_w_one), axis=1, keepdim=True
        )
        dense_embeddings = paddle.multiply(paddle.unsqueeze(dense_inputs, axis=2), self.dense_w)
        features = paddle.concat([self.embedding(ids), dense_embeddings], axis=1)
        summed_square = paddle.square(paddle.sum(features, axis=1))
        square_summed = paddle.sum(paddle.square(features), axis=1)
        second = 0.5 * paddle.sum(summed_square - square_summed, axis=1, keepdim=True)
        return first_sparse + first_dense, second, features


class DNN(paddle.nn.Layer):
    def __init__(self, sizes):
        super().__init__()
        sizes = [(DENSE + SLOTS) * FACTORS] + sizes + [1]
        self.layers = []
        for i in range(len(sizes) - 1):
            linear = paddle.nn.Linear(
                sizes[i],
                sizes[i + 1],
                weight_attr=paddle.ParamAttr(
                    initializer=paddle.nn.initializer.Normal(std=0.1 / sizes[i] ** 0.5)
                ),
            )
            self.add_sublayer("linear_%d" % i, linear)
            self.layers.append(linear)

    def forward(self, features):
        y = paddle.reshape(features, shape=[-1, (DENSE + SLOTS) * FACTORS])
        for linear in self.layers[:-1]:
            y = F.relu(linear(y))
        return self.layers[-1](y)


def main(folder):
    dense_input = paddle.static.data("dense_input", [None, DENSE], "float32")
    sparse_inputs = [paddle.static.data("C%d" % i, [None, 1], "int64") for i in range(1, SLOTS + 1)]
    label = paddle.static.data("label", [None, 1], "int64")
    first, second, features = FM()(sparse_inputs, dense_input)
    predict = F.sigmoid(first + second + DNN([64, 32])(features))
    cost = F.log_loss(input=predict, label=paddle.cast(label, "float32"))
    avg_cost = paddle.mean(cost)
    predict_2d = paddle.concat([1 - predict, predict], axis=1)
    auc, batch_auc, _ = paddle.static.auc(
        input=predict_2d, label=label, num_thresholds=2**12, slide_steps=20
    )
    infer_program = paddle.static.default_main_program().clone(for_test=True)
    optimizer = paddle.optimizer.Adam(learning_rate=0.001, lazy_mode=True)
    optimizer.minimize(avg_cost)

    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(
        batch_size=100,
        thread_num=1,
        pipe_command="python ctr_reader.py",
        use_var=[dense_input] + sparse_inputs + [label],
    )
    dataset.set_filelist([os.path.join(folder, name) for name in sorted(os.listdir(folder))])
    dataset.load_into_memory()
    print("samples in memory: %d" % dataset.get_memory_data_size())
    for epoch in range(3):
        dataset.local_shuffle()
        exe.train_from_dataset(
            paddle.static.default_main_program(), dataset, fetch_list=[avg_cost, auc],
            fetch_info=["cost", "auc"], print_period=20,
        )  # fmt: skip
        print(f"epoch {epoch} done")
    exe.infer_from_dataset(
        infer_program, dataset, fetch_list=[avg_cost], fetch_info=["cost"], print_period=1000
    )
    dataset.release_memory()
    paddle.static.save(paddle.static.default_main_program(), "deepfm")


main(sys.argv[1])
