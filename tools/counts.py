"""Counts what the size of a contract shows in: repeated blocks, lines an operator, large classes.

    tools/counts.py [--tree FOLDER] [--forward-types N] [--show]

FOLDER is a checkout, of any commit (git worktree add FOLDER COMMIT); this one by default. The
forward op types come from its tests/ops/registry.txt; a commit that has none needs N.

  repeated blocks     pairs of blocks of 8 or more lines of code in flotilla/ops, without tests, that
                      are equal once names, numbers and texts are replaced. A line of code holds a
                      name or a literal; includes and comments are left out. A pair is as long as it
                      can be, and its blocks do not overlap.
  lines an op         lines of .cc and .h in flotilla/ops, without tests, over forward op types
  largest class       the class in flotilla with the most methods, and those behind it
  files that name it  files, beside its own and without tests and comments, that name a thing which
                      exists: what somebody edits who adds one like it
  found by file name  forward op types that somebody finds who looks for them in the list of files.
                      The file says the type between quotes, and is named like it without what
                      marks a version or a number of axes (_v2, 2, 2d): by some of its words in a
                      row (interp has linear_interp), or by all of them and others (kthvalue_mode
                      has mode); all_reduce is allreduce. It lies in flotilla/ops, or in
                      flotilla/update, whose rules are operators. Of a type that no file says in
                      full it must say how it begins or ends. Ops that are one expression each
                      count where a header of formulas, ops/common/*_formulas.h, names them
  lines of Python     of python/paddle, without what reads data: dataset, reader, vision, text, io
  core called twice   functions of it in which two or more calls of the core are written
  lines of bindings   of python/src
"""

import argparse
import ast
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = 8
KEYWORDS = frozenset(
    """alignas auto bool break case catch char class concept const consteval constexpr continue
    default delete do double else enum explicit extern false final float for friend if inline int
    int8_t int16_t int32_t int64_t long mutable namespace new noexcept nullptr operator override
    private protected public requires return short signed size_t sizeof static static_cast struct
    switch template this throw true try typedef typename uint8_t uint16_t uint32_t uint64_t union
    unsigned using virtual void volatile while""".split()
)
TOKEN = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<number>\d[\w.']*)|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<mark>::|->|<<|>>|&&|\|\||[-+*/%<>=!]=|\S)"""
)
READS_DATA = ("dataset", "reader", "vision", "text", "io")
# A thing that exists, and the names of its own files.
ADDED = {
    "softmax": ("softmax", ("softmax.", "softmax_rows.")),
    "sequence op": ("sequence_concat", ("sequence_concat.",)),
    "optimizer": ("adadelta", ("adadelta.",)),
    "strategy": ("local_?sgd", ("local_sgd.",)),
}


def is_test(path):
    return path.stem.endswith("_test") or "testing" in path.parts


def sources(folder, *suffixes):
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in suffixes)
    return [path for path in found if not is_test(path.relative_to(folder.parent))]


