"""Indexes drawn from a seed, to take elements and to set them, against numpy.

Many expressions stand in one program and run at once. What numpy refuses is refused here in one
sentence, when it is written or when it runs. What differs from numpy, as it does in 2.6.2:

- A range whose end lies before its beginning is refused; numpy finds nothing in it.
- Backwards, an end of -1 takes the first element along; numpy ends before the last one.
- Backwards, a beginning in front of the axis is its first element; numpy finds nothing there.
- Backwards, an end in front of the axis leaves its first element out; numpy takes it along, as does
  2.6.2 where elements are set (here: where the extent is known, and the end a number).
- A mask beside an axis whose extent is not known yet is compared with it only as far as its last
  true element; numpy wants the same extent, unless x and the mask have no elements.
- An ellipsis that stands for no axis does not keep the arrays beside it apart.
- A single element has one axis.
"""

import dataclasses
import os

import numpy as np
import paddle
import pytest
from paddle import static

CASES = 100_000 if os.environ.get("FLT_TEST_FULL") else 2_000
AT_ONCE = 40
DTYPES = ("float32", "float64", "int64", "int32", "bool")
Refused = (ValueError, TypeError, IndexError, RuntimeError)


@dataclasses.dataclass
class Case:
    """`places`: of the index, each a pair of what numpy gets and how it is written here: "plain", as
    numpy has it, or "fed" and "number", as a variable of those elements."""

    x: np.ndarray
    unknown: bool  # is x's first extent
    places: list
    value: object = None  # what is set; None: elements are taken
    fed_value: bool = False
    in_place: bool = False

    def __repr__(self):
        shown = ", ".join(f"{how} {place!r}" for place, how in self.places)
        what = f"x[{shown}]" + ("" if self.value is None else f" = {self.value!r}")
        return f"{what} of {self.x.dtype}{list(self.x.shape)}" + ("?" if self.unknown else "")

    def has_mask_of_unknown(self):
        masks = (isinstance(p, np.ndarray) and p.dtype == bool for p, _ in self.places)
        return self.unknown and any(masks)

    def expected(self):
        """An array, or None where the index is refused."""
        index = tuple(place for place, _ in self.places)
        try:
            self.x[index]
            index = released_index(self)
            if self.value is None:
                return np.array(self.x[index])
            changed = self.x.copy()
            single = isinstance(self.value, np.ndarray) and not np.ndim(changed[index])
            changed[index] = self.value.item() if single else self.value
            return changed
        except (IndexError, ValueError, TypeError):
            return None


def axes_of(place):
    """How many axes of x a place stands for; None for the ellipsis."""
    if place is Ellipsis:
        return None
    array = np.asarray(place) if isinstance(place, (list, np.ndarray)) else None
    if array is not None and array.dtype == bool:
        return array.ndim
    return 0 if place is None or isinstance(place, bool) else 1


def released_index(case):
    """The index with ranges as Paddle has them; refuses those that it refuses."""
    index, axis = [], 0
    named = sum(axes_of(place) or 0 for place, _ in case.places)
    for place, how in case.places:
        if place is Ellipsis and case.x.ndim == named:
            continue
        if isinstance(place, slice):
            known = how == "plain" and not (case.unknown and axis == 0)
            place = released_range(place, case.x.shape[axis], case.value is not None and known)
        mask = isinstance(place, np.ndarray) and place.dtype == bool
        if mask and place.shape != case.x.shape[axis : axis + place.ndim]:
            raise IndexError("the mask has another shape")
        index.append(place)
        axis += case.x.ndim - named if place is Ellipsis else axes_of(place)
    return tuple(index)


def released_range(place, extent, known_and_set):
    start, stop, step = place.start, place.stop, place.step or 1
    if extent == 0:
        return slice(0, 0)
    if step > 0:
        start, stop, _ = place.indices(extent)
    else:
        start = extent - 1 if start is None else start
        start = min(max(start + extent if start < 0 else start, 0), extent - 1)
        if stop is None or (known_and_set and stop < -extent):
            stop = -1
        if stop != -1:
            stop = min(max(stop + extent if stop < 0 else stop, 0), extent)
    if (stop - start) * step < 0:
        raise IndexError("the end lies before the beginning")
    return slice(start, None if stop == -1 else stop, step)


def some_elements(draw, shape, dtype):
    if dtype == "bool":
        return draw.rand(*shape) < 0.5
    return np.asarray(draw.randint(-9, 10, size=shape), dtype)


def some_bound(draw, extent):
    return None if draw.randint(3) == 0 else int(draw.randint(-extent - 2, extent + 3))


