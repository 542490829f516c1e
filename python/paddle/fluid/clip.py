"""What keeps gradients within bounds."""

from paddle._names import names_of
from paddle.base.clip import (  # noqa: F401
    ClipGradBase as GradientClipBase,
)
from paddle.base.clip import (  # noqa: F401
    GradientClipByGlobalNorm,
    GradientClipByNorm,
    GradientClipByValue,
    append_gradient_clip_ops,
    set_gradient_clip,
)

__getattr__, __dir__ = names_of(__name__)