def without_comments(text):
    """`text` with as many lines: a comment becomes nothing, what is quoted stays."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''

    def keep(match):
        found = match.group()
        return "\n" * found.count("\n") if found.startswith("/") else found

    return re.sub(pattern, keep, text, flags=re.DOTALL)


def shape(line):
    """The line with names and literals replaced; None where it holds neither."""
    tokens, says = [], False
    for match in TOKEN.finditer(line):
        kind, token = match.lastgroup, match.group()
        if kind == "name" and token not in KEYWORDS:
            token = "N"
        elif kind in ("text", "number"):
            token = "L"
        says = says or kind != "mark"
        tokens.append(token)
    return " ".join(tokens) if says else None


def code_lines(path):
    """(number, shape) of the lines of code."""
    lines = without_comments(path.read_text(errors="replace")).splitlines()
    shapes = ((n, shape(line)) for n, line in enumerate(lines, 1) if not line.startswith("#"))
    return [(n, found) for n, found in shapes if found is not None]


def repeated_blocks(folder):
    """Pairs ((path, line), (path, line), lines), each as long as it can be."""
    codes = [(path, code_lines(path)) for path in sources(folder, ".cc", ".h")]
    shapes = [[found for _, found in lines] for _, lines in codes]
    places = collections.defaultdict(list)
    for f, file_shapes in enumerate(shapes):
        for i in range(len(file_shapes) - BLOCK + 1):
            places[tuple(file_shapes[i : i + BLOCK])].append((f, i))
    pairs = []
    for group in places.values():
        for a, (f, i) in enumerate(group):
            for g, j in group[a + 1 :]:
                if f == g and j < i + BLOCK:
                    continue
                if i > 0 and j > 0 and shapes[f][i - 1] == shapes[g][j - 1]:
                    continue  # a part of the pair that begins a line before
                length = BLOCK
                most = min(len(shapes[f]) - i, len(shapes[g]) - j)
                while length < most and shapes[f][i + length] == shapes[g][j + length]:
                    length += 1
                first, second = (codes[f][0], codes[f][1][i][0]), (codes[g][0], codes[g][1][j][0])
                pairs.append((first, second, length))
    return pairs


def class_bodies(text):
    """(name, body) of each class and struct, those inside others included."""
    for match in re.finditer(
        r"\b(?:class|struct)\s+(?:[A-Z_]+\([^)]*\)\s*)?(\w+)[^;{}()]*\{", text
    ):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield match.group(1), text[match.end() : end - 1]


def methods(body):
    """How many functions a class declares or defines, its constructors and operators included, but
    for those that are deleted or defaulted."""
    flat, depth = [], 0  # the body without what lies in braces
    for character in body:
        if character == "}":
            depth -= 1
        if depth == 0:
            flat.append(";" if character == "}" else character)
        if character == "{":
            depth += 1
    count = 0
    for statement in re.split(
        r"[;{}]", re.sub(r"\b(public|private|protected)\s*:", ";", "".join(flat))
    ):
        statement = re.sub(r"FLT_\w+\([^()]*\)", "", statement).strip()
        if re.match(r"(using|friend|enum|class|struct|static_assert|typedef)\b", statement):
            continue
        head = re.split(r"=(?!=)(?!.*operator)", statement)[0]
        named = re.search(r"(\w+|operator\s*\S+)\s*\(", head)
        if named and not re.search(r"=\s*(delete|default)\s*$", statement):
            # A member of type std::function<R(A)> has its parentheses inside of angle brackets.
            count += head[: named.start()].count("<") == head[: named.start()].count(">")
    return count


def largest_classes(folder):
    found = []
    for path in sources(folder, ".cc", ".h"):
        for name, body in class_bodies(without_comments(path.read_text(errors="replace"))):
            found.append((methods(body), name, path))
    return sorted(found, key=lambda row: (-row[0], str(row[2])))


def files_that_name(tree, name, own, folders, *suffixes):
    word = re.compile(rf"(?<![A-Za-z0-9_]){name}(?![a-z0-9_])", re.IGNORECASE)
    paths = (path for folder in folders for path in sources(tree / folder, *suffixes))
    others = (path for path in paths if not path.name.startswith(own))
    return [path for path in others if word.search(without_comments(path.read_text()))]


def forward_types(tree):
    """The names of the forward op types; none where the checkout has no dump of them."""
    dump = tree / "tests/ops/registry.txt"
    types = re.findall(r"^op (\w+)", dump.read_text(), re.MULTILINE) if dump.exists() else []
    return [found for found in types if not re.search(r"_grad\d?$", found)]


def without_version(type):
    return re.sub(r"(_?v?[23]|[23]d)$", "", type)


def is_named_like(stem, type):
    """Whether words of `type` in a row are the file's name, or all of its words are among them."""
    plain = without_version(type).split("_")
    for words in (plain, type.split("_")):
        places = range(len(words) + 1)
        if stem.replace("_", "") in {"".join(words[i:j]) for i in places for j in places[i + 1 :]}:
            return True
    return set(plain) <= set(stem.split("_"))


def says_a_part(stem, said, type):
    """Whether one of the texts `said` is how `type` begins or ends, and holds the file's name."""
    begins = (text for text in said if text.endswith("_") and type.startswith(text))
    ends = (text for text in said if type.endswith("_" + text.strip("_")))
    own = stem.replace("_", "")
    return any(own in text.replace("_", "") for text in (*begins, *ends))


