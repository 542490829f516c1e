"""Metrics whose counts live in the program, as programs before 0.15 keep them."""

import numpy as np

from paddle.base.framework import default_main_program
from paddle.base.scope import global_scope
from paddle.base.unique_name import generate
from paddle.metric.metrics import share

from . import layers
from .metrics import chunk_scores

__all__ = ["ChunkEvaluator", "EditDistance"]


class Evaluator:
    """Counts that grow from run to run: ``states``. Each run's own results are ``metrics``.

    >>> evaluator.reset(executor)
    >>> for batch in data: executor.run(main, feed=batch, fetch_list=evaluator.metrics)
    >>> evaluator.eval(executor)
    """

    def __init__(self, name, **kwargs):
        self._name = name
        self.states, self.metrics = [], []

    def reset(self, executor, reset_program=None):
        """Start again from nothing."""
        for state in self.states:
            tensor = global_scope().var(state.name).get_tensor()
            tensor.set(np.zeros(state.shape, state.dtype.name))

    def eval(self, executor, eval_program=None):
        """The metrics of all runs since reset()."""
        raise NotImplementedError("an evaluator says how its counts become metrics")

    def _create_state(self, suffix, dtype, shape):
        name = generate(f"{self._name}_{suffix}")
        state = layers.create_global_var(shape, 0, dtype, persistable=True, name=name)
        self.states.append(state)
        return state

    def _count(self, state, value):
        layers.assign(state + layers.cast(value, state.dtype), state)


def _sum_of(state):
    return float(np.array(global_scope().find_var(state.name).get_tensor()).sum())


def _arrays(numbers):
    return tuple(np.array([number], "float32") for number in numbers)


class ChunkEvaluator(Evaluator):
    """Precision, recall and F1 of chunks, over all runs."""

    def __init__(self, input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None):
        super().__init__("chunk_eval")
        _check_global("ChunkEvaluator")
        made = layers.chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types)
        self.metrics = list(made[:3])
        for word, value in zip(("num_infer", "num_label", "num_correct"), made[3:]):
            self._count(self._create_state(f"{word}_chunks", "int64", [1]), value)

    def eval(self, executor, eval_program=None):
        """[precision], [recall] and [F1]."""
        return _arrays(chunk_scores(*map(_sum_of, self.states)))


class EditDistance(Evaluator):
    """The mean distance of sequences from their labels, and the share of those with any."""

    def __init__(self, input, label, ignored_tokens=None, **kwargs):
        super().__init__("edit_distance", **kwargs)
        _check_global("EditDistance")
        distances, count = layers.edit_distance(input, label, ignored_tokens=ignored_tokens)
        distance = layers.reduce_sum(distances)
        wrong = layers.reduce_sum(layers.cast(distances > 0, "int64"))
        for word, value in (("total_distance", distance), ("seq_num", count), ("wrong", wrong)):
            self._count(self._create_state(word, value.dtype, [1]), value)
        self.metrics = [distance, wrong]

    def eval(self, executor, eval_program=None):
        """[mean distance] and [share of sequences that are not right]."""
        distance, count, errors = (_sum_of(state) for state in self.states)
        return _arrays([share(distance, count), share(errors, count)])


def _check_global(word):
    if default_main_program().current_block().idx != 0:
        raise ValueError(f"You can only invoke {word} in root block")
