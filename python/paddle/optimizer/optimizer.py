"""The base of optimizers. What they append to a program is made by the C++ core."""

import numpy as np

import _flotilla as core
from paddle._words import also
from paddle.base.clip import clip_errors
from paddle.base.framework import Variable, default_main_program
from paddle.base.regularizer import L2Decay
from paddle.base.scope import global_scope

from .lr import LRScheduler

__all__ = ["Optimizer"]


def _in_the_program(word):
    return RuntimeError(
        f"optimizer.{word}() is for dynamic graphs, which Flotilla does not support: call "
        "optimizer.minimize(loss) once, and Executor.run computes the gradients and the update"
    )


class Optimizer:
    """Appends the gradient of a loss and the updates of parameters to the loss's program.

    ``learning_rate``: a number, a scheduler of ``paddle.optimizer.lr``, or a variable of the
    program. ``weight_decay``: a number for L2 decay, or a regularizer.

    >>> paddle.optimizer.SGD(0.1).minimize(loss)
    """

    _type = None  # of the op
    _ratio_of = None  # tells for a parameter what its learning rate is multiplied with

    def __init__(
        self, learning_rate, parameters=None, weight_decay=None, grad_clip=None, name=None
    ):
        self._make(learning_rate, parameters, weight_decay, grad_clip, name)

    def _make(
        self, learning_rate, parameters, weight_decay, grad_clip, name, attrs=None, decays=None
    ):
        if self._type is None:
            raise TypeError(
                "Optimizer is an abstract base class: use SGD, Adam or another optimizer"
            )
        if isinstance(weight_decay, (int, float)):
            weight_decay = L2Decay(float(weight_decay)) if weight_decay else None
        _check("weight_decay", weight_decay, core.Regularizer, "a number or a regularizer")
        _check(
            "grad_clip", grad_clip, core.GradClip, "one of ClipGradByValue, ByNorm, ByGlobalNorm"
        )
        parameters = None if parameters is None else list(parameters)
        self._apart = {}  # from a parameter's name to attributes of its op
        if any(isinstance(one, dict) for one in parameters or ()):
            parameters = self._take_groups(parameters)
        self._learning_rate, self._grad_clip = learning_rate, grad_clip
        in_program = isinstance(learning_rate, Variable)
        self._core = core.Optimizer(
            self._type,
            0.0 if in_program else _number(learning_rate),
            learning_rate if in_program else None,
            weight_decay,
            grad_clip,
            parameters,
            name,
            attrs,
            decays,
        )

    def _take_groups(self, groups):
        """Let groups of parameters say how theirs are trained; returns all parameters.

        A group's ``learning_rate`` is a factor of the optimizer's, its ``weight_decay`` stands
        before the optimizer's.
        """
        whole = []
        for group in groups:
            if not isinstance(group, dict) or "params" not in group:
                raise TypeError(
                    'parameters must be a list of parameters, or of dicts with "params" each, '
                    f"but holds {group!r}"
                )
            unknown = sorted(set(group) - {"params", "learning_rate", "weight_decay"})
            if unknown:
                raise ValueError(f'"{unknown[0]}" of a group of parameters is not implemented')
            members = (
                [group["params"]]
                if isinstance(group["params"], Variable)
                else list(group["params"])
            )
            for parameter in members:
                self._set_apart(parameter, group)
            whole += members
        return whole

    def _set_apart(self, parameter, group):
        if "learning_rate" in group:
            parameter.optimize_attr = {"learning_rate": float(group["learning_rate"])}
        decay = group.get("weight_decay")
        if decay is None:
            return
        number = isinstance(decay, (int, float))
        if self._type == "adamw":  # its decay is part of its op
            if not number:
                raise TypeError(f"weight_decay of AdamW must be a number, but is {decay!r}")
            self._apart[parameter.name] = {"coeff": float(decay)}
        else:
            parameter.regularizer = L2Decay(float(decay)) if number else decay

    # ---- programs

    def _adjusted(self, ops):
        """The update ops, those of parameters that are trained otherwise with attributes of their own."""
        for op in ops if self._apart or self._ratio_of else ():
            name = op.input("Param")[0]
            attrs = dict(self._apart.get(name, {}))
            if self._ratio_of is not None:
                attrs["lr_ratio"] = float(self._ratio_of(op.block.var(name)))
            for word, value in attrs.items():
                op._set_attr(word, value)
        return ops

    def _rate(self):
        """What gives the learning rate of each run, where it is not a number."""
        return self.get_lr if isinstance(self._learning_rate, LRScheduler) else None

    def _settle_clip(self, program, params_grads=None):
        """What set_gradient_clip said counts where the optimizer itself says nothing."""
        clip, wanted = self._grad_clip, None
        if clip is None and program._gradient_clip is not None:
            clip, wanted = program._gradient_clip
            self._core.clip = clip
        if clip is None:
            return
        if params_grads is None:
            clip._choose(program.all_parameters(), wanted)
        else:
            clip._choose([parameter for parameter, _ in params_grads], wanted)

    @also(parameter_list="parameters")
    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """Append gradients and updates; returns (update ops, [(parameter, gradient)])."""
        program = getattr(getattr(loss, "block", None), "program", None)
        if program is not None:
            self._settle_clip(program)
            if program._error_clips:
                pairs = self.backward(loss, startup_program, parameters, no_grad_set)
                return self.apply_optimize(loss, startup_program, pairs), pairs
        words = (loss, startup_program, parameters, no_grad_set)
        ops, pairs = self._core.minimize(*words, self._rate())
        return self._adjusted(ops), pairs

    @also(parameter_list="parameters")
    def backward(
        self, loss, startup_program=None, parameters=None, no_grad_set=None, callbacks=None
    ):
        """Append the gradients; returns [(parameter, gradient)]."""
        pairs = self._core.backward(loss, startup_program, parameters, no_grad_set)
        clip_errors(loss.block.program)
        return pairs

    def apply_gradients(self, params_grads):
        """Append the updates for gradients; returns their ops."""
        self._settle_clip(default_main_program(), params_grads)
        return self._adjusted(self._core.apply_gradients(params_grads, rate=self._rate()))

    def apply_optimize(self, loss, startup_program, params_grads):
        """Append the updates for gradients to the program of ``loss``; returns their ops."""
        program = loss.block.program
        self._settle_clip(program, params_grads)
        words = (params_grads, program, startup_program)
        return self._adjusted(self._core.apply_gradients(*words, self._rate()))

    def step(self, *args, **kwargs):
        """Refused: the program that the executor runs has the update in it."""
        raise _in_the_program("step")

    def clear_grad(self, set_to_zero=True):
        """Refused: every run of a program computes its gradients again."""
        raise _in_the_program("clear_grad")

    clear_gradients = clear_grad

    def _global_learning_rate(self, program=None):
        """The learning rate's variable in a program; None where it has none yet."""
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        program = program or default_main_program()
        name = self._core.learning_rate_in(program)
        return None if name is None else program.global_block().var(name)

    # ---- the learning rate

    def get_lr(self):
        """The learning rate at present."""
        if isinstance(self._learning_rate, Variable):
            return float(np.array(self._learning_rate.get_value()).reshape(-1)[0])
        return _number(self._learning_rate)

    current_step_lr = get_lr

    def set_lr(self, value):
        """Use another learning rate from now on."""
        if not isinstance(self._learning_rate, (int, float)):
            raise RuntimeError("a learning rate that follows a schedule cannot be set to a number")
        self._learning_rate = float(value)
        self._core.set_rate(self._learning_rate, global_scope())

    # ---- state

    def _state_names(self):
        return list(self._core.accumulators().values())

    get_opti_var_name_list = _state_names

    def state_dict(self):
        """What the optimizer keeps of each parameter, from the global scope, and the schedule."""
        found = ((name, global_scope().find_var(name)) for name in self._state_names())
        state = {name: var.get_tensor() for name, var in found if var is not None}
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        """Go on from what ``state_dict`` gave, in the global scope."""
        if isinstance(self._learning_rate, LRScheduler) and "LR_Scheduler" in state_dict:
            self._learning_rate.set_state_dict(state_dict["LR_Scheduler"])
        for name in self._state_names():
            if name in state_dict:
                scope = global_scope()
                var = scope.find_var(name) or scope.var(name)
                var.get_tensor().set(np.array(state_dict[name]))

    set_dict = set_state_dict


def _check(word, value, kind, expected):
    if value is not None and not isinstance(value, kind):
        found = type(value).__name__
        raise TypeError(f"{word} must be {expected}, or None, but is of type {found}")


def _number(learning_rate):
    if isinstance(learning_rate, (LRScheduler, int, float, np.number)):
        return float(learning_rate() if isinstance(learning_rate, LRScheduler) else learning_rate)
    raise TypeError(
        "learning_rate must be a number, a scheduler or a variable, "
        f"but is of type {type(learning_rate).__name__}"
    )
