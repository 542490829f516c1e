"""The interval that ./bench against prints."""

import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import against  # noqa: E402


def test_the_interval_of_twenty_rounds_is_the_sixth_to_the_fifteenth():
    values = random.Random(1).sample(range(1, 21), 20)
    assert against.interval(values) == (6, 15)


def test_few_rounds_give_all_that_was_seen():
    assert against.interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_the_interval_holds_the_median_as_often_as_it_says():
    draw = random.Random(2)
    held = 0
    for _ in range(1000):
        low, high = against.interval([draw.gauss(0, 1) for _ in range(24)])
        held += low <= 0 <= high
    assert held >= 940


def test_ratios_say_how_many_times_as_fast_this_checkout_is():
    sides = {"this": None, "other": None}
    comparison = against.Comparison(True, None, sides, 0, None, None)
    assert comparison.ratio({"other": 3.0, "this": 2.0}) == 1.5
    assert comparison.ratio({"this": 3.0, "other": 2.0}, faster=True) == 1.5
    orders = [trees for _, trees in comparison.rounds()]
    assert orders[:2] == [["this", "other"], ["other", "this"]]
