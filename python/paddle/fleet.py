"""``paddle.distributed.fleet`` under its first name, of 2.0-alpha."""

import sys

import paddle.distributed.fleet  # noqa: F401

_FULL = "paddle.distributed.fleet"

for _name, _module in list(sys.modules.items()):
    if _name == _FULL or _name.startswith(_FULL + "."):
        sys.modules[__name__ + _name[len(_FULL) :]] = _module
