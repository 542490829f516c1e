"""Data generators and what they write: the same code in real Paddle and in Flotilla."""

import contextlib
import io
import sys

try:
    from paddle.distributed.fleet.data_generator.data_generator import (
        MultiSlotDataGenerator,
        MultiSlotStringDataGenerator,
    )
except ImportError:  # 1.8
    from paddle.fluid.incubate.data_generator import (
        MultiSlotDataGenerator,
        MultiSlotStringDataGenerator,
    )

WORDS = [" ".join(str(7 * i + j) for j in range(1 + i % 4)) for i in range(11)]
LINES = "".join(f"{i % 2} {words}\n" for i, words in enumerate(WORDS))


class Numbers(MultiSlotDataGenerator):
    """Numbers of every kind, and a slot whose first float comes late."""

    def generate_sample(self, line):
        def samples():
            yield [("a", [0, -1, 2**63, 18446744073709551615]), ("b", [1])]
            yield (("a", [3]), ("b", [0.1, 1e-7, 1e22, -0.0, 3.0]))
            yield None
            yield [["a", [1]], ("b", [float("nan"), float("inf"), 1 / 3, 2])]

        return samples


class Words(MultiSlotDataGenerator):
    """A line has a label and words; one sample per word of even number."""

    def generate_sample(self, line):
        def samples():
            label, *words = map(int, line.split())
            for word in words:
                yield [("words", words), ("word", [word])] if word % 2 == 0 else None
            yield [("words", [label]), ("word", [label / 7])]

        return samples


class Padded(Words):
    """Pads the words of a batch to one length."""

    def generate_batch(self, samples):
        longest = max(len(sample[0][1]) for sample in samples)

        def padded():
            for (name, words), word in samples:
                yield [(name, words + [-1] * (longest - len(words))), word]

        return padded


class Strings(MultiSlotStringDataGenerator):
    def generate_sample(self, line):
        def samples():
            label, *words = line.split()
            yield [("words", words), ("label", (label,))]
            yield zip(("words", "label"), (words, [label]))

        return samples


class Plain(Strings):
    def generate_sample(self, line):
        return lambda: [list(sample) for sample in Strings.generate_sample(self, line)()]


def written(generator, lines):
    """What a generator writes for ``lines``, or from memory where there are none."""
    out, real = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(lines or "")
    try:
        with contextlib.redirect_stdout(out):
            generator.run_from_memory() if lines is None else generator.run_from_stdin()
    finally:
        sys.stdin = real
    return out.getvalue()


def outputs():
    cases = {"numbers": (Numbers(), None), "strings": (Plain(), LINES)}
    for batch in (1, 3, 32):
        cases[f"words in batches of {batch}"] = (Words(), LINES)
        cases[f"padded in batches of {batch}"] = (Padded(), LINES)
        for kind in ("words", "padded"):
            cases[f"{kind} in batches of {batch}"][0].set_batch(batch)
    return {name: written(*case) for name, case in cases.items()}


def zipped():
    """Paddle 2.x takes zip objects as samples too."""
    return written(Strings(), LINES)
