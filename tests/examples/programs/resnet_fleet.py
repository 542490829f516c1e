"""A small residual net on the collective fleet of 1.8, as its image programs were written.

    python -m paddle.distributed.launch --nproc_per_node 2 resnet_fleet.py
"""

import argparse
import math
import os

import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.collective import DistributedStrategy, TrainStatus, fleet

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--steps", type=int, default=40, help="of an epoch")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--checkpoint", default="resnet_checkpoint")
parser.add_argument("--use_local_sgd", action="store_true")
parser.add_argument("--fp16", action="store_true")
args = parser.parse_args()


def conv_bn(input, filters, size, stride=1, act=None, name=None):
    conv = fluid.layers.conv2d(
        input=input,
        num_filters=filters,
        filter_size=size,
        stride=stride,
        padding=(size - 1) // 2,
        act=None,
        bias_attr=False,
        param_attr=fluid.param_attr.ParamAttr(
            name=name + "_weights", initializer=fluid.initializer.MSRA(uniform=False)
        ),
    )
    return fluid.layers.batch_norm(
        input=conv,
        act=act,
        momentum=0.9,
        param_attr=fluid.ParamAttr(name=name + "_scale"),
        bias_attr=fluid.ParamAttr(name=name + "_offset"),
        moving_mean_name=name + "_mean",
        moving_variance_name=name + "_variance",
    )


def block(input, filters, stride, name):
    conv0 = conv_bn(input, filters, 3, stride, "relu", name + "_branch2a")
    conv1 = conv_bn(conv0, filters, 3, 1, None, name + "_branch2b")
    short = input
    if stride != 1 or input.shape[1] != filters:
        short = conv_bn(input, filters, 1, stride, None, name + "_branch1")
    return fluid.layers.elementwise_add(x=short, y=conv1, act="relu")


def net(image, class_dim=10):
    x = conv_bn(image, 8, 3, 1, "relu", "conv1")
    for stage, filters in enumerate([8, 16, 32]):
        x = block(x, filters, 1 if stage == 0 else 2, "res%d" % stage)
    pool = fluid.layers.pool2d(input=x, pool_type="avg", global_pooling=True)
    stdv = 1.0 / math.sqrt(pool.shape[1] * 1.0)
    return fluid.layers.fc(
        input=pool,
        size=class_dim,
        param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-stdv, stdv)),
    )


