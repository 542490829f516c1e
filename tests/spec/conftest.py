"""Hands each test its commands, and writes the report when all have run."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))

import printed  # noqa: E402
import spec_report  # noqa: E402
from follow import Reader  # noqa: E402
from hosts import network  # noqa: E402, F401

ROWS = pytest.StashKey()


def pytest_configure(config):
    config.addinivalue_line("markers", "follows(document, keys): the commands that a test runs")
    config.addinivalue_line("markers", "adds(document, index, text): a command for a program")
    config.stash[ROWS] = []


def commands_of(item):
    found = []
    for number, keys in (mark.args for mark in item.iter_markers("follows")):
        found += [printed.command(number, key) for key in keys]
    for number, index, text in (mark.args for mark in item.iter_markers("adds")):
        line = printed.programs(number)[index].line
        found.append(printed.Command(number, line, text, added=True))
    return found


@pytest.fixture
def commands(request):
    return commands_of(request.node)


@pytest.fixture
def command(commands):
    (only,) = commands
    return only


@pytest.fixture
def reader(tmp_path):
    one = Reader(tmp_path)
    yield one
    one.close()


def outcome_of(report, call):
    if report.skipped:
        return f"skipped: {call.excinfo.value}"
    if report.failed:
        return "failed: " + (str(call.excinfo.value).splitlines() or ["no reason"])[0][:120]
    return "passed"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if printed.SPEC and (report.when == "call" or not report.passed):
        variant = f" ({item.callspec.id})" if hasattr(item, "callspec") else ""
        checked = (item.function.__doc__ or "") + variant
        item.config.stash[ROWS] += [
            spec_report.Row(command, outcome_of(report, call), checked, report.duration)
            for command in commands_of(item)
        ]


def pytest_sessionfinish(session):
    rows = session.config.stash[ROWS]
    if rows:
        spec_report.write(rows)
