"""tools/check_tests.py finds test files that no build compiles and no runner collects."""

import check_tests


def test_a_file_that_no_target_compiles(tmp_path):
    path = tmp_path / "a_test.cc"
    path.write_text("TEST(Known, Case) {}\n")
    assert [*check_tests.unbuilt([path], set(), {"Known"})] == [f"{path}: no target compiles it"]
    assert [*check_tests.unbuilt([path], {str(path)}, {"Known"})] == []


def test_a_file_whose_suites_are_unknown(tmp_path):
    path = tmp_path / "a_test.cc"
    path.write_text("TEST_F(Gone, Case) {}\n")
    found = [*check_tests.unbuilt([path], {str(path)}, {"Known"})]
    assert found == [f"{path}: ctest knows none of its test suites (Gone)"]


def test_a_python_file_without_tests():
    path = check_tests.ROOT / "tests/test_nothing.py"
    assert [*check_tests.uncollected([path], ["tests/test_other.py::test_a"])] == [
        f"{path}: pytest collects no test from it"
    ]
    assert [*check_tests.uncollected([path], ["tests/test_nothing.py::test_a"])] == []


def test_files_of_cuda_are_looked_for_in_its_preset_alone(tmp_path):
    plain, cuda = (check_tests.ROOT / name for name in ("a/b_test.cc", "a/cuda/b_test.cc"))
    assert check_tests.without_cuda([plain, cuda]) == [plain]
    (tmp_path / "CMakeCache.txt").write_text("FLT_CUDA:BOOL=OFF\n")
    assert not check_tests.with_cuda(tmp_path)
    (tmp_path / "CMakeCache.txt").write_text("FLT_CUDA:BOOL=ON\n")
    assert check_tests.with_cuda(tmp_path)


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_an_operator_whose_file_does_not_bear_its_name(tmp_path):
    write(tmp_path, "tests/ops/registry.txt", "op where\nop where_grad\nop eye\nop mode\n")
    write(tmp_path, "flotilla/ops/tensor/where.cc", '"where"')
    write(tmp_path, "flotilla/ops/tensor/make.cc", '"eye", "mode"')
    assert [*check_tests.hard_to_find(tmp_path, ["mode"])] == [
        "eye: no file in flotilla/ops is named like it (rule: tools/counts.py)"
    ]
    assert [*check_tests.hard_to_find(tmp_path, ["eye", "mode", "where"])] == [
        "where: is found by name, or is gone; take it out of NAMED_OTHERWISE"
    ]


def test_a_test_of_operators_is_called_like_what_it_tests(tmp_path):
    for name in ("tensor/where.cc", "tensor/where_test.cc", "nn/norm.h", "nn/norm_test.cc"):
        write(tmp_path, f"flotilla/ops/{name}", "")
    write(tmp_path, "flotilla/update/adam.cc", "")
    write(tmp_path, "flotilla/ops/optim/adam_test.cc", "")
    assert [*check_tests.astray(tmp_path)] == []
    lost = write(tmp_path, "flotilla/ops/tensor/make_test.cc", "")
    assert [*check_tests.astray(tmp_path)] == [f"{lost}: no make.cc or make.h lies beside it"]
