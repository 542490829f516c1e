"""The six files that spec 003 describes, as one process."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "dist_test"
sys.path.append(str(FOLDER))


@pytest.mark.parametrize("words", [[], ["--distributed"]], ids=["alone", "fleet of one"])
def test_one_card(words, tmp_path):
    flags = ("fuse_parameter_memory_size", "cudnn_exhaustive_search", "conv_workspace_size_limit")
    environment = {**os.environ, "FLT_DOWNLOAD": "0", "FLT_THREADS": "1"}
    environment.update({f"FLAGS_{name}": "16" for name in flags})
    done = subprocess.run(
        [sys.executable, FOLDER / "train.py", *words, "--epochs", "1", "--max_steps", "301"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    losses = [float(one) for one in re.findall(r"\[TRAIN\] .* loss=(\S+)", done.stdout)]
    assert len(losses) == 4 and losses[-1] < 0.5 * losses[0]
    (accuracy,) = re.findall(r"\[TEST\] epoch=0 accuracy=(\S+)", done.stdout)
    assert float(accuracy) > 0.75


@pytest.mark.parametrize("count", [0, 1, 7, 12])
@pytest.mark.parametrize("same_count", [True, False])
def test_each_sample_goes_to_one_rank(count, same_count):
    import utils

    def reader():
        return iter([([i], i) for i in range(count)])

    shares = [
        [int(label[0]) for _, label in utils.sharded(reader, rank, 3, same_count)()]
        for rank in range(3)
    ]
    whole = count // 3 * 3 if same_count else count
    assert sorted(sum(shares, [])) == list(range(whole))
    assert all(label % 3 == rank for rank, share in enumerate(shares) for label in share)
    if same_count:
        assert len({len(share) for share in shares}) == 1
