"""Windows that reach beyond an image."""

from cases.dsl import case, uniform


def far_borders():
    """Averages that count padding, with windows that reach beyond the padded image."""
    tried = [
        ([3, 3], [2, 2], [0, 0]),
        ([3, 3], [2, 2], [1, 1]),
        ([2, 2], [2, 2], [0, 0]),
        ([3, 2], [3, 2], [1, 0]),
        ([4, 4], [3, 3], [1, 1]),
        ([5, 3], [4, 3], [2, 1]),
        ([2, 3], [3, 3], [0, 1]),
        ([3, 3], [2, 2], [0, 1, 1, 0]),
        ([4, 5], [3, 4], [1, 0, 0, 2]),
    ]
    for i, (size, strides, paddings) in enumerate(tried):
        # A window that lies wholly outside has no mean and no maximum; Paddle gives NaN and -3e38.
        empty = i == 3
        for exclusive in (False, True):
            for ceil in (True, False):
                if empty and ceil and exclusive:
                    continue
                for format, shape in (("NCHW", (2, 3, 8, 7)), ("NHWC", (2, 8, 7, 3))):
                    if format == "NHWC" and (i % 3 or not ceil):
                        continue
                    name = f"pool2d.border_{i}_{'in' if not exclusive else 'ex'}clusive"
                    yield case(f"{name}_{'ceil' if ceil else 'floor'}_{format}",
                               {"X": uniform(*shape)}, grad="X",
                               attrs={"pooling_type": "avg", "ksize": size, "strides": strides,
                                      "paddings": paddings, "exclusive": exclusive,
                                      "ceil_mode": ceil, "data_format": format})  # fmt: skip
        if empty:
            continue
        yield case(f"pool2d.border_{i}_max", {"X": uniform(2, 3, 8, 7)}, grad="X",
                   attrs={"pooling_type": "max", "ksize": size, "strides": strides,
                          "paddings": paddings, "ceil_mode": True})  # fmt: skip


def cases():
    yield from far_borders()
