"""The demo: says which data it uses, shows how it goes, and ends with the test accuracy."""

import pathlib
import re
import sys

import watched

DEMO = pathlib.Path(__file__).parents[2] / "examples" / "python" / "demo.py"


def test_the_demo_learns_digits_in_one_process_in_two_and_with_a_server():
    command = [sys.executable, str(DEMO), "--epochs", "2", "--steps", "400"]
    done = watched.run(command, encoding="utf-8", seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    tour, _, end = done.stdout.rpartition("\n\n")
    assert end.startswith("More processes gain little or nothing here, because ")
    data, *parts = re.split(r"\n\n\d\. in ", tour)
    assert "MNIST" in data
    heads = [
        "this process",
        "2 processes that average their gradients: fleetrun --nproc_per_node=2",
        "2 processes whose parameters a server keeps: fleetrun --server_num=1 --worker_num=2",
    ]
    who = ["one process", "2 workers", "1 server, 2 workers"]
    assert len(parts) == len(heads)
    losses = []
    for part, head, name in zip(parts, heads, who):
        others = ("Find all_reduce", " workers train one model")
        first, *lines = [line for line in part.splitlines() if not any(o in line for o in others)]
        assert first == head
        progress, *picture, last = lines
        line = r"epoch 1/2 +\d+ steps/s  loss (0\.\d{4})  accuracy 0\.\d{4}"
        assert re.fullmatch(line, progress), progress
        losses.append(float(re.fullmatch(line, progress)[1]))
        assert len(picture) == 6 and picture[-1].endswith(" 400 steps")
        assert len(picture[0]) < len(picture[-2])  # it begins high and falls
        accuracy = re.fullmatch(name + r": trained in \d+\.\d s, test accuracy: (0\.\d{4})", last)
        assert accuracy and float(accuracy[1]) > 0.9, last
    assert max(losses) - min(losses) < 0.02  # the same steps, but for the order of sums
