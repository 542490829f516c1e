"""tools/check_layers.py finds each kind of violation, and none where there is none."""

import pathlib

import check_layers
import pytest

FILES = {
    "CMakeLists.txt": "set(FLT_FOLDERS\n    base device ir op ops)\n",
    "flotilla/base/CMakeLists.txt": "flt_library(base LINK fmt::fmt)\n",
    "flotilla/device/CMakeLists.txt": "flt_library(device LINK flt_dnnl)\n",
    "flotilla/ir/CMakeLists.txt": "flt_library(ir PROTO)\n",
    "flotilla/op/CMakeLists.txt": "flt_library(op DEPS ir)\n",
    "flotilla/ops/CMakeLists.txt": "flt_library(ops DEPS ir op device)\n",
    "flotilla/base/env.cc": 'const char* v = getenv("HOME");\n',
    "flotilla/device/cpu/onednn.h": "#include <oneapi/dnnl/dnnl.hpp>\n",
    "flotilla/op/op_def.h": '#include "flotilla/ir/attr.h"\n#include "flotilla/base/error.h"\n',
    "flotilla/ops/nn/relu.cc": '#include "flotilla/device/cpu/onednn.h"\n',
    "flotilla/op/op_def_test.cc": '#include "flotilla/ops/nn/relu.h"\n',
    "cli/main.cc": '#include "flotilla/ops/nn/relu.h"\n',
}


@pytest.fixture
def tree(tmp_path):
    def write(extra=()):
        for name, text in {**FILES, **dict(extra)}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_layers.violations(tmp_path)

    return write


def test_a_clean_tree_has_no_violation(tree):
    assert tree() == []


def test_an_include_of_a_folder_outside_deps(tree):
    found = tree({"flotilla/ir/x.cc": '// why\n#include "flotilla/op/op_def.h"\n'})
    assert found == ["flotilla/ir/x.cc:2: ir may not include op, only base"]


def test_deps_are_not_inherited(tree):
    found = tree(
        {"flotilla/ops/CMakeLists.txt": "flt_library(ops DEPS op device)\n"}
        | {"flotilla/ops/nn/x.cc": '#include "flotilla/ir/attr.h"\n'}
    )
    assert found == ["flotilla/ops/nn/x.cc:1: ops may not include ir, only base, device, op"]


def test_deps_that_name_a_later_folder(tree):
    found = tree({"flotilla/ir/CMakeLists.txt": "flt_library(ir PROTO DEPS ops)\n"})
    assert found == ["flotilla/ir/CMakeLists.txt: DEPS names ops, which comes later"]


def test_names_outside_the_namespace_of_the_folder(tree):
    shared = "namespace flotilla {\nstruct Op {};\n}  // namespace flotilla\n"
    declared = "namespace flotilla {\n// Somebody's.\nclass Op;\nusing ops::Pair;\n}\n"
    own = "namespace flotilla::ops::detail {\nint two();\n}\n"
    assert tree({"flotilla/ir/x.h": shared, "flotilla/ops/x.h": declared + own}) == []
    found = tree({"flotilla/ops/x.h": own + shared})
    assert found == ["flotilla/ops/x.h:4: ops defines names in flotilla::ops, not in flotilla"]


def test_a_family_of_operators_that_includes_another(tree):
    text = '#include "flotilla/ops/common/y.h"\n#include "flotilla/ops/{}/y.h"\n'
    assert tree({"flotilla/ops/nn/x.cc": text.format("nn")}) == []
    assert tree({"flotilla/ops/nn/x.cc": text.format("math")}) == [
        "flotilla/ops/nn/x.cc:2: ops/nn may not include ops/math, only ops/common"
    ]
    assert len(tree({"flotilla/ops/common/x.h": text.format("nn")})) == 2


def test_onednn_outside_its_header(tree):
    found = tree({"flotilla/ops/nn/conv.cc": "#include <dnnl.hpp>\n"})
    assert found == ["flotilla/ops/nn/conv.cc:1: only flotilla/device/cpu/onednn.h may see oneDNN"]
    assert len(tree({"cli/env.cc": '#include "oneapi/dnnl/dnnl.h"\n'})) == 2


def test_getenv_outside_base_env(tree):
    text = '// getenv(\nconst char* a = "getenv(";\n\nauto b = std::getenv("X");\n'
    assert tree({"flotilla/op/x.cc": text}) == [
        "flotilla/op/x.cc:4: only base/env.h may call getenv"
    ]


def test_a_folder_without_its_cmake_line(tree):
    found = tree({"flotilla/stray/x.cc": ""})
    assert found == ["flotilla/stray/x.cc: flotilla/stray has no CMakeLists.txt with flt_library()"]


TABLE = """
## Who may include whom

| folder | may include | folder | may include |
| --- | --- | --- | --- |
| device | – | op | ir |
| ir | – | ops | {} |

## Something else

| folder | may include |
| --- | --- |
| op | device |
"""


def test_a_table_that_says_what_deps_say(tree):
    assert tree({"docs/architecture.md": TABLE.format("ir, op, device")}) == []


@pytest.mark.parametrize("names", ["ir, op", "ir, op, device, tensor", "–"])
def test_a_row_of_the_table_that_differs(tree, names):
    assert tree({"docs/architecture.md": TABLE.format(names)}) == [
        "docs/architecture.md: the table must say | ops | device, ir, op | "
        "as flotilla/ops/CMakeLists.txt does"
    ]


def test_rows_of_the_table_that_are_missing_or_too_many(tree):
    table = TABLE.format("ir, op, device").replace("| device | – |", "| devise | – |")
    assert tree({"docs/architecture.md": table}) == [
        "docs/architecture.md: the table names devise, which is no folder",
        "docs/architecture.md: the table must say | device | – | "
        "as flotilla/device/CMakeLists.txt does",
    ]


def test_this_repository():
    assert check_layers.violations(pathlib.Path(check_layers.__file__).parents[1]) == []


def test_cuda_outside_what_only_its_preset_builds(tree):
    runtime, ours = "#include <cuda_runtime.h>\n", '#include "flotilla/device/cuda/stream.h"\n'
    allowed = ["flotilla/device/cuda/x.cc", "flotilla/ops/nn/relu.cu", "flotilla/testing/x.cc"]
    assert tree({name: runtime + ours for name in allowed}) == []
    assert tree({"flotilla/ops/nn/x.cc": runtime + ours}) == [
        "flotilla/ops/nn/x.cc:1: only *.cu, cuda/ and nccl/ may include cuda_runtime.h",
        "flotilla/ops/nn/x.cc:2: only *.cu, cuda/ and nccl/ may include flotilla/device/cuda/stream.h",
    ]
