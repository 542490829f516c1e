"""Spec 003: digits on one card, several cards and two hosts, by the files that it describes; we wrote
them in examples/python/dist_test."""

import re
import shutil
import sys

import pytest
from follow import FULL, follows
from job import ROOT
from printed import Command

FOLDER = ROOT / "examples" / "python" / "dist_test"
sys.path.append(str(FOLDER))

# Odd, so that an accuracy shows of how many samples it is one.
COUNT = 9973 if FULL else 8209
SAMPLES = {"FLT_DATASET_LIMIT": str(COUNT)}


def losses(text):
    return [float(one) for one in re.findall(r"^\[TRAIN\] .* loss=(\S+)$", text, re.MULTILINE)]


def assert_accuracy_of_all(text, least):
    """Two epochs, each evaluated on all samples of all ranks."""
    found = re.findall(r"^\[TEST\] epoch=(\d) accuracy=(\S+)$", text, re.MULTILINE)
    assert [epoch for epoch, _ in found] == ["0", "1"]
    for _, accuracy in found:
        hits = float(accuracy) * COUNT
        assert abs(hits - round(hits)) < 0.01
    assert float(found[1][1]) > least


def copy_to(folder):
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@follows("003", "python train.py")
def test_one_card(reader, command):
    """Exit code 0; the loss falls; the accuracy over all test samples is printed after each of two
    epochs, at the end over 0.75."""
    done = reader.start(command, copy_to(reader.folder / "dist_test"), **SAMPLES).wait()
    found = losses(done.out)
    assert found[-1] < 0.5 * found[0]
    assert_accuracy_of_all(done.out, 0.75)


@follows("003", "sh dist_run.sh")
def test_two_cards(reader, command):
    """Exit code 0; mylog holds the logs of both workers; the loss falls on both; one prints the
    accuracy over the test samples of both, at the end over 0.75."""
    done = reader.start(command, copy_to(reader.folder / "dist_test"), **SAMPLES).wait("mylog")
    assert set(done.logs) == {"workerlog.0", "workerlog.1"}
    assert "training_script_args: ['--distributed']" in done.out
    for log in done.logs.values():
        assert losses(log)[-1] < 0.6 * losses(log)[0]
    assert_accuracy_of_all(done.logs["workerlog.0"], 0.75)
    assert "[TEST]" not in done.logs["workerlog.1"]


def test_a_fleet_of_one(reader):
    """With --distributed and no launcher, and the flags that dist_run.sh sets."""
    text = "python train.py --distributed --epochs 1 --max_steps 301"
    script = (FOLDER / "dist_run.sh").read_text()
    flags = dict(re.findall(r"^export (FLAGS_\w+)=(\S+)$", script, re.MULTILINE))
    assert len(flags) == 5
    folder = copy_to(reader.folder / "dist_test")
    done = reader.start(Command("003", 0, text), folder, FLT_THREADS="1", **flags).wait()
    assert len(losses(done.out)) == 4 and losses(done.out)[-1] < 0.5 * losses(done.out)[0]
    (accuracy,) = re.findall(r"^\[TEST\] epoch=0 accuracy=(\S+)$", done.out, re.MULTILINE)
    assert float(accuracy) > 0.75


def run_on_two_hosts(reader, commands, net, log_dir):
    """Follows a command on each host, the second one first; the logs of the four workers."""
    started = {}
    for i in (1, 0):
        folder = copy_to(reader.folder / f"host{i}")
        started[i] = reader.start(commands[i], folder, net.inside(i), **SAMPLES)
    done = [started[i].wait(log_dir) for i in range(2)]
    assert [len(host.logs) for host in done] == [2, 2], done
    return [log for host in done for log in host.logs.values()]


def assert_four_workers_trained(logs):
    for log in logs:
        assert losses(log)[-1] < 0.8 * losses(log)[0]
    assert_accuracy_of_all(logs[0], 0.7)
    assert "[TEST]" not in "".join(logs[1:])


@follows("003", "current_node_ip=192.168.0.1", "current_node_ip=192.168.0.2")
def test_two_hosts(reader, commands, network):
    """On hosts 192.168.0.1 and 192.168.0.2, each with a network of its own: exit code 0; mylog of each
    holds two logs; the loss falls on four workers; one prints the accuracy over the test samples of
    all, at the end over 0.7."""
    assert_four_workers_trained(run_on_two_hosts(reader, commands, network(2), "mylog"))


@follows("003", "sh multinodes/node1_run.sh", "sh multinodes/node2_run.sh")
def test_two_hosts_by_scripts(reader, commands, network):
    """As the commands above, with the logs in ./log."""
    assert_four_workers_trained(run_on_two_hosts(reader, commands, network(2), "log"))


@pytest.mark.parametrize("count", [0, 1, 7, 12])
@pytest.mark.parametrize("same_count", [True, False])
def test_each_sample_goes_to_one_rank(count, same_count):
    import utils

    def samples():
        return iter([([i], i) for i in range(count)])

    shares = [
        [int(label[0]) for _, label in utils.sharded(samples, rank, 3, same_count)()]
        for rank in range(3)
    ]
    whole = count // 3 * 3 if same_count else count
    assert sorted(sum(shares, [])) == list(range(whole))
    assert all(label % 3 == rank for rank, share in enumerate(shares) for label in share)
    if same_count:
        assert len({len(share) for share in shares}) == 1
