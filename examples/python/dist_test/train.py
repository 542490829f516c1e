"""Digits on one card, several cards or several hosts, as spec 003 describes it.

    python train.py
    sh dist_run.sh
    sh multinodes/node1_run.sh, sh multinodes/node2_run.sh

What distributed training changes stands in main() alone, under ``args.distributed``.
"""

import argparse
import os

import model
import paddle
import paddle.fluid as fluid
import utils
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true", help="train with a fleet")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--learning_rate", type=float, default=0.001)
    parser.add_argument("--max_steps", type=int, default=None, help="of each epoch; default: all")
    parser.add_argument("--log_interval", type=int, default=100)
    return parser.parse_args()


def build(make_net, optimizer=None):
    """(program, startup program, what the net returns); parameters have the same names."""
    program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(program, startup), fluid.unique_name.guard():
        feed_list, result = make_net()
        if optimizer is not None:
            optimizer.minimize(result, startup)
    return program, startup, feed_list, result


def train(exe, program, loader, loss, epoch, args):
    for step, data in enumerate(loader()):
        if step == args.max_steps:
            break
        (value,) = exe.run(program, feed=data, fetch_list=[loss])
        if step % args.log_interval == 0:
            print(f"[TRAIN] epoch={epoch} step={step} loss={value[0]:.6f}", flush=True)


def evaluate(exe, program, loader, accuracy):
    metric = fluid.metrics.Accuracy()
    for data in loader():
        (value,) = exe.run(program, feed=data, fetch_list=[accuracy])
        metric.update(value=value[0], weight=utils.rows_of(data))
    return metric


def main():
    args = parse_args()
    rank, nranks = 0, 1
    optimizer = fluid.optimizer.Adam(learning_rate=args.learning_rate)
    if args.distributed:
        fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=True))
        rank, nranks = fleet.worker_index(), fleet.worker_num()
        strategy = DistributedStrategy()
        strategy.fuse_all_reduce_ops = True
        strategy.nccl_comm_num = 2
        optimizer = fleet.distributed_optimizer(optimizer, strategy=strategy)

    train_program, startup, train_feeds, loss = build(model.train_net, optimizer)
    test_program, _, test_feeds, accuracy = build(model.test_net)
    if args.distributed:
        train_program = fleet.main_program

    card = os.environ.get("FLAGS_selected_gpus", 0)  # noqa: SIM112 - so the launcher says it
    place = fluid.CUDAPlace(int(card))
    exe = fluid.Executor(place)
    exe.run(startup)
    train_reader = utils.sharded(paddle.dataset.mnist.train(), rank, nranks, same_count=True)
    test_reader = utils.sharded(paddle.dataset.mnist.test(), rank, nranks, same_count=False)
    train_loader = utils.create_dataloader(
        train_reader, train_feeds, place, args.batch_size, drop_last=True
    )
    test_loader = utils.create_dataloader(
        test_reader, test_feeds, place, args.batch_size, drop_last=False
    )
    for epoch in range(args.epochs):
        train(exe, train_program, train_loader, loss, epoch, args)
        metric = evaluate(exe, test_program, test_loader, accuracy)
        value, weight = utils.sum_of_ranks(exe, [metric.value, metric.weight], nranks)
        if rank == 0:
            print(f"[TEST] epoch={epoch} accuracy={value / weight:.6f}", flush=True)


if __name__ == "__main__":
    main()
