"""Metrics: of a program, and put together outside of it, batch by batch."""

from .metrics import Accuracy, Auc, Metric, Precision, Recall, accuracy  # noqa: F401
