"""Spec 002: Wide & Deep on one server. The program is printed in pieces; it imports a model and a
reader that its readers have, and needs numpy."""

import pathlib
import re

import _flotilla as core
import printed
import pytest
from follow import DATA, FULL, follows, missing_lines, output

PRELUDE = "import numpy as np\n"
MODES = ["async", "sync", "geo"]  # in the order in which they are printed; the last one counts
LINES = 20000 if FULL else 2000  # 200 steps of each worker: Geo sends after every 100


@pytest.fixture
def steps(reader):
    """Puts click logs into ./data, real ones too where there are; how many batches of ten that is."""
    made = core.write_clicks(str(reader.folder / "made"), train=LINES, test=1, train_files=1)
    parts = [pathlib.Path(made[0]), *pathlib.Path(DATA or "nowhere", "criteo").glob("part-*")]
    (reader.folder / "data").mkdir()
    count = 0
    for number, part in enumerate(parts):
        text = part.read_text()
        reader.write(f"data/part-{number}", text)
        count += text.count("\n")
    return count // 10


def program(mode):
    """The pieces in their order; of three ways to train, only that of `mode` unless it is the last."""
    text = PRELUDE + "\n".join(block.text for block in printed.programs("002"))
    ways = [part for part in text.split("\n\n") if "DistributedStrategy()" in part]
    assert len(ways) == len(MODES)
    for other, way in zip(MODES, ways):
        if other != mode != MODES[-1]:
            text = text.replace(way, "")
    return text


@follows("002", "--server_num=1")
@pytest.mark.parametrize("mode", MODES)
def test_one_server_and_two_workers(reader, command, steps, mode):
    """Exit code 0; all lines of the printed log; both workers print a loss for each batch of ten
    lines; ./log holds the log of each process."""
    reader.take("wide_deep/model.py", "wide_deep/reader.py")
    reader.write("train.py", program(mode))
    done = reader.run(command)
    assert missing_lines(output("002"), done) == []
    assert set(done.logs) == {"serverlog.0", "workerlog.0", "workerlog.1"}
    for rank in range(2):
        log = done.logs[f"workerlog.{rank}"]
        losses = re.findall(r"^TRAIN ---> pass: 0 loss: (\S+)\n$", log, re.MULTILINE)
        assert len(losses) == steps
        assert all(0 < float(loss) < 10 for loss in losses)
