"""What the documents show works: every block, every command inside a line, every link and path.

Python blocks of a document run one after the other in one process, in an empty folder. C++ blocks
are compiled as far as to their types, unless they are quoted from a source; one without #include is the
inside of a function. `text program`
blocks are parsed. CMake blocks build a program with the installed package. Blocks of the shell are checked command by command (commands.py). A block behind
<!-- no-run: reason --> is only listed. The guides and the README's session are followed by test_guides.py.
"""

import functools
import json
import os
import re
import shlex
import subprocess
import sys

import pytest
import watched
from commands import check
from documents import ROOT, blocks, documents, inline_code, links
from guides import is_followed

SHELL = ("sh", "bash", "console")
READ = ("json", "text", "yaml", "proto")  # shown, with nothing to run
OWN = ("flotilla", "cli", "python", "tests", "examples", "tools", "benchmarks", "docs", "cmake")
SOURCES = (".h", ".cc", ".cu", ".py", ".md", ".proto", ".txt", ".json")

# Runs in a fresh interpreter: [[document, line, text], ...] arrive as JSON on stdin.
RUNNER = """
import json, sys, traceback
names = {"__name__": "__main__"}
for document, line, text in json.load(sys.stdin):
    try:
        exec(compile("\\n" * (line - 1) + text, document, "exec"), names)
    except BaseException:
        traceback.print_exc()
        sys.exit(f"the Python block at {document}:{line} failed")
"""


def runnable(*languages):
    here = [block for block in blocks(*languages) if not is_followed(block)]
    return [block for block in here if not block.reason]


def test_blocks_name_a_language_that_is_checked():
    known = {*READ, *SHELL, "python", "cpp", "cmake"}
    strange = [f"{b}: {b.language or 'no language'}" for b in blocks() if b.language not in known]
    assert not strange, f"a block must name one of {sorted(known)}: {strange}"


@pytest.mark.parametrize("document", documents())
def test_python_blocks_run(document, tmp_path):
    wanted = [b for b in runnable("python") if b.document == document]
    if not wanted:
        return
    feed = json.dumps([[b.document, b.line, b.text] for b in wanted])
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = watched.run(
        [sys.executable, "-c", RUNNER], input=feed, cwd=tmp_path, env=environment, seconds=300
    )
    assert done.returncode == 0, f"{done.stderr}\nits output was:\n{done.stdout[-2000:]}"


def compiler():
    """The compiler and the flags of an example, which sees what a user of the library sees."""
    entries = json.loads((ROOT / "build/dev/compile_commands.json").read_text())
    entry = next(e for e in entries if e["file"].endswith("examples/cpp/mlp.cc"))
    words = shlex.split(entry["command"])
    words = words[words.index(next(w for w in words if w.endswith("++"))) :]  # without ccache
    for flag in ("-o", "-c"):
        position = words.index(flag)
        del words[position : position + 2]
    return [*words, "-fsyntax-only", "-Wno-unused", "-x", "c++", "-"], entry["directory"]


def as_unit(block):
    """A block as a file that compiles; errors are shown at the document's lines."""
    place = f'#line {block.line} "{block.document}"\n'
    if "#include" in block.text:
        return place + block.text
    head = "#include <flotilla/flotilla.h>\n[[maybe_unused]] static void snippet() {\n"
    return f"{head}{place}{block.text}}}\n"


def folded(text):
    return re.sub(r"\s+", " ", text).strip()


@functools.cache
def sources():
    """The text of every source, without what is only white space."""
    paths = [p for top in ("flotilla", "examples", "cli") for p in (ROOT / top).rglob("*")]
    texts = (path.read_text() for path in paths if path.suffix in (".cc", ".h", ".cu", ".cuh"))
    return "\n".join(folded(text) for text in texts)


@pytest.mark.parametrize("block", runnable("cpp"), ids=str)
def test_cpp_block_compiles(block):
    if all(folded(part) in sources() for part in block.text.split("\n\n")):  # a quotation
        return
    command, folder = compiler()
    done = watched.run(command, input=as_unit(block), cwd=folder, seconds=300)
    assert done.returncode == 0, f"{block} does not compile:\n{done.stderr[:4000]}"


MAIN = """#include <flotilla/flotilla.h>
int main() { return flotilla::layers::data("x", {-1, 4}).shape() == flotilla::Shape{-1, 4} ? 0 : 1; }
"""


def run_cmake(*words):
    done = watched.run(["cmake", *words], seconds=300)
    assert done.returncode == 0, f"cmake {' '.join(map(str, words))}:\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    run_cmake("--install", ROOT / "build/dev", "--prefix", prefix)
    return prefix


def test_cmake_blocks_find_what_is_installed(installed, tmp_path):
    """Each block is the end of a user's CMakeLists.txt; equal ones are tried once."""
    uses = re.compile(r"find_package\(flotilla.*target_link_libraries\((\w+)", re.DOTALL)
    found = [(uses.search(block.text), block.text) for block in runnable("cmake")]
    projects = {match.group(1): text for match, text in found if match}
    assert projects, "no document shows how to use the installed package"
    for target, text in projects.items():
        folder = tmp_path / target
        folder.mkdir()
        head = "cmake_minimum_required(VERSION 3.25)\nproject(user CXX)\n"
        head += f"add_executable({target} main.cc)\n"
        folder.joinpath("CMakeLists.txt").write_text(head + text)
        folder.joinpath("main.cc").write_text(MAIN)
        where = f"-DCMAKE_PREFIX_PATH={installed}"
        run_cmake("-G", "Ninja", "-S", folder, "-B", folder / "build", where)
    run_cmake("--build", folder / "build")
    assert subprocess.run([folder / "build" / target]).returncode == 0


