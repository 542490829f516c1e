"""Optimizers by their rules, in the words of both eras.

A row of the table states an optimizer once: the op, its settings, and how it is called. The words of
1.x follow from those of 2.x (`parameter_list` for `parameters`, `regularization` for
`weight_decay`) unless the row says otherwise. fluid/optimizer.py gives the classes of 1.x their names.
"""

import typing

from paddle._words import made_class

from .optimizer import Optimizer

__all__ = [
    *("SGD", "Momentum", "Adam", "AdamW", "Adagrad", "RMSProp", "Adadelta", "Adamax", "Lamb"),
]


class Rule(typing.NamedTuple):
    """How an optimizer is called, and what becomes of its arguments."""

    type: str  # of the op
    doc: str
    new: str = ""  # signature in 2.x
    old: str = ""  # in 1.x, where it is not that of 2.x in the API of 1.x
    rename: dict = {}  # settings whose attribute has another name
    settle: typing.Callable = None  # changes settings; may take ``decays`` out of them
    settle_old: typing.Callable = None  # in 1.x, where that differs


def _adamw(settings):
    settings["ratio_of"] = settings.pop("lr_ratio")
    if not (settings["ratio_of"] is None or callable(settings["ratio_of"])):
        found = settings["ratio_of"]
        raise TypeError(f"lr_ratio must be a function of a parameter or None, but is {found!r}")
    settings["coeff"] = float(settings.pop("weight_decay"))
    wanted = settings.pop("apply_decay_param_fun")
    settings["decays"] = wanted and (lambda parameter: wanted(parameter.name))


def _lamb(settings):
    exclude = settings.pop("exclude_from_weight_decay_fn")
    settings["decays"] = exclude and (lambda parameter: not exclude(parameter))


def _lars(settings):
    settings["lars_weight_decay"] = [float(settings["lars_weight_decay"])]


def _adadelta_of_old(settings):
    settings["learning_rate"] = 1.0  # the op of 1.x takes none


_BETAS = "learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, "
_REST = "parameters=None, weight_decay=None, grad_clip=None, "
_PRECISION = "multi_precision=False, "

