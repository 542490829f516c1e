"""A generator for Criteo's click log, as users of Paddle write it: a pipe command."""

import zlib  # noqa: F401 - before Paddle, as in worker.py

MINIMUM = [0, -3, *[0] * 11]
RANGE = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]


def sample_of(line):
    fields = line.rstrip("\n").split("\t")
    dense = [
        0.0 if text == "" else (float(text) - least) / width
        for text, least, width in zip(fields[1:14], MINIMUM, RANGE)
    ]
    ids = [[hash(f"{i}{text}") % 1000001] for i, text in enumerate(fields[14:], 14)]
    names = ["dense_input", *(f"C{i}" for i in range(1, 27)), "label"]
    return list(zip(names, [dense, *ids, [int(fields[0])]]))


def text_of(line):
    """The record as multi-slot text."""
    slots = [f"{len(values)} {' '.join(map(str, values))}" for _, values in sample_of(line)]
    return " ".join(slots) + "\n"


def main():
    try:
        from paddle.distributed.fleet.data_generator import MultiSlotDataGenerator
    except ImportError:
        from paddle.distributed.fleet import MultiSlotDataGenerator

    class Clicks(MultiSlotDataGenerator):
        def generate_sample(self, line):
            def samples():
                yield sample_of(line)

            return samples

    Clicks().run_from_stdin()


if __name__ == "__main__":
    main()
