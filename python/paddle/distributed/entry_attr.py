"""Which features get a row in a sparse table of parameter servers."""

__all__ = ["CountFilterEntry", "ProbabilityEntry", "ShowClickEntry"]


class EntryAttr:
    """What ``sparse_embedding(entry=...)`` takes; its text is the op's attribute."""

    def _to_attr(self):
        return str(self)


class ProbabilityEntry(EntryAttr):
    """A feature that has no row gets one with this probability each time it is pushed."""

    def __init__(self, probability):
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise ValueError(f"probability must be a float in (0, 1), but is {probability!r}")
        self._probability = probability

    def __str__(self):
        return f"probability_entry:{self._probability}"


class CountFilterEntry(EntryAttr):
    """A feature gets its row when it is pushed for the ``count_filter``-th time."""

    def __init__(self, count_filter):
        if not isinstance(count_filter, int) or count_filter < 0:
            raise ValueError(
                f"count_filter must be a whole number from 0 on, but is {count_filter!r}"
            )
        self._count_filter = count_filter

    def __str__(self):
        return f"count_filter_entry:{self._count_filter}"


class ShowClickEntry(EntryAttr):
    """Names the variables that count shows and clicks. Every feature gets a row."""

    def __init__(self, show_name, click_name):
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise ValueError(
                f"show_name and click_name must be names, but are {show_name!r} and {click_name!r}"
            )
        self._show_name, self._click_name = show_name, click_name

    def __str__(self):
        return f"show_click_entry:{self._show_name}:{self._click_name}"
