"""What operators are marked with, and parts of names that mean something."""

import enum

import _flotilla as core
from paddle._words import named


class OpRole(enum.IntEnum):
    """What an operator is for: the numbers of its attribute ``op_role``."""

    Forward = core.kForwardRole
    Backward = core.kBackwardRole
    Optimize = core.kOptimizeRole
    RPC = 4
    Dist = 8
    LRSched = core.kLrSchedRole
    Loss = 256


class op_proto_and_checker_maker:  # noqa: N801 (Paddle's name)
    """The roles of operators, and the names of attributes that all operators have."""

    OpRole = OpRole
    kOpRoleAttrName = staticmethod(lambda: "op_role")
    kOpRoleVarAttrName = staticmethod(lambda: "op_role_var")
    kOpNameScopeAttrName = staticmethod(lambda: "op_namescope")
    kOpCreationCallstackAttrName = staticmethod(lambda: "op_callstack")
    kOpDeviceAttrName = staticmethod(lambda: "op_device")
    kOpWithQuantAttrName = staticmethod(lambda: "with_quant_attr")


# Parts of names that mean something: fluid.core has them as functions.
EMPTY_VAR_NAME, TEMP_VAR_NAME = "@EMPTY@", "@TEMP@"
GRAD_VAR_SUFFIX, ZERO_VAR_SUFFIX = "@GRAD", "@ZERO"
CONTROL_DEP_VAR_PREFIX = "__control_var"


def _word(name, text, doc):
    return named(lambda: text, name, doc)


kEmptyVarName = _word("kEmptyVarName", EMPTY_VAR_NAME, "The name that stands for no variable.")
kTempVarName = _word("kTempVarName", TEMP_VAR_NAME, "The name of a variable that nobody names.")
kGradVarSuffix = _word("kGradVarSuffix", GRAD_VAR_SUFFIX, "What names of gradients end with.")
kZeroVarSuffix = _word("kZeroVarSuffix", ZERO_VAR_SUFFIX, "What names of zeros end with.")
kControlDepVarName = _word(
    "kControlDepVarName", CONTROL_DEP_VAR_PREFIX, "What says in graphs which operator comes first."
)
