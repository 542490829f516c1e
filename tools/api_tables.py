"""What the tables of the API (python/paddle/_tables.py) say, for people and for editors.

    tools/api_tables.py --docs             writes docs/ops.md: the functions that are one operator
    tools/api_tables.py --stubs FOLDER     writes FOLDER/paddle/.../NAME.pyi for each module with a
                                           table, which editors cannot see otherwise
"""

import argparse
import ast
import functools
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "paddle"

HEAD = """# Functions that are one operator

Made by `tools/api_tables.py --docs` from the tables beside the modules of `paddle` (`*.api`); their
grammar stands in `python/paddle/_tables.py`. What a function does is in its docstring, and what the
operator takes in `flotilla inspect op TYPE`.
"""


def tables_module():
    """paddle._tables without paddle, which needs the C++ core."""
    spec = importlib.util.spec_from_file_location("_tables", PACKAGE / "_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = tables_module()


def tables():
    """(module, path, what stands in it) of each table."""
    for path in sorted(PACKAGE.rglob("*.api")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        yield module.removesuffix(".__init__"), path, list(TABLES.read(path))


def signature(row):
    return joined(row.parameters)


def joined(parameters):
    return ", ".join(f"{name}={default}" if default else name for name, default in parameters)


@functools.cache
def functional():
    """{name: (parameters, docstring)} of the functions that layers call."""
    found = {}
    for path in (PACKAGE / "nn" / "functional").glob("*.*"):
        if path.suffix == ".api":
            rows = (one for one in TABLES.read(path) if isinstance(one, TABLES.Row))
            found |= {row.name: (row.parameters, row.doc) for row in rows}
        elif path.suffix == ".py":
            nodes = ast.parse(path.read_text()).body
            functions = (node for node in nodes if isinstance(node, ast.FunctionDef))
            found |= {
                node.name: (parameters(node.args), ast.get_docstring(node)) for node in functions
            }
    return found


def parameters(arguments):
    defaults = [ast.unparse(default) for default in arguments.defaults]
    needed = len(arguments.args) - len(defaults)
    return list(zip((one.arg for one in arguments.args), [""] * needed + defaults))


def made_class(row):
    """The text of a class; a layer that takes all arguments of a function takes what that does."""
    own, (theirs, doc) = signature(row), functional().get(row.target, (None, ""))
    if own == "...":
        own = joined(theirs[len(row.variables) :]) if theirs else "*args: Any, **kwargs: Any"
    members = [repr(row.doc or doc), f"def __init__(self, {own}): ..."]
    if row.variables:
        members.append(f"def forward(self, {', '.join(row.variables)}): ...")
    above = "Layer" if row.variables else row.target
    return "\n    ".join([f"class {row.name}({above}):", *members])


def document():
    parts = [HEAD]
    for module, _, entries in tables():
        rows = [one for one in entries if isinstance(one, TABLES.Row)]
        ops = [row for row in rows if "." not in row.target.partition("(")[0]]
        if ops:
            parts.append(f"\n## {module}\n\n| function | operator |\n| --- | --- |\n")
        parts += [
            f"| `{row.name}({signature(row)})` | `{row.target.partition('(')[0].split()[0]}` |\n"
            for row in ops
        ]
    return "".join(parts)


def stub(path, entries):
    """The text of the .pyi: what the table makes and what the module itself defines."""
    made = ["from typing import Any", "from paddle.nn.layer.layers import Layer"]
    for entry in entries:
        if isinstance(entry, TABLES.Class):
            made.append(made_class(entry))
        elif isinstance(entry, TABLES.Row):
            made.append(f"def {entry.name}({signature(entry)}):\n    {entry.doc!r}\n    ...")
        elif entry.module:
            name = "" if entry.name == "*" else f" as {entry.name}"
            made.append(f"from {entry.module} import {entry.other}{name}")
        else:
            made.append(f"{entry.name} = {entry.other}")
    source = path.with_suffix(".py")
    for node in ast.parse(source.read_text()).body if source.exists() else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            made.append(ast.unparse(node))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.append(ast.unparse(without_body(node)))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            made.append(ast.unparse(node))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = (one.id for one in node.targets if isinstance(one, ast.Name))
            made += [f"{name}: Any" for name in names]
    return "\n".join(made) + "\n"


def without_body(node):
    """A function or class with its docstring, and of its statements only functions."""
    doc = ast.get_docstring(node)
    text = [ast.Expr(ast.Constant(doc))] if doc else []
    methods = [without_body(one) for one in node.body if isinstance(one, ast.FunctionDef)]
    inside = (
        methods if isinstance(node, ast.ClassDef) and methods else [ast.Expr(ast.Constant(...))]
    )
    node.body = text + inside
    return ast.fix_missing_locations(node)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--docs", action="store_true")
    wanted.add_argument("--stubs", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.docs:
        (ROOT / "docs" / "ops.md").write_text(document())
        return
    for _, path, entries in tables():
        place = options.stubs / path.relative_to(PACKAGE.parent).with_suffix(".pyi")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(stub(path, entries))


if __name__ == "__main__":
    main()
