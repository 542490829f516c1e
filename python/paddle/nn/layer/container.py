"""Layers that hold others."""

from .layers import Layer

__all__ = ["LayerDict", "LayerList", "ParameterList", "Sequential"]


class _Listed(Layer):
    """Layers in order, by their number or their name."""

    def _key(self, place):
        """The name of the n-th layer, or the name itself."""
        if isinstance(place, str):
            return place
        names = list(self._sub_layers)
        if not -len(names) <= place < len(names):
            raise IndexError(f"there are {len(names)} layers, but number {place} was asked for")
        return names[place]

    def __getitem__(self, place):
        if isinstance(place, slice):
            return type(self)(list(self)[place])
        return self._sub_layers[self._key(place)]

    def __setitem__(self, place, layer):
        self.add_sublayer(self._key(place), layer)

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(list(self._sub_layers.values()))


class Sequential(_Listed):
    """Layers one after another: layers, or pairs of a name and a layer.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    """

    def __init__(self, *layers):
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)):
            layers = layers[0]
        for i, layer in enumerate(layers):
            name, layer = layer if isinstance(layer, tuple) else (str(i), layer)
            self.add_sublayer(name, layer)

    def forward(self, input):
        """The layers one after another."""
        for layer in self:
            input = layer(input)
        return input

    def __delitem__(self, name):
        del self._sub_layers[self._key(name)]


class LayerList(_Listed):
    """A list of layers."""

    def __init__(self, sublayers=None):
        super().__init__()
        self.extend(sublayers or [])

    def append(self, sublayer):
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def extend(self, sublayers):
        """Add layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index, sublayer):
        """Add a layer before another."""
        layers = list(self)
        layers.insert(index, sublayer)
        self._renew(layers)

    def _renew(self, layers):
        self._sub_layers.clear()
        self.extend(layers)

    def __delitem__(self, place):
        layers = list(self)
        del layers[place]
        self._renew(layers)


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        for parameter in parameters or []:
            self.append(parameter)

    def append(self, parameter):
        """Add a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self

    def __getitem__(self, place):
        return list(self._parameters.values())[place]

    def __setitem__(self, place, parameter):
        self.add_parameter(list(self._parameters)[place], parameter)

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(list(self._parameters.values()))


class LayerDict(Layer):
    """A dict of layers."""

    def __init__(self, sublayers=None):
        super().__init__()
        self.update(sublayers or {})

    def update(self, sublayers):
        """Take in the layers of a dict, or pairs of names and layers."""
        pairs = sublayers.items() if hasattr(sublayers, "items") else sublayers
        for name, layer in pairs:
            self.add_sublayer(name, layer)

    def keys(self):
        """The names."""
        return self._sub_layers.keys()

    def values(self):
        """The layers."""
        return self._sub_layers.values()

    def items(self):
        """Names and layers."""
        return self._sub_layers.items()

    def pop(self, key):
        """Take out a layer."""
        return self._sub_layers.pop(key)

    def clear(self):
        """Take out all layers."""
        self._sub_layers.clear()

    def __getitem__(self, key):
        return self._sub_layers[key]

    def __setitem__(self, key, layer):
        self.add_sublayer(key, layer)

    def __delitem__(self, key):
        del self._sub_layers[key]

    def __contains__(self, key):
        return key in self._sub_layers

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers)
