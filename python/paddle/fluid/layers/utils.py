"""Nested lists, tuples and dicts, as layers of 1.8 take and give them."""

from ._held import *  # noqa: F403

__all__ = [
    *("assert_same_structure", "convert_to_list", "flatten", "is_sequence", "map_structure"),
    *("pack_sequence_as",),
]


def convert_to_list(value, n, name, dtype=int):
    """A number as a list of ``n``; a list of ``n`` numbers as it is."""
    if isinstance(value, dtype):
        return [value] * n
    kind = f"{name} must be a {dtype.__name__} or a list of {n}"
    try:
        values = list(value)
    except TypeError:
        raise ValueError(f"{kind}, but is {value!r}") from None
    if len(values) != n:
        raise ValueError(f"{kind}, but has {len(values)}: {value!r}")
    for one in values:
        try:
            dtype(one)
        except (ValueError, TypeError):
            raise ValueError(f"{kind}, but holds {one!r}") from None
    return values


def is_sequence(seq):
    """Whether this is a list, a tuple or a dict."""
    return isinstance(seq, (list, tuple, dict))


def _parts(nest):
    return [nest[key] for key in sorted(nest)] if isinstance(nest, dict) else list(nest)


def flatten(nest):
    """What a nest holds, in one list; of dicts by the order of keys."""
    if not is_sequence(nest):
        return [nest]
    return [leaf for part in _parts(nest) for leaf in flatten(part)]


def pack_sequence_as(structure, flat_sequence):
    """A nest like ``structure`` with the members of a list in the places of its own."""
    count = len(flatten(structure))
    if len(flat_sequence) != count:
        raise ValueError(f"the structure has {count} places for {len(flat_sequence)} values")
    values = iter(flat_sequence)

    def pack(nest):
        if not is_sequence(nest):
            return next(values)
        packed = [pack(part) for part in _parts(nest)]
        if isinstance(nest, dict):
            made = dict(zip(sorted(nest), packed))
            return type(nest)((key, made[key]) for key in nest)
        return type(nest)(*packed) if hasattr(nest, "_fields") else type(nest)(packed)

    return pack(structure)


def map_structure(func, *structure):
    """A nest of what ``func`` gives for the members of nests that are alike."""
    for other in structure[1:]:
        assert_same_structure(structure[0], other)
    members = zip(*(flatten(one) for one in structure))
    return pack_sequence_as(structure[0], [func(*each) for each in members])


def assert_same_structure(nest1, nest2, check_types=True):
    """Refuse nests that are not alike."""
    if not is_sequence(nest1) and not is_sequence(nest2):
        return
    if is_sequence(nest1) != is_sequence(nest2) or len(nest1) != len(nest2):
        raise ValueError(f"the nests are not alike: {nest1!r} and {nest2!r}")
    if check_types and type(nest1) is not type(nest2):
        kinds = f"{type(nest1).__name__} and {type(nest2).__name__}"
        raise TypeError(f"the nests are of different types: {kinds}")
    if isinstance(nest1, dict) and set(nest1) != set(nest2):
        raise ValueError(f"the nests have different keys: {sorted(nest1)} and {sorted(nest2)}")
    for one, other in zip(_parts(nest1), _parts(nest2)):
        assert_same_structure(one, other, check_types)
