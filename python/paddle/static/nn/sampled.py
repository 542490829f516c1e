"""Losses over so many classes that only some of them are looked at."""

import _flotilla as core
import numpy as np
from paddle._words import several
from paddle.base.initializer import NumpyArrayInitializer
from paddle.nn.functional.loss import hsigmoid_loss

SAMPLERS = {"uniform": 0, "log_uniform": 1, "custom_dist": 2}


def nce(
    input,
    label,
    num_total_classes,
    sample_weight=None,
    param_attr=None,
    bias_attr=None,
    num_neg_samples=None,
    name=None,
    sampler="uniform",
    custom_dist=None,
    seed=0,
    is_sparse=False,
):
    """How well samples are told apart from ``num_neg_samples`` classes that ``sampler`` draws:
    ``uniform``, ``log_uniform`` (low numbers are likely) or ``custom_dist``, by the probabilities
    ``custom_dist``. ``seed``: if not 0, each run draws the same classes.
    """
    if sampler not in SAMPLERS:
        raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, but is {sampler!r}")
    layer = name or core.unique_name("nce")
    drawn = 10 if num_neg_samples is None else int(num_neg_samples)
    inputs = _weights("Weight", "Bias", input, num_total_classes, param_attr, bias_attr, layer)
    inputs.update(Input=input, Label=label, SampleWeight=several(sample_weight))
    if sampler == "custom_dist":
        inputs.update(_custom(custom_dist, num_total_classes, layer))
    attrs = {
        "num_total_classes": int(num_total_classes),
        "num_neg_samples": drawn,
        "seed": seed,
        "sampler": SAMPLERS[sampler],
        "is_sparse": is_sparse,
        "remote_prefetch": is_sparse,
    }
    outs = ["Cost", "SampleLogits", "SampleLabels"]
    cost = core.op("nce", inputs, attrs, layer=layer, outs=outs)[0]
    return cost / (drawn + 1)


def hsigmoid(
    input,
    label,
    num_classes,
    param_attr=None,
    bias_attr=None,
    name=None,
    path_table=None,
    path_code=None,
    is_custom=False,
    is_sparse=False,
):
    """The cost of the turns on the way to a label in a binary tree of classes.

    With ``is_custom`` the way is ``path_table``, the inner nodes from the root on, and
    ``path_code``, the turns there; both end with -1.
    """
    missing = [path is None for path in (path_table, path_code)]
    if is_custom and any(missing):
        raise ValueError("is_custom=True needs path_table and path_code")
    if not is_custom and not all(missing):
        raise ValueError("path_table and path_code need is_custom=True")
    layer = name or core.unique_name("hierarchical_sigmoid")
    nodes = num_classes if is_custom else num_classes - 1
    learnt = _weights("weight", "bias", input, nodes, param_attr, bias_attr, layer)
    sparse = bool(is_sparse and is_custom)  # the complete tree has few nodes
    paths = {"path_table": path_table, "path_code": path_code}
    return hsigmoid_loss(input, label, num_classes, **learnt, **paths, is_sparse=sparse)


def sampled_softmax_with_cross_entropy(
    logits,
    label,
    num_samples,
    num_true=1,
    remove_accidental_hits=True,
    use_customized_samples=False,
    customized_samples=None,
    customized_probabilities=None,
    seed=0,
):
    """The cross entropy of a softmax over the labels and ``num_samples`` classes that are drawn, low
    numbers more often, or given."""
    inputs = {"Logits": logits, "Labels": label}
    if use_customized_samples:
        inputs["CustomizedSamples"] = customized_samples
        inputs["CustomizedProbabilities"] = customized_probabilities
    attrs = {
        "use_customized_samples": use_customized_samples,
        "uniq": True,
        "remove_accidental_hits": remove_accidental_hits,
        "num_samples": num_samples,
        "seed": seed,
    }
    outs = ["SampledLogits", "SampledLabels", "Samples", "Probabilities", "LogitsDim", "LabelsDim"]
    sampled, places, *_ = core.op("sample_logits", inputs, attrs, outs=outs)
    soft = core.op("one_hot", {"X": places}, {"depth": num_samples + 1})
    attrs = {"soft_label": True, "ignore_index": 0, "numeric_stable_mode": False}
    inputs, outs = {"Logits": sampled, "Label": soft}, ["Softmax", "Loss"]
    loss = core.op("softmax_with_cross_entropy", inputs, attrs, outs=outs)[1]
    return loss / num_true


def _weights(weight, bias, input, rows, param_attr, bias_attr, layer):
    """A row for each class, and a number unless ``bias_attr`` is False, under these names."""
    shape, words = [rows, input.shape[1]], {"is_bias": True, "layer": layer}
    found = {weight: core.create_parameter(shape, input.dtype, param_attr, layer=layer)}
    if bias_attr is not False:
        found[bias] = core.create_parameter([rows, 1], input.dtype, bias_attr, **words)
    return found


def _custom(probabilities, classes, layer):
    """The tables that classes are drawn with, as parameters that are not learnt."""
    if probabilities is None or len(probabilities) != classes:
        raise ValueError(f"sampler='custom_dist' needs custom_dist, {classes} probabilities")
    aliases, levels = alias_table(probabilities)
    tables = {
        "CustomDistProbs": np.array(probabilities, "float32"),
        "CustomDistAlias": np.array(aliases, "int32"),
        "CustomDistAliasProbs": np.array(levels, "float32"),
    }
    found = {}
    for slot, values in tables.items():
        first = NumpyArrayInitializer(values)
        made = core.create_parameter([classes], values.dtype, initializer=first, layer=layer)
        made.stop_gradient = True
        found[slot] = made
    return found


def alias_table(probabilities):
    """(aliases, levels): a class drawn evenly is kept below its level, and is its alias above
    (Walker, 1977). An alias of -1: always kept."""
    count = len(probabilities)
    left = [probability * count for probability in probabilities]
    aliases, levels = [-1] * count, [1.0] * count
    low = [i for i in range(count) if left[i] < 1]
    high = [i for i in range(count) if left[i] > 1]
    while low and high:
        small, large = low.pop(), high[-1]
        aliases[small], levels[small] = large, left[small]
        left[large] -= 1 - left[small]
        if left[large] <= 1:
            high.pop()
            if left[large] < 1:
                low.append(large)
    return aliases, levels
