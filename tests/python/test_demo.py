"""The demo: says which data it uses, shows how it goes, and ends with the test accuracy."""

import pathlib
import re
import subprocess
import sys

DEMO = pathlib.Path(__file__).parents[2] / "examples" / "python" / "demo.py"


def test_the_demo_learns_digits_in_one_process_and_in_two():
    command = [sys.executable, str(DEMO), "--epochs", "2", "--steps", "400"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "Find all_reduce" not in line]
    data, *alone, _, second, progress, last = lines
    assert "MNIST" in data
    assert second == "the same with fleetrun --nproc_per_node=2"
    for who, lines in (("one process", alone), ("2 workers", [progress, last])):
        line = r"epoch 1/2 +\d+ steps/s  loss 0\.\d{4}  accuracy 0\.\d{4}"
        assert re.fullmatch(line, lines[0]), lines[0]
        end = who + r": trained in \d+\.\d s, test accuracy: (0\.\d{4})"
        accuracy = re.fullmatch(end, lines[1])
        assert accuracy and float(accuracy[1]) > 0.9
