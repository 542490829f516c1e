"""Metrics over all workers: each worker gives what it has counted, all get the same result.

An ``input`` is an array, a number, a variable or the name of one; variables are read from ``scope``.
"""

import builtins
import math

import numpy as np

from paddle.base.framework import Variable
from paddle.base.scope import global_scope
from paddle.metric.metrics import area


def _array(input, scope):
    if isinstance(input, (Variable, str)):
        name = input if isinstance(input, str) else input.name
        found = (scope or global_scope()).find_var(name)
        if found is None:
            raise ValueError(f"the scope has no variable {name!r}: run the program first")
        input = found.get_tensor()
    return np.array(input)


def _over_workers(input, mode, scope, util):
    if util is None:
        from paddle.distributed import fleet

        util = fleet.util
    return np.asarray(util.all_reduce(_array(input, scope), mode))


def _total(input, scope, util):
    return float(_over_workers(input, "sum", scope, util).sum())


def sum(input, scope=None, util=None):
    """The sum of every worker's ``input``, element by element."""
    return _over_workers(input, "sum", scope, util)


def max(input, scope=None, util=None):
    """The greatest of every worker's ``input``, element by element."""
    return _over_workers(input, "max", scope, util)


def min(input, scope=None, util=None):
    """The least of every worker's ``input``, element by element."""
    return _over_workers(input, "min", scope, util)


def auc(stat_pos, stat_neg, scope=None, util=None):
    """The area under the ROC curve, from the counts of positive and negative samples in each bucket
    of predictions, as the auc op keeps them."""
    positive = np.ravel(_over_workers(stat_pos, "sum", scope, util))
    negative = np.ravel(_over_workers(stat_neg, "sum", scope, util))
    if positive.size != negative.size:
        raise ValueError(f"{positive.size} buckets of positives, but {negative.size} of negatives")
    return area(positive, negative, otherwise=0.5)


def mae(abserr, total_ins_num, scope=None, util=None):
    """The mean absolute error, from the sum of absolute errors and the number of samples."""
    return _total(abserr, scope, util) / builtins.max(_total(total_ins_num, scope, util), 1.0)


def mse(sqrerr, total_ins_num, scope=None, util=None):
    """The mean square error, from the sum of square errors and the number of samples."""
    return _total(sqrerr, scope, util) / builtins.max(_total(total_ins_num, scope, util), 1.0)


def rmse(sqrerr, total_ins_num, scope=None, util=None):
    """The root of :func:`mse`."""
    return math.sqrt(mse(sqrerr, total_ins_num, scope, util))


def acc(correct, total, scope=None, util=None):
    """The share of samples that are right."""
    return _total(correct, scope, util) / builtins.max(_total(total, scope, util), 1.0)