def not_found_by_name(tree, types):
    ops = tree / "flotilla" / "ops"
    formulas = "".join(path.read_text() for path in ops.glob("common/*_formulas.h"))
    says = []  # (the file's name, what stands between quotes in it)
    for path in (*sources(ops, ".cc"), *sources(tree / "flotilla" / "update", ".cc")):
        text = without_comments(path.read_text())
        says.append((path.stem, set(re.findall(r'"(\w*[a-z]\w*)"', text))))

    def is_found(type):
        names = {type, without_version(type)}
        if any(f'"{name}"' in formulas for name in names):
            return True
        named_like = [(stem, said) for stem, said in says if is_named_like(stem, type)]
        if any(names & said for _, said in named_like):
            return True
        if any(names & said for _, said in says):
            return False
        return any(says_a_part(stem, said, name) for stem, said in named_like for name in names)

    return [type for type in types if not is_found(type)]


def calls_of_core(function):
    """How many calls of the core are written in a function, those of functions inside included."""
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    owners = (call.value for call in calls if isinstance(call, ast.Attribute))
    return sum(ast.unparse(owner) in ("core", "core.fleet") for owner in owners)


def python_files(tree):
    package = tree / "python" / "paddle"
    found = sorted(package.rglob("*.py"))
    return [path for path in found if path.relative_to(package).parts[0] not in READS_DATA]


def functions_that_call_twice(path):
    tree = ast.parse(path.read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [function.name for function in functions if calls_of_core(function) > 1]


def count_lines(paths):
    return sum(len(path.read_text(errors="replace").splitlines()) for path in paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT, help="the checkout to count in")
    parser.add_argument("--forward-types", type=int, help="where the checkout has no registry.txt")
    parser.add_argument("--show", action="store_true", help="list the pairs and the files, too")
    options = parser.parse_args()
    tree = options.tree.resolve()
    ops = tree / "flotilla" / "ops"

    pairs = repeated_blocks(ops)
    print(f"repeated blocks: {len(pairs)}")
    for (first, line), (second, other), length in pairs if options.show else ():
        print(f"  {first.relative_to(ops)}:{line} {second.relative_to(ops)}:{other} {length} lines")
    lines = count_lines(sources(ops, ".cc", ".h"))
    types = forward_types(tree)
    known = len(types) or options.forward_types
    if known is None:
        sys.exit(f"{tree} has no tests/ops/registry.txt; say --forward-types N")
    print(f"lines an op: {lines / known:.1f} ({lines} lines, {known} forward op types)")
    print("largest class:")
    for count, name, path in largest_classes(tree / "flotilla")[:8]:
        print(f"  {count} {name} ({path.relative_to(tree)})")
    print("files that name it:")
    for what, (name, own) in ADDED.items():
        cpp = files_that_name(tree, name, own, ("flotilla", "python/src", "cli"), ".cc", ".h")
        python = files_that_name(tree, name, own, ("python/paddle",), ".py")
        print(f"  {what}: {len(cpp)} of C++, {len(python)} of Python")
        for path in [*cpp, *python] if options.show else ():
            print(f"    {path.relative_to(tree)}")
    lost = not_found_by_name(tree, types)
    if types:
        print(f"found by file name: {1 - len(lost) / known:.0%} ({known - len(lost)} of {known})")
    if options.show:
        print(f"  not: {' '.join(lost)}")
    python = python_files(tree)
    print(f"lines of Python: {count_lines(python)}")
    twice = {path: functions_that_call_twice(path) for path in python}
    print(f"core called twice: {sum(map(len, twice.values()))} functions")
    for path, names in twice.items() if options.show else ():
        for name in names:
            print(f"  {path.relative_to(tree)}: {name}")
    bindings = [path for path in (tree / "python/src").iterdir() if path.suffix in (".cc", ".h")]
    print(f"lines of bindings: {count_lines(bindings)}")


if __name__ == "__main__":
    main()
