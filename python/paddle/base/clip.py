"""What keeps gradients within bounds: handed to an optimizer as ``grad_clip``."""

import _flotilla as core
from paddle._words import of_kind

from .framework import default_main_program


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


def append_gradient_clip_ops(param_grads):
    """Append what :func:`set_gradient_clip` asks for; returns [(parameter, clipped gradient)]."""
    clip, wanted = default_main_program()._gradient_clip or (None, None)
    if clip is None:
        return param_grads
    clip._choose([parameter for parameter, _ in param_grads], wanted)
    return core.append_grad_clip(clip, param_grads)
