"""Which features get a row in a sparse table of parameter servers."""

import pytest

import paddle
from paddle.distributed import CountFilterEntry, ProbabilityEntry, ShowClickEntry


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (None, "none"),
        (CountFilterEntry(5), "count_filter_entry:5"),
        (ProbabilityEntry(0.1), "probability_entry:0.1"),
        (ShowClickEntry("show", "click"), "show_click_entry:show:click"),
    ],
)
def test_an_entry_is_an_attribute_of_the_lookup(entry, text):
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        ids = paddle.static.data("ids", [-1, 1], "int64")
        paddle.static.nn.sparse_embedding(ids, [100, 8], entry=entry)
    assert main.global_block().ops[0].attr("entry") == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountFilterEntry(-1),
        lambda: CountFilterEntry("5"),
        lambda: ProbabilityEntry(1),
        lambda: ProbabilityEntry(2.0),
        lambda: ShowClickEntry(1, 2),
    ],
)
def test_an_entry_that_cannot_be_is_refused(make):
    with pytest.raises(ValueError, match="must be"):
        make()