def some_range(draw, extent):
    step = (None, None, 1, 2, 3, -1, -2, 7, -7)[draw.randint(9)]
    return slice(some_bound(draw, extent), some_bound(draw, extent), step)


def some_numbers(draw, extent):
    """Elements along an axis, some of them twice, now and then one that there is not."""
    shape = ([1], [2], [3], [0], [2, 1], [1, 3], [2, 3], [1, 1])[draw.randint(8)]
    if extent == 0:
        return np.zeros([0], "int64")
    most = extent + (draw.randint(40) == 0)
    return draw.randint(-most, most, size=shape).astype("int64")


def some_place(draw, shape):
    """What stands for the first of the extents in `shape`, or a mask of several: a place and the
    number of axes that it stands for."""
    extent, kind = shape[0], draw.randint(16)
    if kind < 4:
        most = max(1, extent) + (draw.randint(30) == 0)
        number = int(draw.randint(-most, most))
        how = ("plain", "plain", "number", "number of 0 axes", "plain")[draw.randint(5)]
        return (number, how), 1
    if kind < 9:
        how = "numbers" if draw.randint(6) == 0 else "plain"
        return (some_range(draw, extent), how), 1
    if kind < 13:
        numbers = some_numbers(draw, extent)
        how = ("plain", "list", "fed", "fed int32", "int32")[draw.randint(5)]
        return (numbers.tolist() if how == "list" else numbers, how.replace("list", "plain")), 1
    if kind < 14:
        return (bool(draw.randint(3)), "plain"), 0
    axes = draw.randint(1, len(shape) + 1)
    mask = some_elements(
        draw, [*shape[: axes - 1], shape[axes - 1] + (draw.randint(40) == 0)], "bool"
    )
    return (mask, ("plain", "fed")[draw.randint(2)]), axes


def some_places(draw, shape):
    places, axis, ellipsis = [], 0, False
    wanted = draw.randint(1, len(shape) + 1) + (draw.randint(40) == 0)
    while axis < wanted:
        kind = draw.randint(12)
        if kind == 0:
            places.append((None, "plain"))
        elif kind == 1 and not ellipsis:
            places.append((Ellipsis, "plain"))
            axis = max(axis, len(shape) - draw.randint(len(shape) + 1))
            ellipsis = True
        elif len(shape) <= axis:
            places.append((0, "plain"))
            axis += 1
        else:
            place, axes = some_place(draw, shape[axis:])
            places.append(place)
            axis += axes
    return places


def some_case(draw):
    shape = [(1, 2, 3, 4, 5, 0)[draw.randint(6 if draw.randint(8) == 0 else 5)] for _ in range(4)]
    shape = shape[: draw.randint(1, 5)]
    dtype = DTYPES[draw.randint(len(DTYPES))]
    case = Case(some_elements(draw, shape, dtype), draw.randint(3) == 0, some_places(draw, shape))
    if draw.randint(2):
        case.value = some_value(draw, case)
        case.fed_value, case.in_place = bool(draw.randint(2)), bool(draw.randint(2))
    return case


def some_value(draw, case):
    if draw.randint(3) == 0:
        return bool(draw.randint(2)) if case.x.dtype == bool else int(draw.randint(-9, 10))
    try:
        shape = list(case.x[released_index(case)].shape)
    except IndexError:
        shape = [2]
    shape = [1 if draw.randint(4) == 0 else extent for extent in shape]
    shape = shape[draw.randint(len(shape) + 1) :] or [1]
    if draw.randint(20) == 0:
        shape[draw.randint(len(shape))] += 1
    return some_elements(draw, shape, str(case.x.dtype))


class Batch:
    """A program of several expressions, and what it is fed."""

    def __init__(self):
        self.feed, self.program = {}, static.Program()

    def fed(self, array, unknown=False):
        name = f"v{len(self.feed)}"
        self.feed[name] = array
        shape = [None, *array.shape[1:]] if unknown else list(array.shape)
        variable = static.data(name, shape, str(array.dtype))
        variable.stop_gradient = False
        return variable

    def written(self, place, how):
        if how == "number":
            return paddle.full([1], place, "int64")
        if how == "number of 0 axes":
            return self.fed(np.array(place, "int64"))
        if how == "numbers":
            bounds = [
                None if bound is None else paddle.full([1], bound, "int64")
                for bound in (place.start, place.stop)
            ]
            return slice(*bounds, place.step)
        if "int32" in how:
            place = np.asarray(place, "int32")
        return self.fed(np.asarray(place)) if how.startswith("fed") else place

    def build(self, case):
        """The variables x, of the value if it is one, and of the result."""
        x, value = self.fed(case.x, case.unknown), case.value
        index = tuple(self.written(*place) for place in case.places)
        if len(index) == 1 and not isinstance(index[0], (list, tuple)):
            index = index[0]
        if value is None:
            return x, None, x[index]
        given = self.fed(value) if case.fed_value and isinstance(value, np.ndarray) else value
        if not case.in_place:
            return x, given, static.setitem(x, index, given)
        y = paddle.assign(x)
        y[index] = given
        return x, given, y


