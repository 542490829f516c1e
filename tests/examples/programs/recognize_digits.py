"""Digits with the high-level API of 0.14: Trainer, events, Inferencer."""

import sys

import numpy
import paddle
import paddle.fluid as fluid

BATCH_SIZE = 64
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200


def inference_program():
    img = fluid.layers.data(name="img", shape=[1, 28, 28], dtype="float32")
    conv_pool_1 = fluid.nets.simple_img_conv_pool(
        input=img, filter_size=5, num_filters=20, pool_size=2, pool_stride=2, act="relu"
    )
    conv_pool_1 = fluid.layers.batch_norm(conv_pool_1)
    conv_pool_2 = fluid.nets.simple_img_conv_pool(
        input=conv_pool_1, filter_size=5, num_filters=50, pool_size=2, pool_stride=2, act="relu"
    )
    return fluid.layers.fc(input=conv_pool_2, size=10, act="softmax")


def train_program():
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    predict = inference_program()
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    avg_cost = fluid.layers.mean(cost)
    acc = fluid.layers.accuracy(input=predict, label=label)
    return [avg_cost, acc]


def optimizer_program():
    return fluid.optimizer.Adam(learning_rate=0.001)


def main():
    train_reader = paddle.batch(
        paddle.reader.shuffle(paddle.dataset.mnist.train(), buf_size=500), batch_size=BATCH_SIZE
    )
    test_reader = paddle.batch(
        paddle.reader.firstn(paddle.dataset.mnist.test(), 1024), batch_size=BATCH_SIZE
    )
    trainer = fluid.Trainer(
        train_func=train_program, place=fluid.CPUPlace(), optimizer_func=optimizer_program
    )
    params_dirname = "recognize_digits_network.inference.model"

    def event_handler(event):
        if isinstance(event, fluid.EndStepEvent):
            if event.step % 50 == 0:
                print("Pass %d, Batch %d, Cost %f" % (event.step, event.epoch, event.metrics[0]))
            if event.step == STEPS:
                avg_cost, acc = trainer.test(reader=test_reader, feed_order=["img", "label"])
                print("Test with Epoch %d, avg_cost: %s, acc: %s" % (event.epoch, avg_cost, acc))
                trainer.save_params(params_dirname)
                trainer.stop()

    trainer.train(
        num_epochs=1,
        event_handler=event_handler,
        reader=train_reader,
        feed_order=["img", "label"],
    )
    inferencer = fluid.Inferencer(
        infer_func=inference_program, param_path=params_dirname, place=fluid.CPUPlace()
    )
    image, label = next(paddle.dataset.mnist.test()())
    results = inferencer.infer({"img": image.reshape(1, 1, 28, 28)})
    order = numpy.argsort(results)
    print("Inference result, label %d, image is: %d" % (label, order[0][0][-1]))


main()
