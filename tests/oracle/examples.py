"""Examples in the docstrings of a release of Paddle, and whether they run.

What is collected is used where it is and never written to a file of ours: recordings hold names and
outcomes. The same code runs an example in Paddle 1.8.5, in 2.6.2 and in Flotilla.
"""

import contextlib
import importlib.util
import inspect
import io
import json
import os
import pkgutil
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
RELEASES = {"1.8.5": "paddle18", "2.6.2": "paddle26"}
ORACLE = Path(os.environ.get("FLT_ORACLE_DIR", Path.home() / ".cache" / "flotilla-oracle"))
LIMIT_S = 60

# Insides, and what ends the process or waits for others when it is imported.
SKIPPED = {"libs", "proto", "cinn", "decomposition", "tests", "launch", "fleet_launch"}
_BLOCK = re.compile(r"^( *)\.\. *code-block *:: *(?:python|Python|python3)? *$")


HERE = importlib.util.find_spec("_flotilla") is not None  # or in Paddle itself


def interpreter(release):
    """The interpreter that has `release`; None where tools/oracle/setup.sh has not put it."""
    found = ORACLE / RELEASES[release] / "bin" / "python"
    return str(found) if found.exists() else None


def codes(release):
    """As static_examples(), asked of the installation of `release` in another process: to import all
    that Paddle has leaves threads and programs behind."""
    asked = [interpreter(release), str(Path(__file__).resolve())]
    with tempfile.TemporaryDirectory() as folder:  # some modules write logs where they are imported
        variables = {**os.environ, "PYTHONPATH": ""}
        found = subprocess.run(asked, stdout=subprocess.PIPE, check=True, cwd=folder, env=variables)
    return json.loads(found.stdout)


def static_examples(paddle):
    """From the name of each static example of a release to its code."""
    is_1x = paddle.__version__.startswith("1.")
    return {name: code for name, code in _examples(paddle) if _is_static(code, is_1x)}


def _is_static(code, is_1x):
    if is_1x:
        return not re.search(r"dygraph|imperative|to_variable", code)
    return "paddle.enable_static()" in code


def _examples(paddle):
    """Names (`paddle.fluid.layers.fc` or, of several, `paddle.fluid.layers.fc#2`) and codes, each
    code once."""
    seen = set()
    for name, doc in sorted(_docs(paddle).items(), key=lambda one: (_plainness(one[0]), one)):
        for number, code in enumerate(blocks(doc), 1):
            if code not in seen:
                seen.add(code)
                yield (name if number == 1 else f"{name}#{number}"), code


def _plainness(name):
    """Of several names of one thing, programs use the one for which this is least."""
    inside = re.search(r"\.(common_ops_import|base|framework)\.", name)
    return bool(inside), name.count(".")


def _docs(paddle):
    """From public names to docstrings."""
    found = {}
    for module in _modules(paddle):
        if module.__doc__:
            found[module.__name__] = module.__doc__
        offered = set(getattr(module, "__all__", ()))
        for name in sorted(offered | set(dir(module))):
            value = None if name.startswith("_") else getattr(module, name, None)
            if value is None or inspect.ismodule(value):
                continue
            if name not in offered and not _is_from(module, value):
                continue
            _add(found, f"{module.__name__}.{name}", value)
            for method, one in vars(value).items() if inspect.isclass(value) else ():
                if not method.startswith("_"):
                    _add(found, f"{module.__name__}.{name}.{method}", one)
    return found


def _is_from(module, value):
    """Whether it was made in the module or below it, not imported from elsewhere."""
    return str(getattr(value, "__module__", "")).startswith(module.__name__)


def _add(found, name, value):
    doc = getattr(getattr(value, "__func__", value), "__doc__", None)
    if isinstance(doc, str):
        found[name] = doc


def _modules(paddle):
    yield paddle
    for found in pkgutil.walk_packages(paddle.__path__, "paddle.", onerror=lambda name: None):
        parts = found.name.split(".")
        if SKIPPED.intersection(parts) or any(part.startswith("_") for part in parts):
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield importlib.import_module(found.name)
        except BaseException:  # noqa: BLE001, S112 - it needs a package or a device; nobody uses it
            continue


