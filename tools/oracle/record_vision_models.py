"""Writes tests/oracle/recorded/vision_models_2.6.2.npz: parameters and results of real networks.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_vision_models.py
"""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import vision_models as cases  # noqa: E402


def shapes_of(net):
    return {path: tuple(value.shape) for path, value in net.state_dict().items()}


def main():
    found = {}
    for name in cases.NAMED:
        shapes = shapes_of(getattr(paddle.vision.models, name)())
        found[f"names-{name}"] = np.array([len(shapes), cases.digest(shapes)])
    for name, words, shape in cases.RUN:
        net = getattr(paddle.vision.models, name)(**words)
        shapes = shapes_of(net)
        net.set_state_dict({path: cases.value(path, shapes[path]) for path in shapes})
        net.eval()
        result = net(paddle.to_tensor(cases.feed(shape))).numpy()
        found[cases.title(name, words)] = result
        print(name, words, result.shape, float(np.abs(result).max()))
    np.savez_compressed(TESTS / "recorded" / "vision_models_2.6.2.npz", **found)


if __name__ == "__main__":
    main()
