"""Spec 001: ResNet50 on flowers. Its program leaves the network, the loader and the optimizer
undefined, and its function uncalled."""

import re

import printed
import pytest
from follow import FULL, adds, follows, missing_lines, output

PRELUDE = "from flowers import class_dim, get_train_loader, optimizer_setting, os, resnet\n\n"
BATCHES = 6 if FULL else 1  # of an epoch; the document shows lines of batch 0 and batch 5

LINE = r"\[Epoch (\d+), batch (\d+)\] loss: (\d+\.\d{5}), acc1: [01]\.\d{5}, acc5: [01]\.\d{5}"


@pytest.fixture(autouse=True)
def program(reader):
    """The printed programs as files."""
    alone, *steps, several = [block.text for block in printed.programs("001")]
    for step in steps:  # which the last program takes, one by one
        assert all(line in several for line in step.splitlines())
    reader.take("flowers.py")
    for name, text in [("train.py", alone), ("train_fleet_static.py", several)]:
        reader.write(name, f"{PRELUDE}{text}\ntrain_resnet()\n")


def sizes(batches):
    return {"BATCH": "2", "FLT_DATASET_LIMIT": str(2 * batches)}


def assert_it_learns(text, batches=BATCHES):
    found = re.findall(f"^{LINE}$", text, re.MULTILINE)
    expected = [(epoch, batch) for epoch in range(10) for batch in range(batches)]
    assert [(int(epoch), int(batch)) for epoch, batch, _ in found] == expected
    losses = [float(loss) for *_, loss in found]
    assert 2 < losses[0] < 12  # ln 102 = 4.6 for one that knows nothing
    assert sum(losses[-3:]) < 0.7 * sum(losses[:3])


@follows("001", "--gpus=0,1")
def test_two_workers(reader, command):
    """Exit code 0; all lines of the printed log but those about a GPU; 161 all-reduces become 5;
    the loss falls over 10 epochs on each worker; ./log holds the log of each."""
    done = reader.run(command, **sizes(BATCHES))
    assert missing_lines(output("001"), done, left_out=["device_context.cc"]) == []
    assert set(done.logs) == {"workerlog.0", "workerlog.1"}
    for log in done.logs.values():
        assert "Find all_reduce operators: 161. " in log
        assert "after fusion, the number of all_reduce ops is 5." in log
        assert_it_learns(log)


@pytest.mark.skipif(not FULL, reason="takes a minute of two cores; runs with FLT_TEST_FULL")
@follows("001", "--gpus 0,1,2,3,4,5,6,7")
def test_eight_workers(reader, command):
    """Exit code 0 and eight logs; the loss falls over 10 epochs on each worker."""
    done = reader.run(command, **sizes(1))
    assert set(done.logs) == {f"workerlog.{rank}" for rank in range(8)}
    for log in done.logs.values():
        assert_it_learns(log, 1)


@adds("001", 0, "python train.py")
def test_one_card(reader, command):
    """Exit code 0; the loss falls over 10 epochs."""
    assert_it_learns(reader.run(command, **sizes(BATCHES)).out)
