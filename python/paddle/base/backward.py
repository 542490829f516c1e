"""Gradients of programs."""

import _flotilla as core

__all__ = ["append_backward", "gradients"]


def append_backward(
    loss,
    parameter_list=None,
    no_grad_set=None,
    callbacks=None,
    checkpoints=None,
    distop_context=None,
):
    """Append the gradient of ``loss``; returns [(parameter, gradient)]."""
    return core.append_backward(loss, parameter_list, no_grad_set)


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """Append the gradient of the sum of ``targets`` with respect to ``inputs``.

    None stands for an input that does not lead to a target. ``target_gradients``: where the
    gradients of the targets start, instead of ones.
    """
    return core.gradients(targets, inputs, target_gradients, no_grad_set)