def one_sentence(error):
    text = str(error)
    return 0 < len(text) < 2000 and "internal" not in text.lower()


def refusal(executor, case):
    """The error that an expression raises by itself, or None."""
    batch = Batch()
    with static.program_guard(batch.program):
        try:
            result = batch.build(case)[2]
            executor.run(feed=batch.feed, fetch_list=[result])
        except Refused as error:
            assert one_sentence(error), case
            return error
    return None


def differs(case, expected, found):
    # A single element has one axis.
    if found.shape != (expected.shape or (1,)):
        return f"shape {found.shape}, but numpy has {expected.shape}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype}"
    if not np.array_equal(found.reshape(expected.shape), expected):
        return f"gives {found.tolist()}, but numpy {expected.tolist()}"
    return None


def compare(executor, cases):
    """Pairs of a case and what is wrong with it."""
    batch, built, wrong = Batch(), [], []
    with static.program_guard(batch.program):
        for case in cases:
            expected = case.expected()
            if expected is None:
                if refusal(executor, case) is None and not case.has_mask_of_unknown():
                    wrong.append((case, "numpy refuses"))
                continue
            try:
                built.append((case, expected, batch.build(case)[2]))
            except Refused as error:
                wrong.append((case, error))
        try:
            found = executor.run(feed=batch.feed, fetch_list=[one[2] for one in built])
        except Refused as error:
            errors = [(case, refusal(executor, case)) for case, _, _ in built]
            return wrong + ([one for one in errors if one[1]] or [(cases, error)])
    for (case, expected, _), array in zip(built, found):
        difference = differs(case, expected, array)
        if difference:
            wrong.append((case, difference))
    return wrong


@pytest.mark.parametrize("part", range(10))
def test_indexes_are_numpys(executor, part):
    draw, wrong = np.random.RandomState(part), []
    for _ in range(CASES // 10 // AT_ONCE):
        wrong += compare(executor, [some_case(draw) for _ in range(AT_ONCE)])
    assert not wrong, "\n".join(f"{case}: {why}" for case, why in wrong[:20])


def wanted_gradients(case, weights):
    """Of the sum of the result times `weights`, for x and for the value."""
    index = released_index(case)
    x = np.zeros(case.x.shape)
    if case.value is None:
        np.add.at(x, index, weights)
        return x, None
    x[...] = weights
    x[index] = 0
    return x, repeated_back(weights[index], np.shape(case.value))


def repeated_back(gradient, shape):
    """The gradient of what was repeated from `shape`."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    ones = tuple(a for a, n in enumerate(shape) if n == 1 and gradient.ndim == len(shape))
    return gradient.sum(axis=ones, keepdims=True).reshape(shape)


def some_differentiable_case(draw):
    while True:
        case = some_case(draw)
        if case.x.dtype in ("float32", "float64") and case.expected() is not None:
            return case


@pytest.mark.parametrize("part", range(4))
def test_gradients_go_where_the_elements_came_from(executor, part):
    draw = np.random.RandomState(100 + part)
    for _ in range(CASES // 40 // 10):
        compare_gradients(executor, [some_differentiable_case(draw) for _ in range(10)], draw)


def compare_gradients(executor, cases, draw):
    batch, fetches, wanted = Batch(), [], []
    with static.program_guard(batch.program):
        for case in cases:
            x, value, result = batch.build(case)
            weights = np.asarray(draw.randint(1, 9, case.expected().shape), case.x.dtype)
            fed = batch.fed(weights.reshape(weights.shape or (1,)))
            of_value = case.fed_value and isinstance(case.value, np.ndarray)
            inputs = [x, value] if of_value else [x]
            fetches += static.gradients([result * fed], inputs)
            found = wanted_gradients(case, weights)
            wanted += [(case, gradient) for gradient in found[: len(inputs)]]
        found = executor.run(feed=batch.feed, fetch_list=fetches)
    for (case, expected), array in zip(wanted, found):
        np.testing.assert_array_equal(array.reshape(expected.shape), expected, err_msg=repr(case))
