"""Records the signatures of what real Paddle exports, module by module.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_signatures.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_signatures.py

Writes tests/oracle/recorded/signatures_<version>.txt: a line `module.name(arguments)` for each.
"""

import importlib
import inspect
import re
from pathlib import Path

import paddle

RECORDED = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle" / "recorded"
NEW = (
    *("paddle", "paddle.static", "paddle.static.nn", "paddle.nn", "paddle.nn.functional"),
    *("paddle.nn.initializer", "paddle.optimizer", "paddle.optimizer.lr", "paddle.metric"),
    "paddle.regularizer",
)
OLD = [
    "paddle.fluid" + name
    for name in ("", ".layers", ".optimizer", ".initializer", ".regularizer", ".clip", ".io")
] + ["paddle.fluid.metrics", "paddle.fluid.nets", "paddle.fluid.backward"]


def signatures(module):
    found = importlib.import_module(module)
    for name in sorted(set(getattr(found, "__all__", ())) or set(dir(found))):
        value = getattr(found, name, None)
        if name.startswith("_") or not callable(value) or inspect.ismodule(value):
            continue
        if not str(getattr(value, "__module__", "")).startswith("paddle"):
            continue  # a helper of Python's own that the module imported
        try:
            text = str(inspect.signature(value))
        except (TypeError, ValueError):
            continue
        if not re.search(
            r"[<:]|VarType", text
        ):  # what no source can say, such as a function as a default
            yield module + "." + name + text


def main():
    old = paddle.__version__.startswith("1.")
    lines = [line for module in (OLD if old else NEW) for line in signatures(module)]
    path = RECORDED / f"signatures_{paddle.__version__}.txt"
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} signatures recorded with Paddle {paddle.__version__}")


if __name__ == "__main__":
    main()
