"""Optimizers around other ones."""


class AroundOptimizer:
    """An optimizer around another one, which does whatever this one does not say."""

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """``minimize`` of the optimizer inside."""
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)

    def __getattr__(self, name):
        if name.startswith("__") or name == "_optimizer":
            raise AttributeError(name)
        return getattr(self._optimizer, name)
