"""The guides and the README do what they show: each is followed from top to bottom in an empty folder.

The programs and sessions of the two languages are the same text, so those in English are run.
"""

import pytest
from documents import Piece
from guides import Session, blocks_of, commands_of, difference, guides, terminals

NAMES = ["README.md", *guides("en")]
RUN = ("python", "sh")


def test_both_languages_have_the_same_guides():
    assert guides("en") and guides("zh") == guides("en")


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_show_the_same_programs(name):
    shown = [
        [(block.words, block.text) for block in blocks_of(language, name)]
        for language in ("en", "zh")
    ]
    assert shown[0] == shown[1]


def follow(group, folder, files, net):
    """Runs blocks at the same time, each host's in a folder of its own; gives what is wrong."""
    sessions = []
    try:
        for host, block in group.items():
            here = folder / f"host{host or 0}"
            here.mkdir(exist_ok=True)
            for file, text in files.items():
                (here / file).write_text(text)
            sessions.append(Session(block, here, net.inside(host - 1) if host else ()))
        return [problem for session in sessions for problem in session.problems()]
    finally:
        for session in sessions:
            session.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_guide_can_be_followed(name, tmp_path, network):
    blocks = blocks_of("en", name)
    assert all(block.language in (*RUN, "console") and not block.reason for block in blocks)
    assert any(block.language == "console" for block in blocks), f"{name} shows no command"
    files, net, no_net, problems = {}, None, "", []
    for group in terminals(blocks):
        block = group.get(None)
        if block and block.language in RUN:
            (file,) = block.words[1:]
            files[file] = block.text
            continue
        if block is None and net is None and not no_net:
            try:
                net = network(2)
            except pytest.skip.Exception as why:
                no_net = str(why)
        if block or net:
            problems += follow(group, tmp_path, files, net)
    assert not problems, "\n".join(problems)
    if no_net:
        pytest.skip(f"all was run but what needs two hosts: {no_net}")


@pytest.mark.parametrize(
    "text, problem",
    [
        ("$ echo fine\nfine\n", None),
        ("$ echo fine\nbad\n", "these lines are shown but not printed:\nbad"),
        ("$ false\n", "it exits with 1"),
        ("$ for i in 1; do\n", "the shell does not get to the end"),
    ],
)
def test_wrong_sessions_are_seen(text, problem, tmp_path):
    block = Piece("a guide", 1, ("console",), text)
    found = follow({None: block}, tmp_path, {}, None)
    assert not found if problem is None else problem in found[0]


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
    text = "$ a \\\n    b\nprints\n$ c\n"
    block = Piece("a guide", 1, ("console",), text)
    first, second = commands_of(block)
    assert (first.text, first.shown, second.text) == ("a \\\n    b", ["prints"], "c")
