"""A small VGG of the fluid era on CIFAR: img_conv_group, drop-out, a py_reader in the program."""

import sys

import numpy as np
import paddle
import paddle.fluid as fluid

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def vgg(input):
    def conv_block(ipt, num_filter, groups, dropouts):
        return fluid.nets.img_conv_group(
            input=ipt,
            pool_size=2,
            pool_stride=2,
            conv_num_filter=[num_filter] * groups,
            conv_filter_size=3,
            conv_act="relu",
            conv_with_batchnorm=True,
            conv_batchnorm_drop_rate=dropouts,
            pool_type="max",
        )

    conv1 = conv_block(input, 8, 2, [0.1, 0])
    conv2 = conv_block(conv1, 16, 2, [0.1, 0])
    drop = fluid.layers.dropout(x=conv2, dropout_prob=0.2)
    fc1 = fluid.layers.fc(input=drop, size=64, act=None)
    bn = fluid.layers.batch_norm(input=fc1, act="relu")
    fc2 = fluid.layers.fc(input=bn, size=64, act=None)
    return fluid.layers.fc(input=fc2, size=10, act="softmax")


def main():
    reader = fluid.layers.py_reader(
        capacity=8,
        shapes=[[-1, 3, 32, 32], [-1, 1]],
        dtypes=["float32", "int64"],
        use_double_buffer=True,
    )
    image, label = fluid.layers.read_file(reader)
    predict = vgg(image)
    avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(input=predict, label=label))
    accuracy = fluid.layers.accuracy(input=predict, label=label)
    optimizer = fluid.optimizer.Momentum(
        learning_rate=fluid.layers.cosine_decay(0.02, step_each_epoch=STEPS, epochs=2),
        momentum=0.9,
    )
    optimizer.minimize(avg_cost)

    def samples():
        for pixels, kind in paddle.dataset.cifar.train10()():
            yield pixels.reshape(3, 32, 32), kind

    reader.decorate_paddle_reader(paddle.batch(samples, batch_size=32, drop_last=True))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    step, accs = 0, []
    for epoch in range(2):
        reader.start()
        try:
            while True:
                loss, acc = exe.run(fetch_list=[avg_cost.name, accuracy.name])
                accs.append(float(acc))
                if step % 20 == 0:
                    print("epoch %d, step %d, loss %f" % (epoch, step, loss))
                step += 1
                if step >= STEPS:
                    reader.reset()
                    print("mean acc of the last ten: %.3f" % np.mean(accs[-10:]))
                    return
        except fluid.core.EOFException:
            reader.reset()


main()
