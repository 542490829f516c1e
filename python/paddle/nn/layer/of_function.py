"""Layers that are a function of paddle.nn.functional with its other arguments kept."""

import inspect

from paddle._words import compiled, made_class

from .layers import Layer

__all__ = []


class OfFunction(Layer):
    """A function of variables, with the other arguments that it is called with."""

    def _keep(self, **arguments):
        Layer.__init__(self)
        self._arguments = arguments

    def extra_repr(self):
        """The arguments."""
        shown = [
            (word, value) for word, value in self._arguments.items() if word != "name" or value
        ]
        return ", ".join(f"{word}={value}" for word, value in shown)


def layer_of(word, function, module, variables=1, without=()):
    """The layer ``word``: ``forward`` takes the first arguments of ``function``, the variables, and
    making it takes the others but those in ``without``. The docstring is the function's."""
    parameters = list(inspect.signature(function).parameters.values())
    inputs = ", ".join(one.name for one in parameters[:variables])
    signature = ", ".join(str(one) for one in parameters[variables:] if one.name not in without)
    body = f"return function({inputs}, **self._arguments)"
    forward = compiled("forward", f"self, {inputs}", body, function=function)
    forward.__doc__ = "What the function gives."
    return made_class(
        word, OfFunction, signature, OfFunction._keep, function.__doc__, module, forward=forward
    )
