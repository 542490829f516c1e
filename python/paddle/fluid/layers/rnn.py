"""Recurrent layers over sequences, in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import several, writes_v1
from paddle.static.nn.common import fc
from paddle.tensor.linalg import matmul
from paddle.tensor.manipulation import concat, reshape, split

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
    into, forget, out, candidate = split(made, 4, axis=1)
    kept = cell_t_prev * _act("sigmoid", forget + float(forget_bias))
    cell = kept + _act("sigmoid", into) * _act("tanh", candidate)
    return _act("sigmoid", out) * _act("tanh", cell), cell


@writes_v1
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
    layer, width = core.unique_name("gru_unit"), size // 3
    weight = core.create_parameter([width, 3 * width], input.dtype, param_attr, layer=layer)
    if bias_attr is not False:
        words = {"is_bias": True, "layer": layer}
        bias = core.create_parameter([1, 3 * width], input.dtype, bias_attr, **words)
        input = input + reshape(bias, [3 * width])
    # The numbers of the two gates come first, then those of the candidate.
    parts = split(reshape(weight, [-1]), [2 * width * width, width * width])
    gates, candidate = split(input, [2 * width, width], axis=1)
    gates = _act(gate_activation, gates + matmul(hidden, reshape(parts[0], [width, 2 * width])))
    update, reset = split(gates, 2, axis=1)
    left = reset * hidden
    candidate = _act(activation, candidate + matmul(left, reshape(parts[1], [width, width])))
    old, new = (hidden, candidate) if origin_mode else (candidate, hidden)
    return update * old + (1.0 - update) * new, left, concat([gates, candidate], axis=1)


def _act(name, x):
    return x if name == "identity" else core.op(name, {"X": x})


__getattr__, __dir__ = names_of(__name__)