def test_only_the_headers_of_the_public_table_are_installed(installed):
    lines = (ROOT / "docs/cpp.md").read_text().splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    table = {name for row in rows for name in re.findall(r"`(\w+/\w+\.h)`", row)}
    api = (ROOT / "flotilla/flotilla.h").read_text()
    assert table == set(re.findall(r'#include "flotilla/(.*)"', api))

    command, folder = compiler()
    command[command.index("-fsyntax-only")] = "-MM"
    done = watched.run(command, input="#include <flotilla/flotilla.h>\n", cwd=folder, seconds=300)
    needed = {match for match in re.findall(r"flotilla/[\w/]+\.h", done.stdout)}
    include = installed / "include"
    assert needed == {str(path.relative_to(include)) for path in include.rglob("*.h")}


def program_blocks():
    return [block for block in runnable("text") if "program" in block.words]


@pytest.mark.parametrize("block", program_blocks(), ids=str)
def test_program_block_parses_and_prints(block):
    from paddle.static import Program

    text = str(Program._parse_text(block.text))
    assert str(Program._parse_text(text)) == text, f"{block}: print and parse are not inverse"


def shell_commands():
    """Every command of a shell block, with its line; a backslash at the end continues it."""
    for block in runnable(*SHELL):
        lines = block.text.split("\n")
        for offset, line in enumerate(lines):
            below = offset + 1
            while line.endswith("\\"):
                line, lines[below] = line[:-1] + lines[below], ""
                below += 1
            line = line.removeprefix("$ ") if block.language == "console" else line
            shown = block.language != "console" or lines[offset].startswith("$ ")
            for command in re.split(r"&&|\||>", line) if shown else ():
                yield f"{block.document}:{block.line + offset}", command


def inline_commands():
    """Code inside a line that begins like a command of ours."""
    ours = re.compile(
        r"^(\./\w+|\.ci/run|flotilla [a-z-]|fleetrun\b|tools/\S+\.py|python -m|ninja )"
    )
    for piece in inline_code():
        if ours.match(piece.text) and not piece.text.endswith("/"):
            yield str(piece), piece.text


def test_commands_are_right():
    found = [*shell_commands(), *inline_commands()]
    assert found, "no document shows a command"
    problems = [f"{where}: `{c.strip()}`: {problem}" for where, c in found if (problem := check(c))]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "command, problem",
    [
        ("./test --fulll", "tools/run_tests.py --help names no --fulll"),
        ("flotilla inspct program FILE", "flotilla --help names no subcommand inspct"),
        ("flotilla inspect program --bath 3 FILE", "names no --bath"),
        ("fleetrun --gpu 0 train.py --any", "fleetrun --help names no --gpu"),
        ("cmake --preset devel", "has no preset devel, only asan, "),
        ("FLT_X=1 tools/no_such.py", "there is no file tools/no_such.py"),
        ("python -m paddle.no_such", "python finds no module paddle.no_such"),
        ("sudo apt-get install g++ cowsay", "tools/setup disagrees about cmake, cowsay, "),
        ("frobnicate", "does not know how to check frobnicate"),
    ],
)
def test_wrong_commands_are_seen(command, problem):
    assert problem in check(command)


def test_links_lead_somewhere():
    broken = []
    for link in links():
        target = link.text.split("#")[0]
        inside = target and not re.match(r"^[a-z]+:", target)
        if inside and not (ROOT / link.document).parent.joinpath(target).exists():
            broken.append(f"{link}: {link.text}")
    assert not broken, f"links to files that do not exist: {broken}"


def test_named_files_exist():
    """`flotilla/ir/program.h`, or without the top folder `layers/nn.h`."""
    missing = []
    for piece in inline_code():
        name = piece.text.rstrip("/")
        whole = re.match(r"^[\w./-]+$", name) and "/" in name and not name.startswith(("/", "."))
        if not whole or not (name.endswith(SOURCES) or name.split("/")[0] in OWN):
            continue
        if name.startswith("build/"):  # made by tests
            continue
        if not any((ROOT / top / name).exists() for top in ("", "flotilla", "python/paddle")):
            missing.append(f"{piece}: {name}")
    assert not missing, f"files that do not exist: {missing}"


def test_named_variables_are_read():
    """Every FLT_ variable in a document stands in a source or a script of the repository."""
    files = [*ROOT.glob("CMake*"), *ROOT.glob("*/*.cmake"), ROOT / "test"]
    for top in ("flotilla", "cli", "python", "tests", "tools", "benchmarks"):
        files += [path for path in (ROOT / top).rglob("*") if path.suffix in (".cc", ".h", ".py")]
    files += [ROOT / "tools/setup"]
    known = set(re.findall(r"FLT_\w+", "\n".join(path.read_text() for path in files)))
    named = {(str(p), name) for p in inline_code() for name in re.findall(r"\bFLT_\w+", p.text)}
    unknown = sorted(f"{where}: {name}" for where, name in named if name not in known)
    assert not unknown, f"variables that nothing reads: {unknown}"
