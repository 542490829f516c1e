"""Sources of CUDA are as a GPU has run them (record.json), or pending.txt says why they are not."""

import json

import pytest
import record
import sources

NOW = {"flotilla/a.cu": "1", "flotilla/cuda/b.cc": "2"}


def test_sources_are_as_a_gpu_has_run_them():
    found = [*record.complaints()]
    assert not found, "; ".join(found)


@pytest.fixture
def folder(tmp_path):
    """Where a GPU has run one of two sources, and the other is pending."""
    write(tmp_path / "record.json", {"flotilla/a.cu": "1"})
    record.write_pending({"flotilla/cuda/b.cc": "new"}, tmp_path)
    return tmp_path


def write(path, hashes, failures=()):
    suites = {name: {"failures": []} for name in record.SUITES}
    suites["operators"]["failures"] += failures
    path.write_text(json.dumps({"sources": hashes, "suites": suites}))


def test_a_source_that_is_pending_may_differ(folder):
    assert not [*record.complaints(folder, NOW)]


@pytest.mark.parametrize(
    "now, said",
    [
        ({**NOW, "flotilla/a.cu": "3"}, "no GPU has run flotilla/a.cu as it is now"),
        ({**NOW, "flotilla/c.cu": "3"}, "no GPU has run flotilla/c.cu as it is now"),
        ({"flotilla/cuda/b.cc": "2"}, "no GPU has run flotilla/a.cu as it is now"),
        ({"flotilla/a.cu": "1"}, "pending.txt names flotilla/cuda/b.cc, which is as it was"),
    ],
    ids=["changed", "new", "gone", "as recorded"],
)
def test_what_differs_is_named(folder, now, said):
    (found,) = record.complaints(folder, now)
    assert said in found


def test_a_source_is_put_off_with_its_first_reason(folder):
    record.put_off("no GPU at hand", folder, {**NOW, "flotilla/a.cu": "3"})
    wanted = {"flotilla/a.cu": "no GPU at hand", "flotilla/cuda/b.cc": "new"}
    assert record.read_pending(folder) == wanted


def test_a_record_empties_what_was_pending(folder):
    write(folder / "new.json", NOW)
    record.take(folder / "new.json", folder, {**NOW, "flotilla/cuda/b.cc": "3"})
    assert record.read_pending(folder) == {"flotilla/cuda/b.cc": "new"}
    record.take(folder / "new.json", folder, NOW)
    assert record.read_pending(folder) == {} and not [*record.complaints(folder, NOW)]


def test_a_record_with_failures_is_not_taken(folder):
    write(folder / "new.json", NOW, ["Softmax.KnownValues"])
    with pytest.raises(SystemExit, match="in which Softmax.KnownValues failed"):
        record.take(folder / "new.json", folder, NOW)
    write(folder / "record.json", {"flotilla/a.cu": "1"}, ["Softmax.KnownValues"])
    assert "in which Softmax.KnownValues failed" in [*record.complaints(folder, NOW)][0]


def test_a_record_without_a_suite_is_not_taken(folder):
    write(folder / "new.json", NOW)
    value = json.loads((folder / "new.json").read_text())
    del value["suites"]["models"]
    (folder / "new.json").write_text(json.dumps(value))
    with pytest.raises(SystemExit, match="in which models failed"):
        record.take(folder / "new.json", folder, NOW)


def test_the_sources_are_those_of_cuda_and_the_formulas_they_include(tmp_path):
    common = '#include "flotilla/ops/common/deep.h"\n'
    for name, text in {
        "ops/nn/relu.cu": '#include "flotilla/ops/common/relu.h"\n#include "flotilla/op/op_def.h"\n',
        "ops/nn/relu.cc": '#include "flotilla/ops/common/host.h"\n',
        "ops/common/relu.h": common,
        "ops/common/deep.h": "",
        "ops/common/host.h": "",
        "device/cuda/stream.cc": "",
        "op/op_def.h": "",
    }.items():
        path = tmp_path / "flotilla" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = "device/cuda/stream.cc ops/common/deep.h ops/common/relu.h ops/nn/relu.cu".split()
    assert sources.files(tmp_path) == [f"flotilla/{name}" for name in names]
    before = sources.hashes(tmp_path)
    (tmp_path / "flotilla/ops/common/deep.h").write_text("// other\n")
    assert record.changed(before, sources.hashes(tmp_path)) == ["flotilla/ops/common/deep.h"]
