"""tools/compile_kernels.py: what it takes for a source of CUDA, and what it says of one that is wrong."""

import subprocess

import compile_kernels

SOURCES = """device/cuda/graph.cc device/cuda/reorder.cu device/cuda/graph_test.cc device/gpu.cc
    ops/math/activations.cu ops/math/activations.cc testing/cuda/gpu_host.cc""".split()
COMMANDS = [
    {
        "file": f"{compile_kernels.ROOT}/flotilla/{source}",
        "command": f"c++ -o {source}.o -c {source}",
    }
    for source in SOURCES
]


def test_sources_of_cuda_are_those_that_no_other_preset_compiles():
    assert compile_kernels.objects(COMMANDS) == {
        "flotilla/device/cuda/graph.cc": "device/cuda/graph.cc.o",
        "flotilla/device/cuda/reorder.cu": "device/cuda/reorder.cu.o",
        "flotilla/ops/math/activations.cu": "ops/math/activations.cu.o",
    }
    assert [*compile_kernels.objects(COMMANDS, "ops/")] == ["flotilla/ops/math/activations.cu"]


def ran(monkeypatch, tmp_path, *outcomes):
    """The results where the commands that are run end so."""
    (tmp_path / "compile_commands.json").write_text(compile_kernels.json.dumps(COMMANDS))
    ends = iter(outcomes)
    monkeypatch.setattr(compile_kernels, "BUILD", tmp_path)
    monkeypatch.setattr(compile_kernels, "NVCC", str(tmp_path))
    monkeypatch.setattr(
        compile_kernels, "run", lambda *_: subprocess.CompletedProcess([], *next(ends))
    )
    return compile_kernels.results("ops/")


def test_a_source_that_does_not_compile_is_named(monkeypatch, tmp_path):
    name = "flotilla/ops/math/activations.cu"
    assert ran(monkeypatch, tmp_path, (0, ""), (0, "")) == [(name, "passed", "")]
    log = "[1/2] x\nFAILED: ops/math/activations.cu.o \nnvcc ...\nno such thing\nninja: stopped.\n"
    found = ran(monkeypatch, tmp_path, (0, ""), (1, log))
    assert found == [(name, "failed", "nvcc ...\nno such thing\n")]


def test_a_build_that_does_not_get_to_the_sources_is_a_failure(monkeypatch, tmp_path):
    found = ran(monkeypatch, tmp_path, (1, "no cuDNN"))
    assert found == [("sources of CUDA: cmake", "failed", "no cuDNN")]
    log = "FAILED: ir/framework.pb.h \nprotoc ...\n"
    found = ran(monkeypatch, tmp_path, (0, ""), (1, log))
    assert found == [("sources of CUDA: ninja", "failed", log)]


def test_without_nvcc_it_is_skipped_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compile_kernels, "NVCC", str(tmp_path / "nvcc"))
    found = compile_kernels.results()
    assert found == [("sources of CUDA", "skipped", "there is no nvcc on this machine")]
