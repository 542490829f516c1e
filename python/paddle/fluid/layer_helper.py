"""For layers that a program makes itself out of ops."""

import _flotilla as core
from paddle.base import unique_name
from paddle.base.data_feeder import check_type
from paddle.base.framework import Variable, default_main_program, default_startup_program

__all__ = ["LayerHelper"]


class LayerHelper:
    """Variables, parameters and ops of one layer. ``kwargs``: the layer's arguments, of which
    ``name``, ``input``, ``act``, ``param_attr`` and ``bias_attr`` mean something here."""

    def __init__(self, layer_type, **kwargs):
        self.layer_type = layer_type
        self.kwargs = kwargs
        self.name = kwargs.get("name") or unique_name.generate(layer_type)

    main_program = property(lambda self: default_main_program())
    startup_program = property(lambda self: default_startup_program())

    # ---- the layer's arguments

    param_attr = property(lambda self: core.to_param_attr(self.kwargs.get("param_attr")))
    bias_attr = property(lambda self: core.to_param_attr(self.kwargs.get("bias_attr")))

    def multiple_input(self, input_param_name="input"):
        """The layer's inputs, as a list."""
        inputs = self.kwargs.get(input_param_name, [])
        return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]

    def input(self, input_param_name="input"):
        """The layer's only input."""
        inputs = self.multiple_input(input_param_name)
        if len(inputs) != 1:
            raise ValueError(f"{self.layer_type} takes one input, but got {len(inputs)}")
        return inputs[0]

    def input_dtype(self, input_param_name="input"):
        """What the inputs hold, which is the same for all."""
        found = {one.dtype_name: one.dtype for one in self.multiple_input(input_param_name)}
        if len(found) != 1:
            raise ValueError(f"the inputs of {self.layer_type} hold {', '.join(sorted(found))}")
        return next(iter(found.values()))

    def multiple_param_attr(self, length):
        """How the parameters of so many inputs are made: one description is for all of them."""
        attr = self.kwargs.get("param_attr")
        attrs = list(attr) if isinstance(attr, (list, tuple)) else [attr] * length
        if len(attrs) != length:
            raise ValueError(f"{self.layer_type} has {length} inputs, but {len(attrs)} param_attr")
        return [core.to_param_attr(one) for one in attrs]

    def iter_inputs_and_params(self, input_param_name="input"):
        """(input, how its parameter is made) of each input."""
        inputs = self.multiple_input(input_param_name)
        return zip(inputs, self.multiple_param_attr(len(inputs)))

    def is_instance(self, param_name, cls):
        """Refuse an argument that is not of a class."""
        check_type(self.kwargs.get(param_name), param_name, cls, self.layer_type)

    # ---- variables

    def create_variable_for_type_inference(self, dtype, stop_gradient=False, shape=None):
        """A variable for what an op gives."""
        return self.create_variable(
            name=unique_name.generate(f"{self.name}.tmp"), dtype=dtype, stop_gradient=stop_gradient
        )

    create_tmp_variable = create_variable_for_type_inference  # before 1.2

    def create_variable(self, *args, **kwargs):
        return self.main_program.current_block().create_var(*args, **kwargs)

    def create_global_variable(self, persistable=False, *args, **kwargs):
        kwargs.setdefault("name", unique_name.generate(f"{self.name}.tmp"))
        block = self.main_program.global_block()
        return block.create_var(*args, persistable=persistable, **kwargs)

    def create_or_get_global_variable(self, name, *args, **kwargs):
        """(variable, whether it is new)"""
        block = self.main_program.global_block()
        if block.has_var(name):
            return block.var(name), False
        return self.create_global_variable(*args, name=name, **kwargs), True

    def set_variable_initializer(self, var, initializer):
        """Let the startup program give ``var`` a first value."""
        block = self.startup_program.global_block()
        twin = block.create_var(
            name=var.name, dtype=var.dtype, shape=var.shape, persistable=var.persistable
        )
        initializer(twin, block)
        return var

    def create_parameter(
        self,
        attr,
        shape,
        dtype="float32",
        is_bias=False,
        default_initializer=None,
        stop_gradient=False,
        type=None,
    ):
        """A parameter of this layer; None where ``attr`` is False."""
        if attr is False:
            return None
        attr = core.to_param_attr(attr)
        if not attr.name:
            attr.name = unique_name.generate(f"{self.name}.{'b' if is_bias else 'w'}")
        made = core.create_parameter(list(shape), dtype, attr, is_bias, default_initializer)
        made.stop_gradient = stop_gradient
        return made

    def get_parameter(self, name):
        return self.main_program.global_block().var(name)

    def to_variable(self, x):
        return x if isinstance(x, Variable) else self.main_program.current_block().var(x)

    # ---- ops

    def append_op(self, *args, **kwargs):
        return self.main_program.current_block().append_op(*args, **kwargs)

    def append_bias_op(self, input_var, dim_start=1, dim_end=None):
        """``input_var`` plus a parameter of the sizes of its axes from ``dim_start`` on."""
        if self.kwargs.get("bias_attr") is False:
            return input_var
        shape = list(input_var.shape[dim_start:dim_end])
        bias = self.create_parameter(self.kwargs.get("bias_attr"), shape, input_var.dtype, True)
        out = self.create_variable_for_type_inference(input_var.dtype)
        self.append_op(
            type="elementwise_add",
            inputs={"X": [input_var], "Y": [bias]},
            outputs={"Out": [out]},
            attrs={"axis": dim_start},
        )
        return out

    def append_activation(self, input_var):
        """The activation that the layer's ``act`` names, if it names one."""
        act = self.kwargs.get("act")
        if act is None:
            return input_var
        act = dict(act) if isinstance(act, dict) else {"type": act}
        out = self.create_variable_for_type_inference(input_var.dtype)
        self.append_op(
            type=act.pop("type"), inputs={"X": [input_var]}, outputs={"Out": [out]}, attrs=act
        )
        return out
