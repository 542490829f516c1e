"""What keeps gradients within bounds: handed to an optimizer as ``grad_clip``."""

import _flotilla as core
from paddle._words import of_kind

from .framework import Variable, default_main_program, grad_var_name


class ClipGradBase(core.GradClip):
    """Any way to clip gradients."""

    _need_clip = None  # tells for a parameter whether its gradient is clipped

    def __call__(self, params_grads):
        """Append what clips these gradients; returns [(parameter, clipped gradient)]."""
        self._choose([parameter for parameter, _ in params_grads])
        return core.append_grad_clip(self, params_grads)

    def _choose(self, parameters, wanted=None):
        """Mark whose gradients are clipped: those with names in ``wanted``, or all in need."""
        for parameter in parameters:
            if wanted is not None:
                parameter.need_clip = parameter.name in wanted
            elif self._need_clip is not None:
                parameter.need_clip = bool(self._need_clip(parameter))


class ClipGradByValue(ClipGradBase):
    """Each element of a gradient lies between ``min`` (by default ``-max``) and ``max``."""

    def __init__(self, max, min=None):
        super().__init__("value", float(max), -float(max) if min is None else float(min))


class ClipGradByNorm(ClipGradBase):
    """The norm of each gradient is at most ``clip_norm``."""

    def __init__(self, clip_norm):
        super().__init__("norm", float(clip_norm))
        self.clip_norm = float(clip_norm)


class ClipGradByGlobalNorm(ClipGradBase):
    """The norm of all gradients together is at most ``clip_norm``."""

    def __init__(self, clip_norm, group_name="default_group", auto_skip_clip=False):
        super().__init__("global_norm", float(clip_norm))
        self.clip_norm = float(clip_norm)


# ---- 1.x


class GradientClipByValue(ClipGradByValue):
    """ClipGradByValue in the API of 1.x."""

    def __init__(self, max, min=None, need_clip=None):
        super().__init__(max, min)
        self._need_clip = need_clip


class GradientClipByNorm(ClipGradByNorm):
    """ClipGradByNorm in the API of 1.x."""

    def __init__(self, clip_norm, need_clip=None):
        super().__init__(clip_norm)
        self._need_clip = need_clip


class GradientClipByGlobalNorm(ClipGradByGlobalNorm):
    """ClipGradByGlobalNorm in the API of 1.x."""

    def __init__(self, clip_norm, group_name="default_group", need_clip=None):
        super().__init__(clip_norm, group_name)
        self._need_clip = need_clip
        self.in_place = False


def set_gradient_clip(clip, param_list=None, program=None):
    """Clip the gradients of a program's parameters, or of some, where its optimizer does not."""
    said = "clip must be one of GradientClipByValue, ByNorm, ByGlobalNorm, but is of type"
    of_kind(clip, ClipGradBase, said)
    program = default_main_program() if program is None else program
    names = None
    if param_list is not None:
        names = {getattr(parameter, "name", parameter) for parameter in param_list}
        for name in names:
            program.global_block().var(name)  # refuses an unknown name
    program._gradient_clip = (clip, names)


class ErrorClipByValue:
    """The gradient of one variable, between ``min`` (by default ``-max``) and ``max`` wherever the
    rest of the backward pass reads it.

    >>> hidden._set_error_clip(fluid.clip.ErrorClipByValue(max=1.0))
    """

    def __init__(self, max, min=None):
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def __str__(self):
        return f"ByValue, min={self.min:f}, max={self.max:f}"


def _set_error_clip(self, error_clip):
    """Keep the gradient of the variable within bounds."""
    if error_clip is not None:
        said = "error_clip must be an ErrorClipByValue or None, but is of type"
        of_kind(error_clip, ErrorClipByValue, said)
    program = self.block.program
    others = {key: clip for key, clip in program._error_clips.items() if key != self.name}
    program._error_clips = others | ({} if error_clip is None else {self.name: error_clip})


Variable._set_error_clip = _set_error_clip
Variable.error_clip = property(
    lambda self: self.block.program._error_clips.get(self.name),
    _set_error_clip,
    doc="What keeps the gradient of the variable within bounds, or None.",
)


def clip_errors(program):
    """Put the clips of variables behind the ops that write their gradients."""
    for name, clip in program._error_clips.items():
        gradient = grad_var_name(name)
        for block in program.blocks:
            writers = [i for i, op in enumerate(block.ops) if gradient in op.output_arg_names]
            if writers and block.ops[writers[-1]].type != "clip":
                with program._backward_role_guard():
                    block._insert_op(
                        writers[-1] + 1,
                        type="clip",
                        inputs={"X": [gradient]},
                        outputs={"Out": [gradient]},
                        attrs={"min": clip.min, "max": clip.max},
                    )


def error_clip_callback(block, context):
    """What 1.x hands to append_backward: every optimizer clips errors without it."""
    clip_errors(block.program)


def append_gradient_clip_ops(param_grads):
    """Append what :func:`set_gradient_clip` asks for; returns [(parameter, clipped gradient)]."""
    clip, wanted = default_main_program()._gradient_clip or (None, None)
    if clip is None:
        return param_grads
    clip._choose([parameter for parameter, _ in param_grads], wanted)
    return core.append_grad_clip(clip, param_grads)
