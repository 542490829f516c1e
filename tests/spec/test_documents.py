"""No command of the documents is left out, and the report tells of each."""

import importlib
import pathlib
import re

import follow
import printed
import pytest
import spec_report
from printed import Command

CALL = re.compile(rf"(?<![\w./=-])({'|'.join(printed.CALLED)}) +[^\s`]")


def unaccounted(number, followed):
    """The commands of a document that no test runs and that have no reason for it."""
    keys = [key for other, key in followed if other == number]
    return [
        command
        for command in printed.commands(number)
        if not command.reason_not_to_run() and not any(key in command.text for key in keys)
    ]


@pytest.fixture(scope="module")
def followed():
    """What all tests of this folder run, also those that are not selected."""
    printed.needed()
    for path in pathlib.Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(path.stem)
    return follow.FOLLOWED


@pytest.mark.parametrize("number", printed.NUMBERS)
def test_each_command_is_run_or_has_a_reason(number, followed):
    assert printed.commands(number)
    assert unaccounted(number, followed) == []


def test_each_key_and_each_reason_finds_its_command(followed):
    found = [printed.command(number, key) for number, key in followed]
    assert len({(command.document, command.line) for command in found}) == len(found)
    every = [command for number in printed.NUMBERS for command in printed.commands(number)]
    reasons = [command.reason_not_to_run() for command in every if command.reason_not_to_run()]
    assert sorted(reasons) == sorted(printed.NOT_RUN.values())


@pytest.mark.parametrize("number", printed.NUMBERS)
def test_no_call_stands_outside_the_commands_that_are_found(number):
    lines = printed.lines_of(number)
    expected = set()
    for command in printed.commands(number):
        expected.update(range(command.line, command.line + command.text.count("\n") + 1))
    for block in printed.outside_and_blocks(number)[1]:
        if printed.is_output(block) or block in printed.programs(number):
            expected.update(range(block.line, block.line + block.text.count("\n")))
    calls = {at for at, line in enumerate(lines, 1) if CALL.search(line)}
    assert calls - expected == set()


def test_each_output_is_compared():
    shown = [number for number in printed.NUMBERS for _ in printed.outputs(number)]
    assert shown == ["001", "002", "004"]  # test_resnet50, test_wide_and_deep, test_fluid_trainer


MARKDOWN = """\
Get it with `pip install it` and see `log`.

``` code::bash
a=1
b=2

A=3 \\
python -m it \\
    --x=$a

sh it.sh
```

```
  loss 1
```
"""

RST = """\
* text

  .. code-block:: py

     if x:
         y

  more text, ``fleetrun``
   .. code::

      step 10
* - :code:`R=1 python it.py`
"""


@pytest.fixture
def document(tmp_path, monkeypatch):
    monkeypatch.setattr(printed, "SPEC", str(tmp_path))

    def write(text):
        (tmp_path / "900_x.txt").write_text(text)

    return write


def test_markdown_is_cut(document):
    document(MARKDOWN)
    assert [(c.line, c.text) for c in printed.commands("900")] == [
        (1, "pip install it"),
        (7, "a=1\nb=2\nA=3 \\\npython -m it \\\n    --x=$a"),
        (11, "a=1\nb=2\nsh it.sh"),
    ]
    assert [(block.line, block.text) for block in printed.outputs("900")] == [(15, "loss 1\n")]
    assert printed.programs("900") == []
    left = unaccounted("900", {("900", "-m it"), ("000", "sh it.sh")})
    assert [command.line for command in left] == [1, 11]


def test_restructured_text_is_cut(document):
    document(RST)
    (program,) = printed.programs("900")
    assert (program.line, program.language, program.text) == (5, "py", "if x:\n    y\n")
    assert [block.text for block in printed.outputs("900")] == ["step 10\n"]
    assert printed.commands("900") == [Command("900", 12, "R=1 python it.py")]


def test_lines_are_compared_without_what_varies(document):
    shown = (
        "INFO 2021-01-04 17:59:08,727 launch.py:4] port  12\n...\nlost\nlaunch train in GPU mode\n"
    )
    block = printed.Block("900", 1, "", shown)
    ours = "INFO 2026-11-15 18:18:22,995 run.cc:99] port 7\nlaunch train in CPU mode\n"
    assert follow.missing_lines(block, follow.Done(ours, {})) == ["lost"]
    assert follow.missing_lines(block, follow.Done("", {"workerlog.0": ours})) == ["lost"]
    assert follow.missing_lines(block, follow.Done(ours, {}), left_out=["los"]) == []


def test_the_report_is_one_table(document, tmp_path, monkeypatch):
    monkeypatch.setattr(printed, "NUMBERS", ["900"])
    document(MARKDOWN)
    pip, module, script = printed.commands("900")
    rows = [
        spec_report.Row(script, "failed: 1 | 2", "exit\ncode", 1.25),
        spec_report.Row(module, "passed", "all", 2),
    ]
    path = tmp_path / "build" / "report.md"
    for _ in range(2):  # the second one replaces the first
        spec_report.write(rows, path)
    assert [one.name for one in path.parent.iterdir()] == ["report.md"]
    assert path.read_text().split("---: |\n")[-1].splitlines() == [
        "| 900 | 1 | `pip install it` | not run: its test was not selected |  |  |",
        "| 900 | 7 | `a=1; b=2; A=3 python -m it --x=$a` | passed | all | 2.0 |",
        "| 900 | 11 | `a=1; b=2; sh it.sh` | failed: 1 \\| 2 | exit code | 1.2 |",
    ]
