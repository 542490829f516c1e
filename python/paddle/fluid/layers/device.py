"""Lists of devices, for programs of 0.14."""

from paddle.base.dtype import VarKind
from paddle.base.unique_name import generate
from paddle.fluid.layer_helper import LayerHelper

__all__ = []


def get_places(device_count=None, device_type=None):
    """The devices that a program may use, as a variable: ``ParallelDo`` of 0.14 took it."""
    helper = LayerHelper("get_places")
    out = helper.create_variable(name=generate(f"{helper.name}.out"), type=VarKind.PLACE_LIST)
    attrs = {"device_count": device_count, "device_type": device_type}
    given = {name: value for name, value in attrs.items() if value is not None}
    helper.append_op(type="get_places", outputs={"Out": [out]}, attrs=given)
    return out
