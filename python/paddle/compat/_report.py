"""Finds the names of Paddle in the source of a program, without running it."""

import ast
import collections
import os

from . import _table


class _Names(ast.NodeVisitor):
    """``found``: from each name of Paddle to the lines on which it stands.

    Follows imports, ``f = fluid.layers``, the methods of ``exe = fluid.Executor(place)``, and what is
    assigned to: ``strategy.a_sync = True``.
    Blocks are not told apart: a name stands for Paddle's all over the file.
    """

    def __init__(self):
        self.found = collections.defaultdict(list)
        self._aliases = {}  # a name in the program to what it stands for
        self._objects = {}  # a name in the program to the class that made it
        self._stars = []  # modules of which all names were imported

    def _note(self, dotted, line):
        """Keep a chain of attributes up to the first that is no module."""
        parts = dotted.split(".")
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            if not _table.is_module(name) or length == len(parts):
                self.found[name].append(line)
                return

    # ---- where names come from

    def visit_Import(self, node):
        for one in node.names:
            if one.name.split(".")[0] == "paddle":
                self._note(one.name, node.lineno)
                self._aliases[one.asname or "paddle"] = one.name if one.asname else "paddle"

    def visit_ImportFrom(self, node):
        module = node.module or ""
        if node.level or module.split(".")[0] != "paddle":
            return
        for one in node.names:
            if one.name == "*":
                self._stars.append(module)
                self._note(module, node.lineno)
            else:
                self._aliases[one.asname or one.name] = f"{module}.{one.name}"
                self._note(f"{module}.{one.name}", node.lineno)

    def visit_Assign(self, node):
        self.visit(node.value)
        called = isinstance(node.value, ast.Call)
        dotted = self._made(node.value) if called else self._dotted(node.value)
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.visit(target)
                continue
            self._objects.pop(target.id, None)
            if dotted:
                kept = self._objects if called else self._aliases
                kept[target.id] = dotted

    def _made(self, call):
        """What a call makes, in Paddle's words, or None."""
        of = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(of, ast.Call) or call.func.attr != "create_dataset":
            return self._dotted(call.func)
        # fluid.DatasetFactory().create_dataset("InMemoryDataset")
        words = [one.value for one in call.args if isinstance(one, ast.Constant)]
        factory = (self._dotted(of.func) or "").rpartition(".")[0]
        return f"{factory}.{words[0] if words else 'QueueDataset'}" if factory else None

    # ---- where they are used

    def visit_Attribute(self, node):
        dotted = self._dotted(node)
        if dotted:
            self._note(dotted, node.lineno)
            return
        of = node.value
        if isinstance(node.ctx, ast.Store) and isinstance(of, ast.Name) and of.id in self._objects:
            kind = self._objects[of.id]
            if _table.lacks_setting(kind, node.attr):
                self.found[f"{kind}.{node.attr}"].append(node.lineno)
        self.generic_visit(node)

    def visit_Call(self, node):
        """A call of a method that a class lacks. What is only read may belong to the object."""
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(of, ast.Name) and of.id in self._objects:
            kind = self._objects[of.id]
            if _table.lacks_method(kind, node.func.attr):
                self.found[f"{kind}.{node.func.attr}"].append(node.lineno)
        self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in self._aliases:
            self._note(self._aliases[node.id], node.lineno)
        for module in self._stars:
            if isinstance(node.ctx, ast.Load) and _table.eras(f"{module}.{node.id}"):
                self._note(f"{module}.{node.id}", node.lineno)

    def _dotted(self, node):
        """``a.b.c`` in Paddle's words, or None."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._aliases:
            return None
        return ".".join([self._aliases[node.id], *reversed(parts)])


def names(source, path):
    """From each name of Paddle in a program to its lines."""
    walker = _Names()
    walker.visit(ast.parse(source, path))
    modules = [name for name in walker.found if _table.is_module(name) and _table.has(name)]
    for name in modules:  # imported, nothing to say about them
        del walker.found[name]
    return dict(walker.found)


def with_modules(paths):
    """Programs, and the files beside them that they import, each once."""
    queue, seen = list(paths), []
    while queue:
        path = queue.pop(0)
        if path not in seen:
            seen.append(path)
            queue += [one for one in _imported(path) if one not in seen]
    return seen


def _imported(path):
    """The files that a program imports from its own folder."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    modules = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level < 2:
            package = node.module.split(".") if node.module else []
            modules += [".".join([*package, one.name]) for one in node.names] + [node.module or ""]
    found = []
    for module in modules:
        place = os.path.join(os.path.dirname(path), *module.split("."))
        found += [place + ".py", os.path.join(place, "__init__.py")] if module else []
    return sorted({one for one in found if os.path.isfile(one)})


def lines(path):
    """The report on one program, and whether all it uses is here."""
    with open(path, "rb") as file:
        found = names(file.read(), path)
    missing = [name for name in found if not _table.has(name)]
    out = [f"{path} uses {len(found)} names of Paddle; Flotilla has {len(found) - len(missing)}."]
    rows = [("line", "name", "era", "in Flotilla")]
    for name, places in sorted(found.items(), key=lambda item: (item[0] not in missing, item[1])):
        era = ", ".join(_table.eras(name)) or "?"
        here = "yes" if name not in missing else f"no: {_table.advice(name)}"
        rows.append((str(places[0]), name, era, here))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for line, name, era, here in rows if found else ():
        text = f"{line:>{widths[0]}}  {name:<{widths[1]}}  {era:<{widths[2]}}  {here}"
        out.append(text.rstrip())
    return out, not missing
