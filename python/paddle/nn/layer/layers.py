"""The base of layers: parameters and layers inside, by name."""

import collections
import re

import _flotilla as core
from paddle.base.dtype import dtype as DType
from paddle.base.framework import Parameter

__all__ = ["Layer"]


def _snake(word):
    """BatchNorm2D becomes batch_norm2d, as names of parameters begin."""
    word = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", word)
    return re.sub("([a-z])([A-Z])", r"\1_\2", word).lower()


class _Hook:
    """What registering a hook gives: ``remove()`` takes it back."""

    _count = 0

    def __init__(self, hooks, hook):
        _Hook._count += 1
        self._hooks, self._key = hooks, _Hook._count
        hooks[self._key] = hook

    def remove(self):
        """Do not call the hook any more."""
        self._hooks.pop(self._key, None)


class Layer:
    """A function of variables with parameters: write ``__init__`` and ``forward``.

    Making it adds its parameters to the current programs, calling it appends ops.

    >>> class Net(nn.Layer):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.top = nn.Linear(4, 1)
    ...     def forward(self, x):
    ...         return self.top(x)
    """

    def __init__(self, name_scope=None, dtype="float32"):
        self.training = True
        self._full_name = core.unique_name(name_scope or _snake(type(self).__name__))
        self._dtype = dtype
        self._parameters, self._sub_layers, self._buffers = {}, {}, {}
        self._unsaved_buffers = set()
        self._before_hooks, self._after_hooks = {}, {}

    def forward(self, *inputs, **kwargs):
        """What the layer computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *inputs, **kwargs):
        for hook in list(self._before_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in list(self._after_hooks.values()):
            changed = hook(self, inputs, outputs)
            outputs = outputs if changed is None else changed
        return outputs

    def register_forward_pre_hook(self, hook):
        """Call ``hook(layer, inputs)`` before ``forward``; what it returns replaces the inputs."""
        return _Hook(self._before_hooks, hook)

    def register_forward_post_hook(self, hook):
        """Call ``hook(layer, inputs, outputs)`` after ``forward``; its result replaces outputs."""
        return _Hook(self._after_hooks, hook)

    def full_name(self):
        """The unique name that parameters begin with."""
        return self._full_name

    def train(self):
        """Layers made differently for training, such as dropout, train from now on."""
        return self._set_training(True)

    def eval(self):
        """Layers made differently for training, such as dropout, do not train from now on."""
        return self._set_training(False)

    def _set_training(self, training):
        for layer in self.sublayers(include_self=True):
            layer.training = training
        return self

    def apply(self, fn):
        """Call ``fn`` on every layer inside, then on this one."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    # ---- what is inside

    def create_parameter(
        self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None
    ):
        """A parameter named after the layer; None where ``attr`` is False."""
        dtype = dtype or self._dtype
        return core.create_parameter(
            shape, dtype, attr, is_bias, default_initializer, self._full_name
        )

    def create_variable(self, name=None, persistable=None, dtype=None):
        """A variable named after the layer."""
        name = core.unique_name(".".join([self._full_name, name or "_generated_var"]))
        block = core.main_program().current_block()
        return block.create_var(
            name=name, persistable=bool(persistable), dtype=DType(dtype or self._dtype)
        )

    create_tensor = create_variable

    def add_parameter(self, name, parameter):
        """Hold a parameter under a name; returns it."""
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"a parameter is expected, but {parameter!r} was given")
        self._parameters[_checked(name)] = parameter
        return parameter

    def add_sublayer(self, name, sublayer):
        """Hold a layer under a name; returns it."""
        if not isinstance(sublayer, Layer):
            raise TypeError(f"a layer is expected, but {sublayer!r} was given")
        self._sub_layers[_checked(name)] = sublayer
        return sublayer

    def register_buffer(self, name, tensor, persistable=True):
        """Hold a variable that is no parameter; ``persistable``: part of the state."""
        self._buffers[_checked(name)] = tensor
        if not persistable:
            self._unsaved_buffers.add(name)

    def __setattr__(self, name, value):
        held = self.__dict__
        kinds = (("_parameters", Parameter), ("_sub_layers", Layer))
        place = next((place for place, kind in kinds if isinstance(value, kind)), None)
        if place is None and name in held.get("_buffers", ()):
            place = "_buffers"
        if place is not None and place not in held:
            raise RuntimeError(f"{type(self).__name__}.__init__ must call super().__init__() first")
        for other in ("_parameters", "_sub_layers", "_buffers"):
            if other != place:
                held.get(other, {}).pop(name, None)
        if place is None:
            object.__setattr__(self, name, value)
        else:
            held.pop(name, None)
            held[place][name] = value

    def __getattr__(self, name):
        for place in ("_parameters", "_sub_layers", "_buffers"):
            if name in self.__dict__.get(place, ()):
                return self.__dict__[place][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name):
        for place in ("_parameters", "_sub_layers", "_buffers"):
            if name in self.__dict__[place]:
                del self.__dict__[place][name]
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return [*super().__dir__(), *self._parameters, *self._sub_layers, *self._buffers]

    def named_children(self):
        """(name, layer) of the layers directly inside."""
        return ((name, layer) for name, layer in self._sub_layers.items() if layer is not None)

    def children(self):
        """The layers directly inside."""
        return (layer for _, layer in self.named_children())

    def named_sublayers(self, prefix="", include_self=False, layers_set=None):
        """(path, layer) of all layers inside, each once."""
        seen = set() if layers_set is None else layers_set
        if self in seen:
            return
        seen.add(self)
        if include_self:
            yield prefix, self
        for name, layer in self.named_children():
            path = f"{prefix}.{name}" if prefix else name
            yield from layer.named_sublayers(path, True, seen)

    def sublayers(self, include_self=False):
        """All layers inside."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def _named(self, place, prefix, include_sublayers, only_saved=False):
        """(path, variable) of one kind, each variable once."""
        seen = set()
        layers = self.named_sublayers(prefix, True) if include_sublayers else [(prefix, self)]
        for path, layer in layers:
            left_out = layer._unsaved_buffers if only_saved else ()
            for name, var in layer.__dict__[place].items():
                if var is not None and var.name not in seen and name not in left_out:
                    seen.add(var.name)
                    yield f"{path}.{name}" if path else name, var

    def named_parameters(self, prefix="", include_sublayers=True):
        """(path, parameter) of all parameters inside, each once."""
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers=True):
        """All parameters inside."""
        return [var for _, var in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix="", include_sublayers=True):
        """(path, variable) of all buffers inside, each once."""
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers=True):
        """All buffers inside."""
        return [var for _, var in self.named_buffers(include_sublayers=include_sublayers)]

    def clear_gradients(self):
        """Nothing to do: each run computes gradients anew."""

    # ---- values

    def _named_state(self, include_sublayers=True):
        yield from self.named_parameters(include_sublayers=include_sublayers)
        yield from self._named("_buffers", "", include_sublayers, only_saved=True)

    def state_dict(
        self, destination=None, include_sublayers=True, structured_name_prefix="", use_hook=True
    ):
        """The tensors of parameters and buffers in the global scope, by path."""
        state = collections.OrderedDict() if destination is None else destination
        for path, var in self._named_state(include_sublayers):
            state[structured_name_prefix + path] = var.get_value()
        return state

    def set_state_dict(self, state_dict, use_structured_name=True):
        """Give parameters and buffers in the global scope their values in a dict.

        Keys are paths, or with ``use_structured_name=False`` names of parameters. Returns (paths
        without a value, keys that were not used).
        """
        missing, used = [], set()
        for path, var in self._named_state():
            key = path if use_structured_name else var.name
            if key in state_dict:
                var.set_value(state_dict[key])
                used.add(key)
            else:
                missing.append(path)
        return missing, [key for key in state_dict if key not in used]

    set_dict = load_dict = set_state_dict

    def extra_repr(self):
        """What the layer's text says of itself."""
        return ""

    def __repr__(self):
        head = f"{type(self).__name__}({self.extra_repr()}"
        lines = [f"({name}): {layer!r}" for name, layer in self.named_children()]
        inside = "".join("\n  " + line.replace("\n", "\n  ") for line in lines)
        return head + inside + ("\n)" if lines else ")")


def _checked(name):
    if not isinstance(name, str) or not name or "." in name:
        raise ValueError(f"a name without dots is expected, but {name!r} was given")
    return name
