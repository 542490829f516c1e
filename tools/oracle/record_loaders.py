"""Writes tests/oracle/recorded/loaders_<version>.json: what samplers and loaders choose.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_loaders.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_loaders.py
"""

import json
from pathlib import Path

import numpy as np
import paddle

RECORDED = Path(__file__).resolve().parents[2] / "tests" / "oracle" / "recorded"


def of_26():
    from paddle import io

    class Numbers(io.Dataset):
        def __len__(self):
            return 11

        def __getitem__(self, i):
            return np.float32([i]), np.int64([i])

    def seeded(make, passes=2):
        np.random.seed(3)
        return [[one for one in make] for _ in range(passes)]

    def numbers(value):
        return json.loads(json.dumps(value, default=lambda x: np.asarray(x).tolist()))

    found = {
        "sequence": seeded(io.SequenceSampler(Numbers())),
        "random": seeded(io.RandomSampler(Numbers())),
        "replacement": seeded(io.RandomSampler(Numbers(), replacement=True, num_samples=7)),
        "weighted": seeded(io.WeightedRandomSampler(np.array([0.1, 0.2, 0.3, 0.4]), 6)),
        "weighted_once": seeded(io.WeightedRandomSampler(np.array([0.1, 0.2, 0.7]), 2, False)),
        "batches": seeded(io.BatchSampler(Numbers(), shuffle=True, batch_size=4)),
        "full_batches": seeded(
            io.BatchSampler(Numbers(), shuffle=True, batch_size=4, drop_last=True)
        ),
    }
    for rank in range(3):
        for shuffle in (False, True):
            for drop_last in (False, True):
                sampler = io.DistributedBatchSampler(
                    Numbers(), 2, num_replicas=3, rank=rank, shuffle=shuffle, drop_last=drop_last
                )
                passes = [list(sampler), list(sampler)]
                sampler.set_epoch(7)
                passes.append(list(sampler))
                found[f"distributed {rank} {shuffle} {drop_last}"] = [len(sampler), passes]
    paddle.enable_static()
    x = paddle.static.data("x", [None, 1])
    y = paddle.static.data("y", [None, 1], "int64")
    for workers in (0, 2):
        np.random.seed(5)
        loader = io.DataLoader(
            Numbers(), feed_list=[x, y], places=paddle.CPUPlace(), batch_size=4, shuffle=True,
            num_workers=workers, return_list=False,
        )  # fmt: skip
        found[f"loader {workers}"] = [
            [np.array(feed[0]["y"]).ravel().tolist() for feed in loader()] for _ in range(2)
        ]
    return numbers(found)


def of_18():
    from paddle import fluid

    x = fluid.data("x", [None, 2])
    y = fluid.data("y", [None, 1], "int64")
    ids = fluid.data("ids", [None, 1], "int64", lod_level=1)

    def samples():
        for i in range(7):
            yield np.float32([i, i]), i

    def lists():
        for i in range(3):
            yield [([i, 0.5], [i]), ([i, 1.5], [i + 1])]

    def batches():
        for i in range(3):
            yield np.full([2, 2], i, "float32"), np.full([2, 1], i, "int64")

    def sequences():
        for n in (1, 2, 3):
            yield (list(range(n)),)

    def seen(loader):
        return [
            [{k: [np.array(v).tolist(), v.lod()] for k, v in feed.items()} for feed in feeds]
            for feeds in loader()
        ]

    def loader(feed_list=(x, y), **options):
        return fluid.io.DataLoader.from_generator(list(feed_list), capacity=4, **options)

    one, two = fluid.CPUPlace(), fluid.cpu_places(2)
    found = {
        "samples": seen(loader().set_sample_generator(samples, 3, True, one)),
        "samples_all": seen(loader().set_sample_generator(samples, 3, False, one)),
        "lists": seen(loader().set_sample_list_generator(lists, one)),
        "batches": seen(loader().set_batch_generator(batches, one)),
        "two_places": seen(loader().set_batch_generator(batches, two)),
        "two_places_all": seen(loader(drop_last=False).set_batch_generator(batches, two)),
        "sequences": seen(loader([ids]).set_sample_generator(sequences, 2, False, one)),
    }
    return found


def main():
    found = of_18() if paddle.__version__.startswith("1.8") else of_26()
    file = RECORDED / f"loaders_{paddle.__version__}.json"
    file.write_text(json.dumps(found, sort_keys=True) + "\n")


main()
