"""Datasets and loaders."""

from paddle.batch import batch  # noqa: F401

from ._worker import get_worker_info  # noqa: F401
from .collate import default_collate_fn, default_convert_fn  # noqa: F401
from .dataset import (  # noqa: F401
    ChainDataset,
    ComposeDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .reader import DataLoader  # noqa: F401
from .sampler import (  # noqa: F401
    BatchSampler,
    DistributedBatchSampler,
    RandomSampler,
    Sampler,
    SequenceSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
