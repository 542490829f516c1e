"""Metrics: of a program, and put together outside of it, batch by batch."""

from paddle._names import names_of

from .metrics import Accuracy, Auc, Metric, Precision, Recall, accuracy  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
