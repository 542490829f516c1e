"""Wide&Deep from files in Paddle's words; run by worker.py in a process of its own."""

import os
from pathlib import Path

import numpy as np
import paddle

import data
import paddle_side

BATCH = 512


def version():
    return paddle.__version__


def build(case, variant, threads):
    """A function that runs one pass over the files."""
    main, loss, executor = paddle_side.trained(paddle_side.wide_deep)
    names = ["dense_input", *(f"C{i}" for i in range(data.SLOTS)), "label"]
    variables = [main.global_block().var(name) for name in names]
    folder = Path(os.environ["FLT_BENCH_FILES"])
    files = sorted(str(file) for file in folder.glob("part-*"))
    os.chdir(folder)  # Paddle leaves files where it runs
    if variant == "fixed":
        feeds = feeds_of(files, names)
        return lambda: [executor.run(main, feed=feed, fetch_list=[loss]) for feed in feeds]
    dataset = dataset_of(variant, variables, files)

    def step():
        executor.train_from_dataset(main, dataset)

    return step


def dataset_of(variant, variables, files):
    kind = "InMemoryDataset" if variant == "memory" else "QueueDataset"
    dataset = getattr(paddle.distributed, kind)()
    count = 2 if variant == "threads" else 1
    dataset.init(use_var=variables, pipe_command="cat", batch_size=BATCH, thread_num=count)
    dataset.set_filelist(files)
    if variant == "memory":
        dataset.load_into_memory()
    return dataset


def feeds_of(files, names):
    """A dict of tensors for each batch, with the sequences that the files hold."""
    rows = np.concatenate([np.loadtxt(file) for file in files])
    dense, ids, label = rows[:, 1:14], rows[:, 15:67:2], rows[:, -1:]
    feeds = []
    for begin in range(0, len(rows), BATCH):
        part = slice(begin, begin + BATCH)
        columns = [dense[part].astype("float32")]
        columns += [sequences(ids[part, i]) for i in range(ids.shape[1])]
        feeds.append(dict(zip(names, [*columns, label[part].astype("int64")])))
    return feeds


def sequences(ids):
    values = ids.astype("int64").reshape(-1, 1)
    return paddle.base.create_lod_tensor(values, [[1] * len(values)], paddle.CPUPlace())