RULES = {
    "SGD": Rule(
        "sgd",
        "p -= lr * g.",
        f"learning_rate=0.001, {_REST}{_PRECISION}name=None",
        f"learning_rate, {_REST}name=None",
    ),
    "Momentum": Rule(
        "momentum",
        "v = momentum * v + g; p -= lr * v, or with ``use_nesterov`` lr * (g + momentum * v).",
        "learning_rate=0.001, momentum=0.9, parameters=None, use_nesterov=False, "
        f"weight_decay=None, grad_clip=None, {_PRECISION}rescale_grad=1.0, "
        "use_multi_tensor=False, name=None",
        "learning_rate, momentum, parameters=None, use_nesterov=False, weight_decay=None, "
        "grad_clip=None, name=None",
        {"momentum": "mu"},
    ),
    "Adam": Rule(
        "adam",
        """m and v follow g and g^2; p -= lr * m / (sqrt(v) + epsilon), both without their bias.

        ``lazy_mode``: a sparse gradient moves only the rows that it has.""",
        f"{_BETAS}{_REST}lazy_mode=False, {_PRECISION}use_multi_tensor=False, name=None",
        f"{_BETAS}{_REST}name=None, lazy_mode=False",
    ),
    "AdamW": Rule(
        "adamw",
        """Adam, with p -= lr * weight_decay * p beside it.

        ``apply_decay_param_fun``: says for the name of a parameter whether it decays. ``lr_ratio``:
        says for a parameter what its learning rate is multiplied with.""",
        f"{_BETAS}parameters=None, weight_decay=0.01, lr_ratio=None, "
        f"apply_decay_param_fun=None, grad_clip=None, lazy_mode=False, {_PRECISION}name=None",
        settle=_adamw,
    ),
    "Adagrad": Rule(
        "adagrad",
        "m += g^2; p -= lr * g / (sqrt(m) + epsilon).",
        f"learning_rate, epsilon=1e-06, {_REST}name=None, initial_accumulator_value=0.0",
    ),
    "DecayedAdagrad": Rule(
        "decayed_adagrad",
        "m follows g^2; p -= lr * g / (sqrt(m) + epsilon).",
        old=f"learning_rate, decay=0.95, epsilon=1e-06, {_REST}name=None",
    ),
    "RMSProp": Rule(
        "rmsprop",
        """s follows g^2; p -= lr * g / sqrt(s + epsilon), with momentum; ``centered`` subtracts
        the square of what follows g.""",
        "learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False, "
        f"{_REST}name=None",
        rename={"rho": "decay"},
    ),
    "Adadelta": Rule(
        "adadelta",
        "The step is g times the ratio of what follows former steps and former gradients.",
        f"learning_rate=0.001, epsilon=1e-06, rho=0.95, {_REST}name=None",
        f"learning_rate, epsilon=1e-06, rho=0.95, {_REST}name=None",
        settle_old=_adadelta_of_old,
    ),
    "Adamax": Rule(
        "adamax",
        "Adam with the largest |g| so far instead of the root of v.",
        f"{_BETAS}{_REST}name=None",
    ),
    "Lamb": Rule(
        "lamb",
        """Adam's step, scaled to the norm of the parameter.

        ``exclude_from_weight_decay_fn``: says for a parameter whether it does not decay.""",
        "learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, "
        "parameters=None, grad_clip=None, exclude_from_weight_decay_fn=None, "
        f"{_PRECISION}always_adapt=False, name=None",
        "learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, "
        f"{_REST}exclude_from_weight_decay_fn=None, name=None",
        {"lamb_weight_decay": "weight_decay"},
        _lamb,
    ),
    "LarsMomentum": Rule(
        "lars_momentum",
        "Momentum with a rate for each parameter from its norm and that of its gradient.",
        old="learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, "
        f"{_REST}name=None",
        rename={"momentum": "mu"},
        settle=_lars,
    ),
    "Ftrl": Rule(
        "ftrl",
        "Follows the regularised leader: L1 and L2 keep parameters at or near zero.",
        old=f"learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, {_REST}name=None",
    ),
}

_OLD_WORDS = {"parameters": "parameter_list", "weight_decay": "regularization"}
_COMMON = ("learning_rate", "parameters", "weight_decay", "grad_clip", "name")
_UNUSED = ("multi_precision", "use_multi_tensor")  # of kernels that are not there


def _maker(rule):
    """What ``__init__`` does with its arguments."""

    def make(self, **words):
        for new, old in _OLD_WORDS.items():
            if old in words:
                words[new] = words.pop(old)
        settings = {key: value for key, value in words.items() if key not in _UNUSED}
        if rule.settle is not None:
            rule.settle(settings)
        common = [settings.pop(word, None) for word in _COMMON]
        decays, self._ratio_of = settings.pop("decays", None), settings.pop("ratio_of", None)
        attrs = {rule.rename.get(word, word): value for word, value in settings.items()}
        self._make(*common, attrs, decays)

    return make


def _made(word, base, signature, rule, module):
    return made_class(word, base, signature, _maker(rule), rule.doc, module, _type=rule.type)


def new_class(word):
    """An optimizer in the API of 2.x."""
    return _made(word, Optimizer, RULES[word].new, RULES[word], __name__)


def old_class(word, base, module):
    """An optimizer in the API of 1.x, whose class is also a ``base``."""
    rule = RULES[word]
    rule = rule._replace(settle=rule.settle_old or rule.settle)
    signature = f", {rule.old or rule.new}"
    for new, old in _OLD_WORDS.items():
        signature = signature.replace(f", {new}=", f", {old}=")
    return _made(f"{word}Optimizer", base, signature[2:], rule, module)


SGD = new_class("SGD")
Momentum = new_class("Momentum")
Adam = new_class("Adam")
AdamW = new_class("AdamW")
Adagrad = new_class("Adagrad")
RMSProp = new_class("RMSProp")
Adadelta = new_class("Adadelta")
Adamax = new_class("Adamax")
Lamb = new_class("Lamb")
