"""LeNet of ``paddle.nn`` layers on the collective fleet of 2.x, in a static program.

    fleetrun --nproc_per_node 2 lenet_fleet.py
    python lenet_fleet.py
"""

import argparse

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import BatchSampler, DataLoader, DistributedBatchSampler
from paddle.vision.transforms import Compose, Normalize, Transpose


class LeNet(nn.Layer):
    def __init__(self):
        super(LeNet, self).__init__()
        self.conv1 = nn.Conv2D(in_channels=1, out_channels=6, kernel_size=5, padding=2)
        self.bn1 = nn.BatchNorm2D(6)
        self.pool1 = nn.MaxPool2D(kernel_size=2, stride=2)
        self.conv2 = nn.Conv2D(in_channels=6, out_channels=16, kernel_size=5)
        self.pool2 = nn.MaxPool2D(kernel_size=2, stride=2)
        self.fc = nn.Sequential(
            nn.Flatten(),
            nn.Linear(400, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )

    def forward(self, x):
        x = self.pool1(F.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.conv2(x)))
        return self.fc(x)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--max_steps", type=int, default=80)
    parser.add_argument("--base_lr", type=float, default=0.002)
    parser.add_argument("--output", default="lenet_output")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--gradient_merge", type=int, default=1)
    return parser.parse_args()


def dist_strategy(args):
    exec_strategy = paddle.static.ExecutionStrategy()
    exec_strategy.num_threads = 2
    exec_strategy.num_iteration_per_drop_scope = 100
    build_strategy = paddle.static.BuildStrategy()
    build_strategy.fuse_bn_act_ops = True
    strategy = fleet.DistributedStrategy()
    strategy.execution_strategy = exec_strategy
    strategy.build_strategy = build_strategy
    strategy.fuse_all_reduce_ops = True
    strategy.fuse_grad_size_in_MB = 16
    strategy.sync_nccl_allreduce = True
    strategy.nccl_comm_num = 1
    if args.amp:
        strategy.amp = True
        strategy.amp_configs = {"init_loss_scaling": 128.0, "use_dynamic_loss_scaling": True}
    if args.gradient_merge > 1:
        strategy.gradient_merge = True
        strategy.gradient_merge_configs = {"k_steps": args.gradient_merge, "avg": True}
    return strategy


def main():
    args = parse_args()
    paddle.enable_static()
    fleet.init(is_collective=True)
    paddle.seed(10 + fleet.worker_index())
    gpu = paddle.is_compiled_with_cuda() and paddle.distributed.ParallelEnv().device_type == "gpu"
    place = paddle.CUDAPlace(paddle.distributed.ParallelEnv().dev_id) if gpu else paddle.CPUPlace()

    main_prog, startup_prog = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main_prog, startup_prog):
        spec = paddle.static.InputSpec([None, 1, 28, 28], "float32", "image")
        image = paddle.static.data(spec.name, spec.shape, spec.dtype)
        label = paddle.static.data("label", [None, 1], "int64")
        model = LeNet()
        logits = model(image)
        loss = F.cross_entropy(input=logits, label=label, reduction="mean")
        acc_top1 = paddle.static.accuracy(input=F.softmax(logits), label=label, k=1)
        acc_top5 = paddle.static.accuracy(input=F.softmax(logits), label=label, k=5)
        test_prog = main_prog.clone(for_test=True)
        scheduler = paddle.optimizer.lr.LinearWarmup(
            paddle.optimizer.lr.PiecewiseDecay(
                boundaries=[args.max_steps], values=[args.base_lr, args.base_lr / 10]
            ),
            warmup_steps=10,
            start_lr=args.base_lr / 10,
            end_lr=args.base_lr,
        )
        optimizer = paddle.optimizer.Adam(
            learning_rate=scheduler, weight_decay=paddle.regularizer.L2Decay(1e-5)
        )
        optimizer = fleet.distributed_optimizer(optimizer, strategy=dist_strategy(args))
        optimizer.minimize(loss, startup_prog)

    exe = paddle.static.Executor(place)
    exe.run(startup_prog)

    transform = Compose([Transpose(), Normalize(mean=[127.5], std=[127.5])])
    train_set = paddle.vision.datasets.MNIST(mode="train", transform=transform)
    test_set = paddle.vision.datasets.MNIST(mode="test", transform=transform)
    sampler = DistributedBatchSampler(
        train_set, batch_size=args.batch_size, shuffle=True, drop_last=True
    )
    train_loader = DataLoader(
        train_set,
        feed_list=[image, label],
        batch_sampler=sampler,
        places=place,
        num_workers=0,
        return_list=False,
    )
    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for data in train_loader:
            fetched = exe.run(main_prog, feed=data, fetch_list=[loss, acc_top1, acc_top5])
            scheduler.step()
            if step % 20 == 0 and fleet.worker_index() == 0:
                print("[Epoch %d, batch %d] loss: %.5f, acc1: %.5f, acc5: %.5f, lr: %.6f" % (
                    epoch, step, np.mean(fetched[0]), np.mean(fetched[1]), np.mean(fetched[2]),
                    scheduler.get_lr(),
                ))  # fmt: skip
            step += 1
            if step == args.max_steps:
                break
    exe.run(test_prog, feed={
        "image": np.zeros([1, 1, 28, 28], "float32"), "label": np.zeros([1, 1], "int64")
    }, fetch_list=[acc_top1])  # fmt: skip

    part = paddle.io.Subset(test_set, range(fleet.worker_index(), 2000, fleet.worker_num()))
    test_loader = DataLoader(
        part,
        batch_sampler=BatchSampler(part, batch_size=100),
        places=place,
        feed_list=[image, label],
        return_list=False,
    )
    correct, total = np.array([0.0]), np.array([0.0])
    for data in test_loader:
        (value,) = exe.run(test_prog, feed=data, fetch_list=[acc_top1])
        rows = np.array(data[0]["label"]).shape[0]
        correct += np.mean(value) * rows
        total += rows
    accuracy = fleet.metrics.acc(correct, total)
    fleet.util.print_on_rank("accuracy of %d workers: %.4f" % (fleet.worker_num(), accuracy), 0)
    if fleet.is_first_worker():
        paddle.static.save(main_prog, args.output + "/lenet")
        fleet.save_inference_model(exe, args.output, ["image"], [logits], main_prog)
    fleet.barrier_worker()


if __name__ == "__main__":
    main()
