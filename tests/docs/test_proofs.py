"""Documents name the tests that prove what they say, as `path/of/file::name`: those exist."""

import re

import pytest
from documents import ROOT, Piece, inline_code

PAGES = ("docs/differences.md", "docs/promises.md", "docs/security.md")
NAMED = re.compile(r"^((?:tests|flotilla)/\S+\.(?:py|cc))::([\w.]+)$")


def is_there(path, name):
    """`test_x` in a Python file; `Suite.Name` in a C++ one."""
    file = ROOT / path
    if not file.exists():
        return False
    if path.endswith(".py"):
        return re.search(rf"^def {name}\(", file.read_text(), re.MULTILINE) is not None
    suite, _, test = name.partition(".")
    wanted = rf"^TEST(?:_F|_P)?\({suite},\s*{test}\)"
    return re.search(wanted, file.read_text(), re.MULTILINE) is not None


def names_a_test(text):
    match = NAMED.match(text)
    return match is not None and is_there(*match.groups())


def is_proof(piece):
    """On the pages of proofs whatever has "::", lest a slip in its spelling make it none."""
    return NAMED.match(piece.text) or (piece.document in PAGES and "::" in piece.text)


def test_every_test_that_a_document_names_exists():
    proofs = [piece for piece in inline_code() if is_proof(piece)]
    missing = [f"{piece}: {piece.text}" for piece in proofs if not names_a_test(piece.text)]
    assert not missing, "documents name tests that do not exist:\n" + "\n".join(missing)
    assert {piece.document for piece in proofs} >= set(PAGES)


def test_every_promise_has_a_proof():
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", (ROOT / "docs/promises.md").read_text(), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 25))
    bare = [number for number, row in rows if "::" not in row.split("|")[-1]]
    assert not bare, f"promises without a test: {bare}"


@pytest.mark.parametrize("page, least", [("security", 20), ("differences", 20)])
def test_every_row_of_a_page_has_a_proof(page, least):
    """Of the tables whose last column is headed "test": a test, or a fuzzer by its file."""
    rows, proved = [], False
    for line in (ROOT / f"docs/{page}.md").read_text().splitlines():
        last = line.rstrip("|").split("|")[-1].strip()
        proved = line.startswith("|") and (proved or last == "test")
        if proved and last != "test" and not last.startswith("---"):
            rows.append(line)
    bare = [row for row in rows if "::" not in row.split("|")[-2] and "_fuzz.cc`" not in row]
    assert len(rows) > least and not bare, f"rows without a test: {bare}"


def test_a_test_that_does_not_exist_is_seen():
    assert is_there("tests/docs/test_proofs.py", "test_every_promise_has_a_proof")
    assert not is_there("tests/docs/test_proofs.py", "test_of_another_name")
    assert is_there("flotilla/ps/crash_test.cc", "Crash.WhatWasAcknowledgedIsThereOnce")
    assert not is_there("flotilla/ps/crash_test.cc", "Crash.WhatWas")
    assert not is_there("flotilla/ps/no_such_test.cc", "Crash.WhatWas")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "slip",
    [
        "tests/docs/test_proofs.py::test_of_another_name",
        "tests/docs/test_proofs::test_every_promise_has_a_proof",
        "docs/test_proofs.py::test_every_promise_has_a_proof",
        "tests/docs/test_proofs.py::test_every_promise_has_a_proof[1]",
        "tests/docs/test_proofs.py:: test_every_promise_has_a_proof",
        "flotilla/ps/crash_test.cc::Crash::WhatWasAcknowledgedIsThereOnce",
    ],
)
def test_a_slip_in_the_name_of_a_test_is_seen(page, slip):
    assert is_proof(Piece(page, 1, (), slip)) and not names_a_test(slip)
