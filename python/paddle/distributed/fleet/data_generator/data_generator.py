"""Turn lines of any kind into records of slots, on the way from a file to a data set.

A data set starts the program that runs a generator as its pipe command, once per file:

    class Clicks(fleet.MultiSlotDataGenerator):
        def generate_sample(self, line):
            def samples():
                label, word = line.split()
                yield [("word", [int(word)]), ("label", [int(label)])]

            return samples

    Clicks().run_from_stdin()

A record is a line of text: for each slot the number of its values, then the values.
"""

import sys


class DataGenerator:
    """What all generators share; ``_gen_str`` decides how a sample is written."""

    _proto_info = None
    batch_size_ = 32

    def __init__(self):
        self._proto_info = None
        self.batch_size_ = 32

    def set_batch(self, batch_size):
        """How many samples ``generate_batch`` gets at once."""
        self.batch_size_ = batch_size

    def generate_sample(self, line):
        """Return a function that yields the samples of ``line``; to be overridden.

        A sample is a list or tuple of pairs of a slot's name and its list of values. None is
        passed over.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define generate_sample(line), which returns a function "
            "that yields samples such as [('words', [1926, 8, 17]), ('label', [1])]"
        )

    def generate_batch(self, samples):
        """Return a function that yields what is written for ``samples``; may be overridden."""
        return lambda: iter(samples)

    def run_from_stdin(self):
        """Write the samples of each line of the standard input to the standard output."""
        self._run(sys.stdin, "line {} of the standard input")

    def run_from_memory(self):
        """Write the samples that ``generate_sample(None)`` makes to the standard output."""
        self._run([None], "generate_sample(None)")

    def _run(self, lines, place):
        waiting = []
        for number, line in enumerate(lines, 1):
            made = self.generate_sample(line)
            if not callable(made):
                raise ValueError(
                    f"{place.format(number)}: generate_sample must return a function that yields "
                    f"samples, but returned {_shown(made)}"
                )
            for sample in made():
                if sample is None:
                    continue
                waiting.append(sample)
                if len(waiting) == self.batch_size_:
                    self._write(waiting, place.format(number))
                    waiting = []
        if waiting:
            self._write(waiting, "the last samples")

    def _write(self, samples, place):
        write = sys.stdout.write
        try:
            for sample in self.generate_batch(samples)():
                write(self._gen_str(sample))
        except _Refusal as refusal:
            raise ValueError(f"{place}: {refusal}") from None

    def _gen_str(self, line):
        raise NotImplementedError(
            f"{type(self).__name__} does not say how a sample is written; derive it from "
            "MultiSlotDataGenerator or MultiSlotStringDataGenerator"
        )


class MultiSlotDataGenerator(DataGenerator):
    """Writes samples whose values are whole numbers or floats.

    All samples have the same slots in the same order.
    """

    def _gen_str(self, line):
        fields = _fields(line, "[('words', [1926, 8, 17]), ('label', [1])]")
        first = self._proto_info is None
        known = [] if first else self._proto_info
        if not first and len(fields) != len(known):
            raise _Refusal(
                f"expected {len(known)} fields as in the sample before, found {len(fields)}"
            )
        text = []
        for index, (name, values) in enumerate(fields):
            if not isinstance(name, str):
                raise _Refusal(f"field {index}: expected a string as name, found {_shown(name)}")
            if first:
                known.append((name, "uint64"))
            elif name != known[index][0]:
                raise _Refusal(
                    f"field {index}: expected {known[index][0]!r} as in the sample before, "
                    f"found {name!r}"
                )
            if not isinstance(values, list) or not values:
                raise _Refusal(
                    f"field {name!r}: expected a list of one value or more, "
                    f"found {_shown(values)}; pad an empty field, e.g. with 0"
                )
            if _has_float(name, values):
                known[index] = (name, "float")
            text.append(str(len(values)))
            text.extend(map(str, values))
        self._proto_info = known
        return " ".join(text) + "\n"


class MultiSlotStringDataGenerator(DataGenerator):
    """Writes samples whose values are strings already, which is faster: nothing is converted."""

    def _gen_str(self, line):
        text = []
        for _, values in _fields(line, "[('words', ['1926', '08', '17']), ('label', ['1'])]"):
            text.append(str(len(values)))
            text.extend(values)
        try:
            return " ".join(text) + "\n"
        except TypeError:
            wrong = next(one for one in text if not isinstance(one, str))
            raise _Refusal(f"expected strings as values, found {_shown(wrong)}") from None


class _Refusal(ValueError):
    """A sample that cannot be written; whoever knows the line adds it."""


def _fields(sample, example):
    if isinstance(sample, zip):
        sample = list(sample)
    if not isinstance(sample, (list, tuple)):
        raise _Refusal(f"expected a sample such as {example}, found {_shown(sample)}")
    for index, field in enumerate(sample):
        if not isinstance(field, (list, tuple)) or len(field) != 2:
            raise _Refusal(
                f"field {index}: expected a pair of a name and its values, found {_shown(field)}"
            )
    return sample


def _has_float(name, values):
    found = False
    for value in values:
        kind = type(value)
        if kind is int:
            continue
        if isinstance(value, float):
            found = True
        elif kind is bool or not isinstance(value, int):
            raise _Refusal(
                f"field {name!r}: expected an int or a float, found {_shown(value)}; "
                "convert it with int() or float()"
            )
    return found


def _shown(value):
    text = repr(value)
    kind = type(value).__name__
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({kind})"