def blocks(doc):
    """The code blocks of a docstring, without what doctest prints."""
    lines = inspect.cleandoc(doc).split("\n")
    for number, line in enumerate(lines):
        start = _BLOCK.match(line)
        if start:
            code = _code(lines[number + 1 :], len(start.group(1)))
            if code.strip():
                yield code


def _code(lines, indent):
    """What stands deeper than `indent`, or as deep where the author forgot to indent it."""
    while lines and (not lines[0].strip() or lines[0].strip().startswith(":")):
        lines = lines[1:]
    depth = _depth(lines[0]) if lines else 0
    if depth < indent:
        return ""
    kept = []
    for line in lines:
        if line.strip() and _depth(line) < depth:
            break
        kept.append(line[depth:].rstrip())
    if any(line.startswith(">>>") for line in kept):
        kept = [line[4:] for line in kept if line.startswith((">>>", "..."))]
    return "\n".join(kept).strip() + "\n"


def _depth(line):
    return len(line) - len(line.lstrip())


def run_all(codes, jobs=2, limit_s=LIMIT_S):
    """From name to `ran`, `timed out` or `failed` with the last line of the error, as the examples
    end; each in a process and a folder of its own."""
    waiting, running, outcomes = sorted(codes), {}, {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            folder = tempfile.mkdtemp(prefix="example_")
            running[_start(codes[name], folder)] = (name, folder, time.monotonic() + limit_s)
        for pid, (name, folder, end) in list(running.items()):
            outcome = _outcome(pid, folder, end)
            if outcome:
                del running[pid]
                outcomes[name] = outcome
                shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.02)
    return outcomes


def _start(code, folder):
    """The process that runs `code` in `folder`, where it leaves its error in a file."""
    script = Path(folder, "example.py")
    script.write_text(code, encoding="utf-8")
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        os.environ["HOME"] = folder
        for stream, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
            os.dup2(os.open(os.devnull, mode), stream)
        sys.argv = [str(script)]
        runpy.run_path(str(script), run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = 1 if ended.code else 0
    except BaseException:  # noqa: BLE001 - the parent reads it
        Path(folder, ".error").write_text(traceback.format_exc(), encoding="utf-8")
    os._exit(status)


def _outcome(pid, folder, end):
    found, status = os.waitpid(pid, os.WNOHANG)
    if not found and time.monotonic() < end:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what it has started, too
    if not found:
        os.waitpid(pid, 0)
        return "timed out"
    if status == 0:
        return "ran"
    if os.WIFSIGNALED(status):
        return f"failed {signal.Signals(os.WTERMSIG(status)).name}"
    error = Path(folder, ".error")
    return f"failed {_last_line(error.read_text()) if error.exists() else 'exit'}"


def _last_line(text):
    """The line of a traceback that names the error."""
    lines = [line for line in text.splitlines() if re.match(r"[\w.]+: ", line)]
    line = (lines or text.strip().splitlines())[-1].strip()
    line = re.sub(r"/\S*/", "", re.sub(r"\(the working directory is .*?\)|0x[0-9a-f]+", "", line))
    return line[:160].strip()


def read(path):
    """A recording: from names to outcomes."""
    return dict(line.split(" ", 1) for line in path.read_text().splitlines())


def write(path, outcomes):
    lines = [f"{name} {outcomes[name]}\n" for name in sorted(outcomes)]
    path.write_text("".join(lines), encoding="utf-8")


def recorded(release):
    """What examples do in the release itself."""
    return RECORDED / f"examples_{release}.txt"


def recorded_here(release):
    """What those that run there do in Flotilla."""
    return RECORDED / f"examples_here_{release}.txt"


if __name__ == "__main__":
    import paddle

    kept_output = os.dup(1)
    os.dup2(2, 1)
    found = static_examples(paddle)
    with os.fdopen(kept_output, "w") as output:
        json.dump(found, output)
