"""What keeps gradients within bounds: handed to an optimizer as ``grad_clip``."""

import _flotilla as core


class ClipGradBase(core.GradClip):
    """Any way to clip gradients."""


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
    """ClipGradByValue in the words of 1.x."""

    def __init__(self, max, min=None, need_clip=None):
        _refuse(need_clip)
        super().__init__(max, min)


class GradientClipByNorm(ClipGradByNorm):
    """ClipGradByNorm in the words of 1.x."""

    def __init__(self, clip_norm, need_clip=None):
        _refuse(need_clip)
        super().__init__(clip_norm)


class GradientClipByGlobalNorm(ClipGradByGlobalNorm):
    """ClipGradByGlobalNorm in the words of 1.x."""

    def __init__(self, clip_norm, group_name="default_group", need_clip=None):
        _refuse(need_clip)
        super().__init__(clip_norm, group_name)


def _refuse(need_clip):
    if need_clip is not None:
        raise ValueError(
            "need_clip as a function is not there yet; "
            "give the parameters that are left alone ParamAttr(need_clip=False)"
        )
