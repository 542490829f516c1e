"""Writes the golden files of tests/oracle/recorded/formats: a small net, three steps trained.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_formats.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_formats.py

Programs in them are Paddle's own, except that call stacks (paths of this machine) are removed.
"""

import shutil
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import golden  # noqa: E402
import numpy as np  # noqa: E402
import paddle  # noqa: E402
import training  # noqa: E402
from feeds import feed  # noqa: E402
from training import place, static  # noqa: E402

FORMATS = TESTS / "recorded" / "formats"


def main():
    is_18 = paddle.__version__.startswith("1.8")
    model = golden.MODEL_18 if is_18 else golden.MODEL_26
    folder = FORMATS / paddle.__version__
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    built = training.build(model)
    scope = static.Scope()
    with static.scope_guard(scope):
        executor = static.Executor(place)
        executor.run(built["startup"])
        training.set_parameters(scope, built["parameters"])
        for step in range(3):
            executor.run(built["main"], feed=feed("golden", step))
        (save_18 if is_18 else save_26)(folder, executor, built)
        for path in folder.rglob("*"):
            if path.name == "__model__" or path.suffix == ".pdmodel":
                strip(path)
        answers = values_of(scope, built)
        (prediction,) = executor.run(built["infer"], feed("golden", 3), [built["prediction"]])
        losses = [
            executor.run(built["main"], feed("golden", step), [built["loss"]])[0].reshape(-1)[0]
            for step in range(3, 6)
        ]
    answers.update({"@prediction": prediction, "@losses": np.array(losses)})
    np.savez_compressed(folder / "answers.npz", **answers)


def save_26(folder, executor, built):
    block = built["infer"].global_block()
    feeds, fetches = [block.var("x")], [block.var(built["prediction"])]
    static.save_inference_model(
        str(folder / "inference"), feeds, fetches, executor, program=built["infer"]
    )
    static.save(built["main"], str(folder / "training"))


def save_18(folder, executor, built):
    prediction = built["infer"].global_block().var(built["prediction"])
    for name, params in (("separate", None), ("combined", "__params__")):
        static.io.save_inference_model(
            str(folder / name), ["x"], [prediction], executor, built["infer"],
            params_filename=params,
        )  # fmt: skip
    static.io.save_persistables(executor, str(folder), built["main"], "persistables")
    static.save(built["main"], str(folder / "training"))


def values_of(scope, built):
    names = [var.name for var in built["main"].list_vars() if var.persistable]
    return {name: np.array(scope.find_var(name).get_tensor()) for name in names}


def strip(path):
    program = static.Program.parse_from_string(path.read_bytes()).clone()
    for block in program.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    path.write_bytes(program.desc.serialize_to_string())


if __name__ == "__main__":
    main()
