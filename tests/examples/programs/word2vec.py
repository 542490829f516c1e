"""An n-gram model as the book of the fluid era builds it: one embedding for four words."""

import sys

import numpy
import paddle
import paddle.fluid as fluid

EMBED_SIZE, HIDDEN_SIZE, N, BATCH_SIZE = 16, 64, 5, 100
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
word_dict = paddle.dataset.imikolov.build_dict(min_word_freq=20)
dict_size = len(word_dict)


def network(words, is_sparse):
    embeds = [
        fluid.embedding(
            input=word,
            size=[dict_size, EMBED_SIZE],
            dtype="float32",
            is_sparse=is_sparse,
            param_attr="shared_w",
        )
        for word in words[:4]
    ]
    concat_embed = fluid.layers.concat(input=embeds, axis=1)
    concat_embed = fluid.layers.reshape(concat_embed, shape=[-1, 4 * EMBED_SIZE])
    hidden1 = fluid.layers.fc(input=concat_embed, size=HIDDEN_SIZE, act="sigmoid")
    predict_word = fluid.layers.fc(input=hidden1, size=dict_size, act="softmax")
    cost = fluid.layers.cross_entropy(input=predict_word, label=words[4])
    return fluid.layers.mean(cost), predict_word


def main(is_sparse=True):
    names = ["firstw", "secondw", "thirdw", "fourthw", "nextw"]
    words = [fluid.data(name=name, shape=[None, 1], dtype="int64") for name in names]
    avg_cost, predict_word = network(words, is_sparse)
    sgd_optimizer = fluid.optimizer.AdagradOptimizer(
        learning_rate=0.05,
        regularization=fluid.regularizer.L2DecayRegularizer(regularization_coeff=8e-6),
    )
    sgd_optimizer.minimize(avg_cost)
    train_reader = paddle.batch(paddle.dataset.imikolov.train(word_dict, N), BATCH_SIZE)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(feed_list=words, place=place)
    exe.run(fluid.default_startup_program())
    step = 0
    for data in train_reader():
        avg_cost_np = exe.run(
            fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost]
        )
        if step % 50 == 0:
            print("Step %d: Average Cost %f" % (step, avg_cost_np[0]))
        if step == STEPS:
            break
        step += 1
    fluid.io.save_inference_model("word2vec.model", names[:4], [predict_word], exe)
    first = fluid.create_lod_tensor([[211 % dict_size]], [[1]], place)
    program, feeds, fetches = fluid.io.load_inference_model("word2vec.model", exe)
    results = exe.run(
        program, feed={name: first for name in feeds}, fetch_list=fetches, return_numpy=False
    )
    print("words and their likelihood:", numpy.array(results[0]).shape)


main()
