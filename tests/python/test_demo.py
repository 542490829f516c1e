"""The demo: says which data it uses, shows how it goes, and ends with the test accuracy."""

import pathlib
import re
import subprocess
import sys

DEMO = pathlib.Path(__file__).parents[2] / "examples" / "python" / "demo.py"


def test_the_demo_learns_digits():
    command = [sys.executable, str(DEMO), "--epochs", "2", "--steps", "400"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    data, progress, last = done.stdout.splitlines()
    assert "MNIST" in data
    line = r"epoch 1/2 +\d+ steps/s  loss 0\.\d{4}  accuracy 0\.\d{4}"
    assert re.fullmatch(line, progress), progress
    accuracy = re.fullmatch(r"test accuracy: (0\.\d{4})", last)
    assert accuracy and float(accuracy[1]) > 0.9
