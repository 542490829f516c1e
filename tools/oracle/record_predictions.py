"""Saves models in real Paddle, and records what its predictors make of the files.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_predictions.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_predictions.py

Writes tests/oracle/recorded/predictions_<version>.npz, and of each model predictions/<model>.gz: its
program as it was saved, without call stacks. Parameters follow from their names.
"""

import gzip
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import predictions  # noqa: E402
from training import place, static  # noqa: E402

FOLDER = TESTS / "recorded" / "predictions"


def main():
    is_18 = paddle.__version__.startswith("1.8")
    answers = {}
    FOLDER.mkdir(exist_ok=True)
    for name in predictions.MODELS[paddle.__version__]:
        built, scope = predictions.prepare(name)
        with static.scope_guard(scope), tempfile.TemporaryDirectory() as folder:
            program, answers[name] = (save_18 if is_18 else save_26)(Path(folder), name, built)
        path = FOLDER / f"{name}.gz"
        path.write_bytes(gzip.compress(without_stacks(program), 9, mtime=0))
        print(name, answers[name].shape, path.stat().st_size, "bytes")
    np.savez_compressed(FOLDER.parent / f"predictions_{paddle.__version__}.npz", **answers)


def save_26(folder, name, built):
    from paddle import inference

    block = built["infer"].global_block()
    inputs, prefix = predictions.inputs(name), str(folder / "m")
    static.save_inference_model(
        prefix,
        [block.var(word) for word in inputs],
        [block.var(built["prediction"])],
        static.Executor(place),
        program=built["infer"],
    )
    config = inference.Config(prefix + ".pdmodel", prefix + ".pdiparams")
    config.disable_glog_info()
    predictor = inference.create_predictor(config)
    for word, value in inputs.items():
        predictor.get_input_handle(word).copy_from_cpu(value)
    predictor.run()
    output = predictor.get_output_handle(predictor.get_output_names()[0])
    return (folder / "m.pdmodel").read_bytes(), output.copy_to_cpu()


def save_18(folder, name, built):
    from paddle.fluid import core

    inputs = predictions.inputs(name)
    target = built["infer"].global_block().var(built["prediction"])
    executor = static.Executor(place)
    static.io.save_inference_model(
        str(folder), list(inputs), [target], executor, built["infer"], "model", "params"
    )
    config = core.AnalysisConfig(str(folder / "model"), str(folder / "params"))
    config.disable_gpu()
    config.switch_specify_input_names(True)
    predictor = core.create_paddle_predictor(config)
    given = [core.PaddleTensor(value, word) for word, value in inputs.items()]
    (output,) = predictor.run(given)
    return (folder / "model").read_bytes(), output.as_ndarray()


def without_stacks(program):
    program = static.Program.parse_from_string(program).clone()
    for block in program.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    return program.desc.serialize_to_string()


if __name__ == "__main__":
    main()
