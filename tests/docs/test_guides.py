"""The guides do what they show: each is followed from top to bottom in an empty folder.

The programs and sessions of the two languages are the same text, so those in English are run.
"""

import pytest
from guides import Session, blocks_of, commands_of, difference, guides, terminals

NAMES = guides("en")
RUN = ("python", "sh")


def test_both_languages_have_the_same_guides():
    assert NAMES and guides("zh") == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_show_the_same_programs(name):
    shown = [
        [(block.words, block.text) for block in blocks_of(language, name)]
        for language in ("en", "zh")
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_guide_can_be_followed(name, tmp_path, network):
    blocks = blocks_of("en", name)
    assert all(block.language in (*RUN, "console") and not block.reason for block in blocks)
    assert any(block.language == "console" for block in blocks), f"{name} shows no command"
    files, net, problems = {}, None, []
    for group in terminals(blocks):
        block = group.get(None)
        if block and block.language in RUN:
            (file,) = block.words[1:]
            files[file] = block.text
            continue
        if net is None and block is None:
            net = network(2)
        sessions = []
        for host, each in group.items():
            folder = tmp_path / f"host{host or 0}"
            folder.mkdir(exist_ok=True)
            for file, text in files.items():
                (folder / file).write_text(text)
            sessions.append(Session(each, folder, net.inside(host - 1) if host else ()))
        problems += [problem for session in sessions for problem in session.problems()]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "shown, printed, problem",
    [
        (["a", "b"], ["a", "b"], None),
        (["a"], ["a", "b"], "it prints 2 lines, but 1 are shown"),
        (["a", "...", "z"], ["a", "b", "c", "z"], None),
        (["a", "..."], ["a"], None),
        (["...", "y"], ["x", "y", "z"], "these lines are shown but not printed:\ny"),
        (["loss 0.5000"], ["loss 0.5004"], None),
        (["loss 0.5000"], ["loss 0.6000"], "these lines are shown but not printed:\nloss 0.5000"),
        (["rank 1"], ["rank 2"], "these lines are shown but not printed:\nrank 1"),
        (["pid 4711, 0.3 s, 40 %"], ["pid 12345, 12.25 s, 3 %"], None),
    ],
)
def test_what_is_shown_is_compared(shown, printed, problem):
    assert difference(shown, printed) == problem


def test_commands_may_go_on_in_the_next_line():
    block = blocks_of("en", NAMES[0])[0]
    block.text = "$ a \\\n    b\nprints\n$ c\n"
    first, second = commands_of(block)
    assert (first.text, first.shown, second.text) == ("a \\\n    b", ["prints"], "c")
