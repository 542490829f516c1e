"""Summaries of ``data_norm``: servers add up what batches hold."""

from paddle.base.around import AroundOptimizer
from paddle.base.framework import default_startup_program, program_guard

ENDINGS = (".batch_size", ".batch_sum", ".batch_square_sum")
DECAY = 0.999999  # of a summary before something is added to it


class WithSummaries(AroundOptimizer):
    """An optimizer whose ``minimize`` leaves summaries out of its own rule."""

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        main, startup = loss.block.program, startup_program or default_startup_program()
        if not any(one.name.endswith(ENDINGS) for one in main.all_parameters()):
            return super().minimize(loss, startup_program, parameter_list, no_grad_set)
        with program_guard(main, startup):
            pairs = self._optimizer.backward(loss, startup, parameter_list, no_grad_set)
            summaries = [pair for pair in pairs if pair[0].name.endswith(ENDINGS)]
            others = [pair for pair in pairs if not pair[0].name.endswith(ENDINGS)]
            ops = self._optimizer.apply_gradients(others)
            ops = [*ops, *_adding().apply_gradients(summaries)]
        return ops, pairs


def _adding():
    """summary * DECAY + gradient: a step of -1 against the gradient and a little decay."""
    from paddle.fluid import optimizer, regularizer

    return optimizer.SGD(-1.0, regularization=regularizer.L2Decay(DECAY - 1))
