"""Records which public names real Paddle has, module by module; no code, no signatures.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_names.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_names.py

Writes python/paddle/compat/names_<version>.txt: a line `module: name name ...` for each module that
says in __all__ what it offers. `python -m paddle.compat` reads it.
"""

import contextlib
import importlib
import inspect
import io
import pkgutil
from pathlib import Path

import paddle

PACKAGE = Path(__file__).resolve().parent.parent.parent / "python" / "paddle" / "compat"
# Insides, and what was never part of a program.
SKIPPED = ("libs", "proto", "base", "cinn", "decomposition")

# Public modules whose __all__ is missing or leaves out what programs use.
FLEET = "paddle.fluid.incubate.fleet"
WITHOUT_LISTS = (
    *("paddle", "paddle.dataset.mq2007", "paddle.fluid.layers.collective"),
    *(f"{FLEET}.collective", f"{FLEET}.base.role_maker", f"{FLEET}.base.fleet_base"),
    *(f"{FLEET}.parameter_server.{kind}" for kind in ("distribute_transpiler", "pslib")),
    *(f"paddle.distributed{name}" for name in ("", ".fleet", ".fleet.metrics")),
    *("paddle.distributed.fleet.base.role_maker", "paddle.distributed.fleet.data_generator"),
)


def modules():
    """Every module that can be imported, as public names say it."""
    yield "paddle", paddle
    for found in pkgutil.walk_packages(paddle.__path__, "paddle.", onerror=lambda name: None):
        parts = found.name.split(".")[1:]
        if parts[0] in SKIPPED or any(part.startswith("_") or part == "tests" for part in parts):
            continue
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                yield found.name, importlib.import_module(found.name)
        except BaseException:  # noqa: BLE001, S112 - it needs a package or a device; nobody uses it
            continue


def names(module):
    offered = set(getattr(module, "__all__", ()))
    if module.__name__ in WITHOUT_LISTS:
        offered.update(name for name in dir(module) if is_from(module, getattr(module, name)))
    return sorted(
        name
        for name in offered
        if (not name.startswith("_") or name.startswith("_c_"))
        and hasattr(module, name)
        and not inspect.ismodule(getattr(module, name))
    )


def is_from(module, value):
    """Whether it was made in the module or below it, not imported from elsewhere."""
    return str(getattr(value, "__module__", "")).startswith(module.__name__)


def main():
    found = {name: names(module) for name, module in modules()}
    lines = []
    for module, offered in sorted(found.items()):
        parent = found.get(module.rpartition(".")[0], ())
        inside = module.count(".") > 2 and set(offered) <= set(parent)
        if offered and not inside:
            lines.append(f"{module}: {' '.join(offered)}")
    path = PACKAGE / f"names_{paddle.__version__}.txt"
    path.write_text("\n".join(lines) + "\n")
    count = sum(len(line.split()) - 1 for line in lines)
    print(f"{count} names in {len(lines)} modules recorded with Paddle {paddle.__version__}")


if __name__ == "__main__":
    main()
