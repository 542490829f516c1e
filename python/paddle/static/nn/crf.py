"""Chains of tags."""

import _flotilla as core
from paddle._words import several


def linear_chain_crf(input, label, param_attr=None, length=None):
    """The cost of the tags ``label`` of each chain, minus the logarithm of their probability.

    ``input`` holds a score for each tag of each step: rows of sequences, or padded rows [chains,
    steps, tags] with ``length``. The scores of tags behind others are learnt.
    """
    layer = core.unique_name("linear_chain_crf")
    tags = input.shape[-1]
    learnt = core.create_parameter([tags + 2, tags], input.dtype, param_attr, layer=layer)
    inputs = {"Emission": input, "Transition": learnt, "Label": label, "Length": several(length)}
    outs = ["LogLikelihood", "Alpha", "EmissionExps", "TransitionExps"]
    return core.op("linear_chain_crf", inputs, layer=layer, outs=outs)[0]


def crf_decoding(input, param_attr, label=None, length=None):
    """The best tags of each chain, with the scores that ``linear_chain_crf`` learnt under the name
    of ``param_attr``; with ``label``, 1 where they agree with it and 0 elsewhere."""
    learnt = core.main_program().global_block().var(core.to_param_attr(param_attr).name)
    inputs = {"Emission": input, "Transition": learnt}
    inputs.update(Label=several(label), Length=several(length))
    return core.op("crf_decoding", inputs, stop_gradient=True)
