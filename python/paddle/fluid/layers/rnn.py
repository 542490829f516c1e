"""Recurrent layers over sequences, in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import several
from paddle.static.nn.common import fc
from paddle.tensor.manipulation import concat

__all__ = ["dynamic_gru", "dynamic_lstm", "gru_unit", "lstm_unit"]


def dynamic_lstm(
    input,
    size,
    h_0=None,
    c_0=None,
    param_attr=None,
    bias_attr=None,
    use_peepholes=True,
    is_reverse=False,
    gate_activation="sigmoid",
    cell_activation="tanh",
    candidate_activation="tanh",
    dtype="float32",
    name=None,
):
    """(hidden, cell) of long short-term memory over the sequences of ``input``, [rows, size].

    ``size`` is four times the width of both; ``input`` is what a layer without activation made of
    the steps. ``h_0`` and ``c_0``: what stands before each sequence.
    """
    if bias_attr is False:
        raise ValueError("dynamic_lstm always has a bias: bias_attr must not be False")
    layer, width = name or core.unique_name("lstm"), size // 4
    inputs = {"Input": input, "H0": several(h_0), "C0": several(c_0)}
    inputs["Weight"] = core.create_parameter([width, 4 * width], dtype, param_attr, layer=layer)
    numbers = (7 if use_peepholes else 4) * width
    inputs["Bias"] = core.create_parameter(
        [1, numbers], dtype, bias_attr, is_bias=True, layer=layer
    )
    attrs = {
        "use_peepholes": use_peepholes,
        "is_reverse": is_reverse,
        "gate_activation": gate_activation,
        "cell_activation": cell_activation,
        "candidate_activation": candidate_activation,
    }
    outs = ["Hidden", "Cell", "BatchGate", "BatchCellPreAct"]
    made = core.op("lstm", inputs, attrs, layer=layer, outs=outs)
    return made[0], made[1]


def dynamic_gru(
    input,
    size,
    param_attr=None,
    bias_attr=None,
    is_reverse=False,
    gate_activation="sigmoid",
    candidate_activation="tanh",
    h_0=None,
    origin_mode=False,
):
    """The hidden states of gated recurrent units over the sequences of ``input``, [rows, 3 size].

    ``h_0``: what stands before each sequence. ``origin_mode``: whether the update gate keeps the
    old state, as in the paper, not the candidate.
    """
    layer = core.unique_name("gru")
    inputs = {"Input": input, "H0": several(h_0)}
    inputs["Weight"] = core.create_parameter([size, 3 * size], input.dtype, param_attr, layer=layer)
    bias = core.create_parameter([1, 3 * size], input.dtype, bias_attr, is_bias=True, layer=layer)
    inputs["Bias"] = several(bias)
    attrs = {
        "is_reverse": is_reverse,
        "gate_activation": gate_activation,
        "activation": candidate_activation,
        "origin_mode": origin_mode,
    }
    outs = ["Hidden", "BatchGate", "BatchResetHiddenPrev", "BatchHidden"]
    return core.op("gru", inputs, attrs, layer=layer, outs=outs)[0]


def lstm_unit(
    x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None, name=None
):
    """(hidden, cell) after one step of long short-term memory."""
    width = cell_t_prev.shape[1]
    joined = concat([x_t, hidden_t_prev], axis=1)
    made = fc(joined, 4 * width, weight_attr=param_attr, bias_attr=bias_attr)
    inputs, attrs = {"X": made, "C_prev": cell_t_prev}, {"forget_bias": float(forget_bias)}
    cell, hidden = core.op("lstm_unit", inputs, attrs, name=name, outs=["C", "H"])
    return hidden, cell


_ACTIVATIONS = ("identity", "sigmoid", "tanh", "relu")


def gru_unit(
    input,
    hidden,
    size,
    param_attr=None,
    bias_attr=None,
    activation="tanh",
    gate_activation="sigmoid",
    origin_mode=False,
):
    """(hidden, what the reset gate leaves of the old one, the three gates) after one step of a gated
    recurrent unit; ``size`` is three times its width."""
    for word in (activation, gate_activation):
        if word not in _ACTIVATIONS:
            raise ValueError(f"an activation must be one of {_ACTIVATIONS}, but is {word!r}")
    layer, width = core.unique_name("gru_unit"), size // 3
    weight = core.create_parameter([width, 3 * width], input.dtype, param_attr, layer=layer)
    words = {"is_bias": True, "layer": layer}
    bias = core.create_parameter([1, 3 * width], input.dtype, bias_attr, **words)
    inputs = {"Input": input, "HiddenPrev": hidden, "Weight": weight, "Bias": several(bias)}
    attrs = {"activation": _ACTIVATIONS.index(activation), "origin_mode": origin_mode}
    attrs["gate_activation"] = _ACTIVATIONS.index(gate_activation)
    outs = ["Hidden", "ResetHiddenPrev", "Gate"]
    return tuple(core.op("gru_unit", inputs, attrs, layer=layer, outs=outs))


__getattr__, __dir__ = names_of(__name__)
