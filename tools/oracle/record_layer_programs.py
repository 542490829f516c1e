"""Records the programs that real Paddle makes of single layers, and what they answer.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_layer_programs.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_layer_programs.py

Writes tests/oracle/recorded/layers_<version>.npz: for each row of tests/oracle/layer_programs.py the
serialized program, gradients included, and the values of its result and of its gradients.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import layer_programs  # noqa: E402
import numpy as np  # noqa: E402
import paddle  # noqa: E402

IS_18 = paddle.__version__.startswith("1.8")
if IS_18:
    import paddle.fluid as static

    L = static.layers
    place, append_backward, mean = static.CPUPlace(), static.backward.append_backward, L.mean
else:
    import paddle.nn.functional as F
    import paddle.static as static

    paddle.enable_static()
    place, append_backward, mean = paddle.CPUPlace(), static.append_backward, paddle.mean


def main():
    found = {}
    for name, inputs, expression in layer_programs.rows(paddle.__version__):
        arrays = layer_programs.arrays_of(name, inputs)
        program, result = build(inputs, expression)
        fetches = {"out": result.name}
        for word in layer_programs.differentiated(inputs):
            if program.global_block().has_var(word + "@GRAD"):
                fetches[word + "@GRAD"] = word + "@GRAD"
        values = static.Executor(place).run(program, arrays, list(fetches.values()))
        found.update({f"{name}|{word}": value for word, value in zip(fetches, values)})
        found[f"{name}|name"] = np.array(result.name)
        found[f"{name}|program"] = np.frombuffer(serialized(program), "uint8")
    path = TESTS / "recorded" / f"layers_{paddle.__version__}.npz"
    np.savez_compressed(path, **found)
    print(f"{len(layer_programs.rows(paddle.__version__))} layers, {path.stat().st_size} bytes")


def build(inputs, expression):
    program = static.Program()
    with static.program_guard(program, static.Program()):
        variables = {}
        for word, (shape, dtype, _) in inputs.items():
            variables[word] = static.data(word, [-1, *shape[1:]], dtype)
            variables[word].stop_gradient = dtype != "float32"
        words = {"L": L} if IS_18 else {"F": F, "paddle": paddle}
        result = eval(expression, {**words, **variables})
        if layer_programs.differentiated(inputs):
            append_backward(mean(result))
    return program, result


def serialized(program):
    """Its bytes without the lines of this file."""
    for block in program.blocks:
        for op in block.ops:
            op._remove_attr("op_callstack")
    return program.desc.serialize_to_string()


if __name__ == "__main__":
    main()
