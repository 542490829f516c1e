"""Data sets that are lists of files."""

from paddle._names import names_of
from paddle.base.dataset import (  # noqa: F401
    DatasetBase,
    DatasetFactory,
    FileInstantDataset,
    InMemoryDataset,
    QueueDataset,
)

__getattr__, __dir__ = names_of(__name__, ["dataset"])
