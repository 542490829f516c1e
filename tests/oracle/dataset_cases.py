"""Programs trained from files: the same code in real Paddle and in Flotilla."""

import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import paddle
from paddle import static

SIZES = (7, 0, 9, 5)  # records of the files


def write_files(folder):
    """Multi-slot text: ids (1 to 3), x (3 floats), y."""
    rng = np.random.RandomState(11)
    files = []
    for number, size in enumerate(SIZES):
        lines = []
        for _ in range(size):
            ids = rng.randint(0, 30, rng.randint(1, 4))
            x = [f"{v:.3f}" for v in rng.rand(3)]
            label = str(rng.randint(2))
            lines.append(" ".join([str(len(ids)), *map(str, ids), "3", *x, "1", label]))
        files.append(str(Path(folder) / f"part-{number}"))
        Path(files[-1]).write_text("".join(line + "\n" for line in lines))
    return files


def build():
    ids = static.data("ids", [None, 1], "int64", lod_level=1)
    x = static.data("x", [None, 3], "float32")
    y = static.data("y", [None, 1], "int64")
    rows = static.nn.embedding(ids, [30, 4], is_sparse=True)
    pooled = static.nn.sequence_pool(paddle.reshape(rows, [-1, 4]), "sum")
    hidden = static.nn.fc(paddle.concat([pooled, x], axis=1), 6, activation="relu")
    logits = static.nn.fc(hidden, 2)
    loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(logits, y))
    paddle.optimizer.SGD(0.2).minimize(loss)
    return [ids, x, y], loss


def set_parameters(program):
    """The same first values on both sides, by the order of parameters."""
    rng = np.random.RandomState(5)
    for parameter in program.all_parameters():
        value = rng.uniform(-0.5, 0.5, parameter.shape).astype("float32")
        tensor = static.global_scope().find_var(parameter.name).get_tensor()
        tensor.set(value, paddle.CPUPlace())


class Captured:
    """What is written to standard output, by C++ too."""

    def __enter__(self):
        sys.stdout.flush()
        self.file = tempfile.TemporaryFile()
        self.before = os.dup(1)
        os.dup2(self.file.fileno(), 1)
        self.stdout, sys.stdout = sys.stdout, open(1, "w", closefd=False)
        return self

    def __exit__(self, *error):
        sys.stdout.flush()
        sys.stdout = self.stdout
        os.dup2(self.before, 1)
        os.close(self.before)
        self.file.seek(0)
        self.text = self.file.read().decode()


def run(kind, batch_size, period):
    """The lines that two passes print, without the time, and the parameters afterwards."""
    folder = tempfile.TemporaryDirectory()
    before = os.getcwd()
    os.chdir(folder.name)  # Paddle leaves files where it runs
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), static.scope_guard(static.Scope()):
            variables, loss = build()
            executor = static.Executor(paddle.CPUPlace())
            executor.run(startup)
            set_parameters(main)
            dataset = getattr(paddle.distributed, kind)()
            dataset.init(use_var=variables, batch_size=batch_size, thread_num=1, pipe_command="cat")
            dataset.set_filelist(write_files(folder.name))
            if kind == "InMemoryDataset":
                dataset.load_into_memory()
            with Captured() as out:
                for _ in range(2):
                    executor.train_from_dataset(
                        main,
                        dataset,
                        fetch_list=[loss, variables[2]],
                        fetch_info=["loss is", "y"],
                        print_period=period,
                    )
            values = [
                np.array(static.global_scope().find_var(p.name).get_tensor()).ravel().tolist()
                for p in main.all_parameters()
            ]
    finally:
        os.chdir(before)
    lines = [line for line in out.text.splitlines() if line.startswith("time: ")]
    return {
        "lines": [re.sub(r"^time: \[.*?\]", "time: []", line) for line in lines],
        "parameters": values,
    }


CASES = {
    "queue, batch 4": ("QueueDataset", 4, 1),
    "queue, batch 6, every second": ("QueueDataset", 6, 2),
    "memory, batch 5": ("InMemoryDataset", 5, 1),
}


def outputs():
    return {name: run(*case) for name, case in CASES.items()}