def build(is_train, startup_program, main_program):
    with fluid.program_guard(main_program, startup_program):
        with fluid.unique_name.guard():
            image = fluid.data(name="image", shape=[None, 1, 28, 28], dtype="float32")
            label = fluid.data(name="label", shape=[None, 1], dtype="int64")
            loader = fluid.io.DataLoader.from_generator(
                feed_list=[image, label], capacity=16, use_double_buffer=True, iterable=not is_train
            )
            out = net(image)
            cost, softmax = fluid.layers.softmax_with_cross_entropy(out, label, return_softmax=True)
            avg_cost = fluid.layers.mean(cost)
            acc1 = fluid.layers.accuracy(input=softmax, label=label, k=1)
            acc5 = fluid.layers.accuracy(input=softmax, label=label, k=5)
            if not is_train:
                return loader, avg_cost, acc1, acc5
            lr = fluid.layers.linear_lr_warmup(
                fluid.layers.piecewise_decay(
                    boundaries=[args.steps * args.epochs // 2], values=[args.lr, args.lr * 0.2]
                ),
                warmup_steps=5,
                start_lr=args.lr / 10,
                end_lr=args.lr,
            )
            optimizer = fluid.optimizer.Momentum(
                learning_rate=lr,
                momentum=0.9,
                regularization=fluid.regularizer.L2Decay(1e-4),
            )
            if args.fp16:
                optimizer = fluid.contrib.mixed_precision.decorate(
                    optimizer, init_loss_scaling=128.0, use_dynamic_loss_scaling=True
                )
            exec_strategy = fluid.ExecutionStrategy()
            exec_strategy.num_threads = 2
            exec_strategy.num_iteration_per_drop_scope = 30
            dist_strategy = DistributedStrategy()
            dist_strategy.exec_strategy = exec_strategy
            dist_strategy.nccl_comm_num = 1
            dist_strategy.fuse_all_reduce_ops = True
            dist_strategy.enable_inplace = False
            if args.use_local_sgd:
                dist_strategy.use_local_sgd = True
            dist_optimizer = fleet.distributed_optimizer(optimizer, strategy=dist_strategy)
            dist_optimizer.minimize(avg_cost)
            global_lr = optimizer._global_learning_rate() if not args.fp16 else lr
            return loader, avg_cost, acc1, global_lr


def shard(reader, trainer_id, trainers):
    """Every trainer's part of the samples."""

    def part():
        for i, sample in enumerate(reader()):
            if i % trainers == trainer_id:
                yield sample[0].reshape(1, 28, 28), np.array([sample[1]]).astype("int64")

    return part


def main():
    role = role_maker.PaddleCloudRoleMaker(is_collective=True)
    fleet.init(role)
    trainer_id, trainers = fleet.worker_index(), fleet.worker_num()
    if os.getenv("FLAGS_selected_gpus") and fluid.is_compiled_with_cuda():
        place = fluid.CUDAPlace(int(os.environ["FLAGS_selected_gpus"].split(",")[0]))
    else:
        place = fluid.CPUPlace()

    startup_prog, train_prog, test_prog = fluid.Program(), fluid.Program(), fluid.Program()
    startup_prog.random_seed = train_prog.random_seed = 1
    train_loader, avg_cost, acc1, global_lr = build(True, startup_prog, train_prog)
    test_loader, test_cost, test_acc1, test_acc5 = build(False, startup_prog, test_prog)
    test_prog = test_prog.clone(for_test=True)
    train_prog = fleet.main_program

    exe = fluid.Executor(place)
    exe.run(startup_prog)
    status = fleet.load_check_point(exe, args.checkpoint, trainer_id)
    samples = args.batch_size * args.steps
    train_reader = paddle.reader.firstn(
        shard(paddle.dataset.mnist.train(), trainer_id, trainers), samples
    )
    train_loader.set_sample_list_generator(
        paddle.batch(
            paddle.reader.shuffle(train_reader, buf_size=2000),
            batch_size=args.batch_size,
            drop_last=True,
        ),
        place,
    )
    test_reader = shard(
        paddle.reader.firstn(paddle.dataset.mnist.test(), 1000), trainer_id, trainers
    )
    test_loader.set_sample_list_generator(
        paddle.batch(test_reader, batch_size=args.batch_size), place
    )
    for epoch in range(0 if status is None else status.next(), args.epochs):
        train_loader.start()
        step = 0
        while True:
            try:
                loss, acc, lr = exe.run(train_prog, fetch_list=[avg_cost, acc1, global_lr])
                if step % 10 == 0:
                    print(
                        "Pass %d, batch %d, loss %.4f, acc1 %.4f, lr %.5f"
                        % (epoch, step, np.mean(loss), np.mean(acc), float(np.array(lr)[0]))
                    )
                step += 1
            except fluid.core.EOFException:
                train_loader.reset()
                break
        fleet.save_check_point(
            exe, args.checkpoint, TrainStatus(epoch), remain_all_checkpoint=False
        )
    correct = fluid.metrics.Accuracy(name="acc1")
    for data in test_loader():
        count = np.array(data[0]["label"]).shape[0]
        value = exe.run(test_prog, feed=data, fetch_list=[test_acc1.name])[0]
        correct.update(value=float(np.mean(value)), weight=count)
    total = correct.weight
    mine = np.array([correct.eval() * total, total], dtype="float64")
    everybody = np.zeros_like(mine)
    fleet.all_reduce_worker(mine, everybody)
    print("trainer %d: test acc1 %.4f" % (trainer_id, everybody[0] / everybody[1]))
    if fleet.is_first_worker():
        fleet.save_persistables(executor=exe, dirname="resnet_model")


if __name__ == "__main__":
    main()
