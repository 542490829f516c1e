"""fluid.debugger as it was spelled before 0.13."""

from paddle._names import names_of

from .debugger import (  # noqa: F401
    draw_block_graphviz,
    pprint_block_codes,
    pprint_program_codes,
)

__getattr__, __dir__ = names_of(__name__)
