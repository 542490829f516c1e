"""Recurrent layers over sequences, in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of

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
    activations = (gate_activation, cell_activation, candidate_activation)
    state, attrs = (h_0, c_0), (param_attr, bias_attr)
    return core.dynamic_lstm(
        *(input, size, *state, *attrs, use_peepholes, is_reverse, *activations, dtype, name)
    )


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
    activations = (gate_activation, candidate_activation)
    return core.dynamic_gru(
        *(input, size, param_attr, bias_attr, is_reverse, *activations, h_0, origin_mode)
    )


def lstm_unit(
    x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None, name=None
):
    """(hidden, cell) after one step of long short-term memory."""
    state = (hidden_t_prev, cell_t_prev)
    return core.lstm_unit(x_t, *state, forget_bias, param_attr, bias_attr, name)


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
    attrs, activations = (param_attr, bias_attr), (activation, gate_activation)
    return core.gru_unit(input, hidden, size, *attrs, *activations, origin_mode)


__getattr__, __dir__ = names_of(__name__)
