"""What train.py needs besides the nets: samples of a rank, loaders, and sums over all ranks."""

import numpy as np
import paddle.fluid as fluid


def sharded(reader, rank, nranks, same_count):
    """Sample i goes to rank i % nranks; with ``same_count`` a tail of fewer than nranks is left
    out, so that all ranks train the same number of steps."""

    def samples():
        held = None
        for index, sample in enumerate(reader()):
            if index % nranks == rank:
                held = sample
            if held is not None and (not same_count or index % nranks == nranks - 1):
                yield np.float32(held[0]), np.int64([held[1]])
                held = None

    return samples


def create_dataloader(reader, feed_list, place, batch_size, drop_last):
    loader = fluid.io.DataLoader.from_generator(feed_list=feed_list, capacity=16)
    loader.set_sample_generator(reader, batch_size=batch_size, drop_last=drop_last, places=[place])
    return loader


def rows_of(data):
    """How many samples a batch holds."""
    return next(iter(data[0].values())).shape()[0]


def sum_of_ranks(exe, values, nranks):
    """The sums of numbers over all ranks."""
    if nranks == 1:
        return list(values)
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        numbers = fluid.data(name="numbers", shape=[len(values)], dtype="float32")
        total = fluid.layers.collective._c_allreduce(
            numbers, reduce_type="sum", use_calc_stream=True
        )
    (found,) = exe.run(program, feed={"numbers": np.float32(values)}, fetch_list=[total])
    return [float(one) for one in found]
