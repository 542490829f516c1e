"""Checks who includes whom.

    tools/check_layers.py [ROOT]

Seven rules; all but the sixth are for sources and headers but not for tests:

1. A file of flotilla/<folder> includes only its own folder, `base`, and the folders named by DEPS
   in flotilla/<folder>/CMakeLists.txt. DEPS itself names no folder that comes later in FLT_FOLDERS.
2. Only flotilla/device/cpu/onednn*.{h,cc} include oneDNN.
3. Only flotilla/base/env.{h,cc} call getenv.
4. Only files that are built with FLT_CUDA alone (*.cu, *.cuh, cuda/, nccl/) include CUDA or each
   other; the test library may, under #ifdef.
5. A file of flotilla/<folder> defines names in flotilla::<folder>, or in a namespace inside of it. The
   folders of ROOT_NAMESPACE, whose types every program names, share the namespace flotilla. A
   header may export names of its own to flotilla by `using`.
6. The table "Who may include whom" of docs/architecture.md says of each folder what its DEPS say.
7. A family of operators, a folder of flotilla/ops, includes no other one: what several share lies
   in flotilla/ops/common, which includes none of them.
"""

import pathlib
import re
import sys

SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
ONEDNN = re.compile(r"^(oneapi/)?dnnl")
ONEDNN_FILES = re.compile(r"^flotilla/device/cpu/onednn\w*\.(h|cc)$")
CUDA = re.compile(r"^(cuda|cublas|cudnn|curand|nccl)\w*\.h$|^flotilla/.*(/(cuda|nccl)/|\.cuh$)")
CUDA_FILES = re.compile(r"\.cuh?$|/(cuda|nccl)/|^flotilla/testing/")
GETENV = re.compile(r"\b(?:secure_)?getenv\s*\(")
GETENV_FILES = {"flotilla/base/env.h", "flotilla/base/env.cc"}
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
DOCUMENT = "docs/architecture.md"
OPEN_TO_ANYTHING = {"testing"}
ROOT_NAMESPACE = {"base", "device", "tensor", "ir", "op", "kernel", "runtime"}
NAMESPACE = re.compile(r"^namespace (flotilla[\w:]*) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
DECLARATION = re.compile(r"(//.*|(class|struct|using) [^;{]*;|(namespace \w+ \{|\}).*|)$")


def folder_order(root):
    """FLT_FOLDERS of the top CMakeLists.txt."""
    text = (root / "CMakeLists.txt").read_text()
    return re.search(r"set\(FLT_FOLDERS\s+([^)]*)\)", text).group(1).split()


def folder_deps(root):
    """DEPS by folder, as flt_library() reads them."""
    deps = {}
    for path in sorted(root.glob("flotilla/*/CMakeLists.txt")):
        call = re.search(r"flt_library\(\s*(\w+)([^)]*)\)", path.read_text())
        if call is None:
            continue
        words, found, keyword = call.group(2).split(), set(), None
        for word in words:
            if word in ("DEPS", "LINK", "PROTO", "GRPC"):
                keyword = word
            elif keyword == "DEPS":
                found.add(word)
        deps[call.group(1)] = found
    return deps


def check_order(order, deps):
    for folder, names in deps.items():
        for name in sorted(names):
            if name not in order:
                yield f"flotilla/{folder}/CMakeLists.txt: DEPS names {name}, which is no folder"
            elif order.index(name) >= order.index(folder):
                yield f"flotilla/{folder}/CMakeLists.txt: DEPS names {name}, which comes later"


def documented_deps(text):
    """The table of the document, two folders to a line: what each may include besides `base`."""
    table = text.partition("## Who may include whom")[2].partition("\n## ")[0]
    found = {}
    for line in re.findall(r"^\|(.*)\|$", table, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        for folder, names in zip(cells[::2], cells[1::2]):
            if re.fullmatch(r"\w+", folder) and folder != "folder":
                found[folder] = set(re.findall(r"\w+", names))
    return found


def check_table(document, documented, deps):
    for folder in sorted(documented.keys() - deps.keys()):
        yield f"{document}: the table names {folder}, which is no folder"
    for folder, names in deps.items():
        if folder != "base" and documented.get(folder) != names:
            row = f"| {folder} | {', '.join(sorted(names)) or '–'} |"
            yield f"{document}: the table must say {row} as flotilla/{folder}/CMakeLists.txt does"


def family_of(path):
    """The folder of flotilla/ops in which a file lies; None: in no such folder."""
    found = re.match(r"flotilla/ops/(\w+)/", path)
    return found and found.group(1)


def check_includes(path, text, folder, deps):
    allowed = deps.get(folder, set()) | {folder, "base"}
    for match in INCLUDE.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, match.start(2)) + 1}"
        target = match.group(2)
        parts = target.split("/")
        if ONEDNN.match(target) and not ONEDNN_FILES.match(path):
            yield f"{where}: only flotilla/device/cpu/onednn.h may see oneDNN"
        if CUDA.search(target) and not CUDA_FILES.search(path):
            yield f"{where}: only *.cu, cuda/ and nccl/ may include {target}"
        if parts[0] != "flotilla" or len(parts) < 3 or folder in OPEN_TO_ANYTHING:
            continue
        family, other = family_of(path), family_of(target)
        if family and other not in (family, None, "common"):
            yield f"{where}: ops/{family} may not include ops/{other}, only ops/common"
        if parts[1] not in allowed:
            names = ", ".join(sorted(allowed - {folder}))
            yield f"{where}: {folder} may not include {parts[1]}, only {names}"


def check_namespaces(path, text, folder):
    own = "flotilla" if folder in ROOT_NAMESPACE else f"flotilla::{folder}"
    for match in NAMESPACE.finditer(text):
        name, body = match.groups()
        if not f"{name}::".startswith(f"{own}::") and not all(
            DECLARATION.match(line) for line in body.split("\n")
        ):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {folder} defines names in {own}, not in {name}"


def check_getenv(path, text):
    if path in GETENV_FILES:
        return
    code = COMMENT_OR_STRING.sub(lambda match: "\n" * match.group().count("\n"), text)
    for match in GETENV.finditer(code):
        yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: only base/env.h may call getenv"


def sources(root):
    for top in ("flotilla", "cli", "python/src", "examples/cpp"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and not path.stem.endswith(("_test", "_testing")):
                yield path


def violations(root):
    """One sentence for each broken rule."""
    deps = folder_deps(root)
    found = list(check_order(folder_order(root), deps))
    tour = root / DOCUMENT
    if tour.exists():
        found += check_table(DOCUMENT, documented_deps(tour.read_text()), deps)
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        parts = name.split("/")
        if parts[0] == "flotilla" and len(parts) > 2:
            if parts[1] not in deps and parts[1] not in OPEN_TO_ANYTHING:
                found.append(
                    f"{name}: flotilla/{parts[1]} has no CMakeLists.txt with flt_library()"
                )
                continue
            found += check_includes(name, text, parts[1], deps)
            if parts[1] not in OPEN_TO_ANYTHING:
                found += check_namespaces(name, text, parts[1])
        else:
            found += check_includes(name, text, "testing", deps)
        found += check_getenv(name, text)
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if root.is_file():
        root = root.parent.parent
    found = violations(root)
    for line in found:
        print(line)
    count = sum(1 for _ in sources(root))
    print(f"{count} files, {len(found)} broken rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
