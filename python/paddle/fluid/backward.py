"""Gradients of programs."""

from paddle._names import names_of
from paddle.base.backward import append_backward, gradients  # noqa: F401

calc_gradient = gradients

__getattr__, __dir__ = names_of(__name__)
