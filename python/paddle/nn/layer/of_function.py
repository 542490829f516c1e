"""Layers that are a function of paddle.nn.functional with its other arguments kept."""

import inspect

from paddle._words import made_class

from .layers import Layer

__all__ = []


class _OfFunction(Layer):
    def _keep(self, **arguments):
        Layer.__init__(self)
        self._arguments = arguments

    def extra_repr(self):
        """The arguments."""
        shown = [
            (word, value) for word, value in self._arguments.items() if word != "name" or value
        ]
        return ", ".join(f"{word}={value}" for word, value in shown)


class OfOne(_OfFunction):
    """A function of one variable."""

    def forward(self, x):
        """The function of ``x``."""
        return self._function(x, **self._arguments)


class OfTwo(_OfFunction):
    """A function of what a net says and what it should say."""

    def forward(self, input, label):
        """The function of ``input`` and ``label``."""
        return self._function(input, label, **self._arguments)


def layer_of(word, function, module, base=OfOne, without=()):
    """The layer ``word``: its arguments are those of ``function`` behind the variables.

    ``without``: those that the layer does not take. The docstring is the function's.
    """
    variables = {OfOne: 1, OfTwo: 2}[base]
    parameters = list(inspect.signature(function).parameters.values())[variables:]
    signature = ", ".join(str(one) for one in parameters if one.name not in without)
    members = {"_function": staticmethod(function)}
    return made_class(word, base, signature, base._keep, function.__doc__, module, **members)
