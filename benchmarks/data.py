"""The same batches for every side: seeded, made once, gone round by the steps."""

import itertools
import os

import numpy as np

ON_GPU = os.environ.get("FLT_BENCH_GPU") == "1"

SLOTS, DENSE, TABLE_ROWS, EMBEDDING, LAYERS = 26, 13, 1_000_001, 10, (400, 400, 400)
CLICKS = 512  # in a batch


def batches(case, count=4, seed=7):
    """An endless iterator over `count` different batches of `case`, each a tuple of arrays."""
    generator = np.random.RandomState(seed)
    make = {"mlp": digits, "resnet50": images, "wide_deep": clicks, "ctr": zipf_clicks}[case]
    return itertools.cycle([make(generator) for _ in range(count)])


def digits(generator, batch=64):
    x = generator.uniform(-1, 1, (batch, 1, 28, 28)).astype("float32")
    return x, generator.randint(0, 10, (batch, 1)).astype("int64")


def images(generator, batch=256 if ON_GPU else 16):
    x = generator.uniform(-1, 1, (batch, 3, 224, 224)).astype("float32")
    return x, generator.randint(0, 102, (batch, 1)).astype("int64")


def clicks(generator, batch=CLICKS):
    """Few ids are frequent, as in click logs."""
    ids = (generator.uniform(0, 1, (batch, SLOTS)) ** 4 * TABLE_ROWS).astype("int64")
    dense = generator.uniform(0, 1, (batch, DENSE)).astype("float32")
    return ids, dense, generator.randint(0, 2, (batch, 1)).astype("int64")


def zipf_clicks(generator, batch=CLICKS):
    """The k-th of all ids is drawn 1 / (k + 1) as often as the first; they lie all over the table."""
    _, dense, label = clicks(generator, batch)
    drawn = np.exp(generator.uniform(0, 1, (batch, SLOTS)) * np.log(TABLE_ROWS + 1)).astype("int64")
    return (np.minimum(drawn, TABLE_ROWS) - 1) * 611_953 % TABLE_ROWS, dense, label


def clicks_feed(ids, dense, label):
    """A batch of clicks by the names of a program's variables."""
    columns = {f"C{i}": ids[:, i : i + 1].copy() for i in range(SLOTS)}
    return {**columns, "dense_input": dense, "label": label}
