"""One side of a round trip (round_trip.py); runs under Flotilla and under both releases of Paddle.

    trip_side.py save MODEL FOLDER    trains two steps, saves the model and the programs there
    trip_side.py load MODEL FOLDER    loads the model, writes its predictions to load.npz
    trip_side.py train MODEL FOLDER   trains the serialized program, writes losses to train.npz

Models whose name starts with fluid_ go through fluid.io (one file per variable, and combined), the
others through paddle.static. `save.npz` holds what the side that saved computed itself.
"""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import numpy as np  # noqa: E402
import training  # noqa: E402
from feeds import FEEDS, feed  # noqa: E402
from training import place, static  # noqa: E402

LABELS = {"y", "label"}
STEPS = 4


def save(name, folder):
    built = training.build(training.models()[name])
    answers = {"losses": losses_of(name, built)}
    with static.scope_guard(static.Scope()):
        executor = static.Executor(place)
        executor.run(built["startup"])
        training.set_parameters(static.global_scope(), built["parameters"])
        for step in range(2):
            executor.run(built["main"], feed=feed(name, step))
        (writer_18 if name.startswith("fluid_") else writer_26)(folder, executor, name, built)
        batch, fetches = feed(name, 3), [built["prediction"]]
        (answers["prediction"],) = executor.run(built["infer"], feed=batch, fetch_list=fetches)
    for part in ("main", "startup"):
        (folder / f"{part}.program").write_bytes(built[part].desc.serialize_to_string())
    kept = {key: built[key] for key in ("loss", "metrics", "parameters")}
    (folder / "info.json").write_text(json.dumps(kept))
    np.savez(folder / "save.npz", **{key: np.array(value) for key, value in answers.items()})


def feeds_of(name, built):
    block = built["infer"].global_block()
    return [block.var(feed) for feed in FEEDS[name] if feed not in LABELS]


def writer_26(folder, executor, name, built):
    fetches = [built["infer"].global_block().var(built["prediction"])]
    static.save_inference_model(
        str(folder / "model"), feeds_of(name, built), fetches, executor, program=built["infer"]
    )


def writer_18(folder, executor, name, built):
    import paddle.fluid as fluid

    fetches = [built["infer"].global_block().var(built["prediction"])]
    names = [variable.name for variable in feeds_of(name, built)]
    for kind, file in (("separate", None), ("combined", "__params__")):
        fluid.io.save_inference_model(
            str(folder / kind), names, fetches, executor, built["infer"], params_filename=file
        )


def load(name, folder):
    answers = {}
    readers = reader_18(folder) if name.startswith("fluid_") else reader_26(folder)
    for kind, reader in readers.items():
        with static.scope_guard(static.Scope()):
            executor = static.Executor(place)
            program, feeds, fetches = reader(executor)
            batch = feed(name, 3, names=set(feeds))
            (answers[kind],) = executor.run(program, feed=batch, fetch_list=fetches)
    np.savez(folder / "load.npz", **{key: np.array(value) for key, value in answers.items()})


def train(name, folder):
    built = json.loads((folder / "info.json").read_text())
    for part in ("main", "startup"):
        data = (folder / f"{part}.program").read_bytes()
        built[part] = static.Program.parse_from_string(data)
    np.savez(folder / "train.npz", losses=losses_of(name, built))


def reader_26(folder):
    prefix = str(folder / "model")
    return {"prediction": lambda executor: static.load_inference_model(prefix, executor)}


def reader_18(folder):
    import paddle.fluid as fluid

    def reader(kind, file):
        path = str(folder / kind)
        return lambda executor: fluid.io.load_inference_model(path, executor, params_filename=file)

    return {
        "prediction": reader("separate", None),
        "prediction of combined": reader("combined", "__params__"),
    }


def losses_of(name, built):
    return training.train(name, built, steps=STEPS)["losses"]


if __name__ == "__main__":
    {"save": save, "load": load, "train": train}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
