"""Records what real Paddle answers to the operator cases of cases/.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_ops.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_ops.py

Writes tests/oracle/recorded/ops_<version>.json, one case a line, and the answers beside it as .npz;
the cases of cases/edges.py go to ops_edges_<version>, those of cases/pools.py to ops_pools_<version>.
`record_ops.py ops_edges` writes that alone.
"""

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(HERE), str(TESTS)]

import numpy as np  # noqa: E402
import op_program  # noqa: E402
import paddle  # noqa: E402
from cases.dsl import uniform  # noqa: E402

IS_18 = paddle.__version__.startswith("1.8")
KINDS = ["int", "float", "string", "ints", "floats", "strings", "bool", "bools", "block", "long",
         "blocks", "longs", "doubles", "var", "vars", "double"]  # fmt: skip


FILES = {
    "ops": ["fluid", "fluid_sequences"] if IS_18 else ["math", "nn", "tensor"],
    "ops_edges": [] if IS_18 else ["edges"],
    "ops_pools": ["pools"],
}


def main():
    chosen = sys.argv[1:] or [name for name in FILES if FILES[name]]
    return max(record_file(name, FILES[name]) for name in chosen)


def record_file(file, modules):
    index, answers, refused = [], {}, []
    for module in modules:
        for case in importlib.import_module("cases." + module).cases():
            case["name"] = case["name"] + ("@1.8" if IS_18 else "")
            case["paddle"] = paddle.__version__
            try:
                found = record(case)
            except Exception as error:  # noqa: BLE001 - listed below, and the run fails
                refused.append((case["name"], str(error).strip().splitlines()[-1]))
                continue
            index.append(case)
            answers.update({case["name"] + "/" + name: array for name, array in found.items()})
    path = TESTS / "recorded" / f"{file}_{paddle.__version__}"
    lines = [json.dumps(case, sort_keys=True) for case in index]
    path.with_name(path.name + ".json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    np.savez_compressed(path.with_name(path.name + ".npz"), **answers)
    print(f"{len(index)} cases recorded with Paddle {paddle.__version__}")
    for name, reason in refused:
        print(f"refused: {name}: {reason}")
    return 1 if refused else 0


def record(case):
    for op in case["ops"] + case.get("after", []):
        op["attrs"] = with_kinds(op["type"], op["attrs"])
    if case.get("grad"):
        forward = {
            key: case[key] for key in ("name", "vars", "ops", "fetch", "lods") if key in case
        }
        found = op_program.run(forward)
        for name in case["seeds"]:
            seed = uniform(*found[name].shape, dtype=str(found[name].dtype))
            levels = [found[key].tolist() for key in sorted(found) if key.startswith(name + ".lod")]
            case["vars"][name + "@SEED"] = {**seed, "lod": levels} if levels else seed
    return op_program.run(case, keep_sparse=True)


def with_kinds(type, attrs):
    """Attributes as name -> [kind, value], the kind taken from Paddle's definition of the op."""
    holder = (paddle.fluid if IS_18 else paddle.base).framework.OpProtoHolder.instance()
    known = holder.op_proto_map.get(type)
    kinds = {attr.name: KINDS[attr.type] for attr in known.attrs} if known else {}
    return {name: [kinds.get(name) or guess(value), value] for name, value in attrs.items()}


def guess(value):
    """The kind of an attribute that Paddle keeps out of its definitions."""
    return {bool: "bool", int: "int", float: "float", str: "string", list: "ints"}[type(value)]


if __name__ == "__main__":
    sys.exit(main())
