"""A convolutional net of the 1.8 era: fluid.nets, a data loader, a compiled program, checkpoints."""

import sys

import numpy as np
import paddle
import paddle.fluid as fluid

BATCH_SIZE = 64
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200


def convolutional_neural_network(img, label):
    conv_pool_1 = fluid.nets.simple_img_conv_pool(
        input=img, filter_size=5, num_filters=20, pool_size=2, pool_stride=2, act="relu"
    )
    conv_pool_1 = fluid.layers.batch_norm(conv_pool_1)
    conv_pool_2 = fluid.nets.simple_img_conv_pool(
        input=conv_pool_1, filter_size=5, num_filters=50, pool_size=2, pool_stride=2, act="relu"
    )
    drop = fluid.layers.dropout(conv_pool_2, dropout_prob=0.2)
    prediction = fluid.layers.fc(input=drop, size=10, act="softmax")
    cost = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_cost = fluid.layers.mean(cost)
    acc = fluid.layers.accuracy(input=prediction, label=label)
    return prediction, avg_cost, acc


def main():
    img = fluid.data(name="img", shape=[None, 1, 28, 28], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    prediction, avg_loss, acc = convolutional_neural_network(img, label)
    test_program = fluid.default_main_program().clone(for_test=True)
    boundaries, values = [STEPS // 2], [0.002, 0.0005]
    optimizer = fluid.optimizer.Adam(
        learning_rate=fluid.layers.piecewise_decay(boundaries, values),
        regularization=fluid.regularizer.L2Decay(1e-5),
    )
    optimizer.minimize(avg_loss)

    train_reader = paddle.batch(
        paddle.reader.shuffle(paddle.dataset.mnist.train(), buf_size=2000), batch_size=BATCH_SIZE
    )
    test_reader = paddle.batch(
        paddle.reader.firstn(paddle.dataset.mnist.test(), 1000), batch_size=BATCH_SIZE
    )
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    loader = fluid.io.DataLoader.from_generator(feed_list=[img, label], capacity=16)
    loader.set_sample_list_generator(train_reader, places=fluid.cpu_places(1))
    compiled = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
        loss_name=avg_loss.name
    )
    metrics = fluid.metrics.Accuracy()
    for step, data in enumerate(loader()):
        loss, accuracy = exe.run(compiled, feed=data, fetch_list=[avg_loss, acc])
        metrics.update(value=accuracy, weight=BATCH_SIZE)
        if step % 50 == 0:
            print("step %d, loss %f, acc %f" % (step, loss[0], metrics.eval()))
            metrics.reset()
        if step == STEPS:
            break
    feeder = fluid.DataFeeder(feed_list=[img, label], place=place)
    accs = []
    for data in test_reader():
        accs.append(exe.run(test_program, feed=feeder.feed(data), fetch_list=[acc])[0])
    print("test acc %f" % np.array(accs).mean())
    fluid.save(fluid.default_main_program(), "lenet")
    fluid.io.save_inference_model(
        "lenet.model", ["img"], [prediction], exe, params_filename="__params__"
    )
    state = fluid.load_program_state("lenet")
    fluid.set_program_state(fluid.default_main_program(), state)
    again = exe.run(test_program, feed=feeder.feed(data), fetch_list=[acc])
    print("the same again: %s" % bool(again[0] == accs[-1]))


main()
