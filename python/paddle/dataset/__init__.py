"""The data sets of the fluid era, each a module with readers of its samples.

A set is looked for in the cache (``common.DATA_HOME``, or $PADDLE_DATA_HOME), then downloaded, and
otherwise generated, with a notice. ``python -m paddle.dataset --list`` tells what is there.
"""

from paddle._names import names_of

__getattr__, __dir__ = names_of(
    __name__,
    [
        *("cifar", "common", "conll05", "criteo", "flowers", "image", "imdb", "imikolov", "mnist"),
        *("movielens", "mq2007", "sentiment", "uci_housing", "voc2012", "wmt14", "wmt16"),
    ],
)
