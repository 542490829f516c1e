"""What data generators refuse; what they write is compared with real Paddle in tests/oracle."""

import io
import sys

import numpy as np
import pytest

from paddle.distributed.fleet import data_generator


def run(samples, base=data_generator.MultiSlotDataGenerator, lines="one\ntwo\n", batch=1):
    """Run a generator that makes ``samples[i]`` of line i."""

    class Generator(base):
        def generate_sample(self, line):
            return lambda: iter([samples[lines.splitlines().index(line.strip())]])

    generator = Generator()
    generator.set_batch(batch)
    real = sys.stdin
    sys.stdin = io.StringIO(lines)
    try:
        generator.run_from_stdin()
    finally:
        sys.stdin = real


GOOD = [("word", [1, 2]), ("label", [0])]
WRONG = {
    "expected 2 fields as in the sample before, found 1": GOOD[:1],
    "field 1: expected 'label' as in the sample before, found 'click'": [GOOD[0], ("click", [0])],
    "field 0: expected a string as name, found 1 (int)": [(1, [1]), GOOD[1]],
    "field 'word': expected a list of one value or more, found [] (list); pad an empty field, "
    "e.g. with 0": [("word", []), GOOD[1]],
    "field 'word': expected a list of one value or more, found (1, 2) (tuple); pad an empty "
    "field, e.g. with 0": [("word", (1, 2)), GOOD[1]],
    "field 'label': expected an int or a float, found 'a' (str); convert it with int() or "
    "float()": [GOOD[0], ("label", ["a"])],
    "field 'label': expected an int or a float, found True (bool); convert it with int() or "
    "float()": [GOOD[0], ("label", [True])],
    "field 1: expected a pair of a name and its values, found 'label' (str)": [GOOD[0], "label"],
    "expected a sample such as [('words', [1926, 8, 17]), ('label', [1])], found 5 (int)": 5,
}


@pytest.mark.parametrize("sentence", WRONG)
def test_wrong_samples_are_named(sentence, capsys):
    with pytest.raises(ValueError) as error:
        run([GOOD, WRONG[sentence]])
    assert str(error.value) == f"line 2 of the standard input: {sentence}"
    assert capsys.readouterr().out == "2 1 2 1 0\n"


def test_numpy_values_are_refused_as_in_paddle():
    with pytest.raises(ValueError, match=r"field 'label': expected an int or a float, found .*1"):
        run([[("word", [1]), ("label", [np.int64(1)])]], lines="one\n")


def test_strings_must_be_strings():
    with pytest.raises(ValueError, match=r"line 1 .*: expected strings as values, found 1 \(int\)"):
        run([[("word", [1])]], data_generator.MultiSlotStringDataGenerator, lines="one\n")


def test_what_the_user_forgot():
    with pytest.raises(NotImplementedError, match=r"must define generate_sample\(line\)"):
        data_generator.MultiSlotDataGenerator().run_from_memory()

    class Eager(data_generator.MultiSlotDataGenerator):
        def generate_sample(self, line):
            return [GOOD]

    with pytest.raises(ValueError, match="must return a function that yields samples"):
        Eager().run_from_memory()


def test_init_need_not_be_called(capsys):
    class Own(data_generator.MultiSlotDataGenerator):
        def __init__(self):
            self.own = True

        def generate_sample(self, line):
            return lambda: iter([GOOD])

    Own().run_from_memory()
    assert capsys.readouterr().out == "2 1 2 1 0\n"


def test_the_names_of_both_eras():
    from paddle.fluid.incubate import data_generator as old

    assert old.MultiSlotDataGenerator is data_generator.MultiSlotDataGenerator
    assert old.MultiSlotStringDataGenerator is data_generator.MultiSlotStringDataGenerator
