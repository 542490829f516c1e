"""Metrics over all workers of a job."""

from .metric import acc, auc, mae, max, min, mse, rmse, sum  # noqa: F401
