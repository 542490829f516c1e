"""Data sets that are lists of files, where 2.x has them."""

from paddle.base.dataset import (  # noqa: F401
    DatasetBase,
    FileInstantDataset,
    InMemoryDataset,
    QueueDataset,
)
