"""Records which functions are methods of a static variable of real Paddle; names only.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_methods.py

Writes tests/oracle/recorded/methods_<version>.txt: a line `module: name name ...` for each module
whose functions they are.
"""

import inspect
from pathlib import Path

import paddle

RECORDED = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle" / "recorded"


def main():
    found = {}
    kind = paddle.static.Variable
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        if not name.startswith("_") and inspect.isfunction(value):
            found.setdefault(value.__module__, []).append(name)
    lines = [f"{module}: {' '.join(sorted(names))}\n" for module, names in sorted(found.items())]
    (RECORDED / f"methods_{paddle.__version__}.txt").write_text("".join(lines))
    count = sum(len(names) for names in found.values())
    print(f"{count} methods recorded with Paddle {paddle.__version__}")


if __name__ == "__main__":
    main()
