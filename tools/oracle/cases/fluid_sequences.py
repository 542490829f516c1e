"""Cases that 1.8.5 answers: sequences, and layers of click and word models."""

from cases.dsl import case, full, integers, positive, sequences, uniform, values

LENGTHS = [2, 0, 3]


def cases():
    yield from click_models()
    yield from word_models()
    yield from recurrent()
    yield from units()
    yield from rows()
    yield from other_sequences()
    yield from tags()
    yield from other_layers()


def tags():
    emission = sequences(uniform(6, 3), [1, 3, 2])
    labels = sequences(values([0, 2, 1, 1, 0, 2], 6, 1, dtype="int64"), [1, 3, 2])
    chain = {"Emission": emission, "Transition": uniform(5, 3), "Label": labels}
    outs = "LogLikelihood -Alpha -EmissionExps -TransitionExps"
    yield case("linear_chain_crf", chain, outs, grad="Emission Transition")
    padded = {
        "Emission": uniform(2, 3, 3),
        "Transition": uniform(5, 3),
        "Label": values([0, 2, 1, 1, 0, 0], 2, 3, dtype="int64"),
        "Length": values([3, 2], 2, 1, dtype="int64"),
    }
    yield case("linear_chain_crf.padded", padded, outs, grad="Emission Transition")
    whole = {"ViterbiPath": "int64"}
    found = {key: chain[key] for key in ("Emission", "Transition")}
    yield case("crf_decoding", found, "ViterbiPath", dtypes=whole)
    yield case("crf_decoding.label", chain, "ViterbiPath", dtypes=whole)
    yield case(
        "crf_decoding.padded",
        {key: padded[key] for key in ("Emission", "Transition", "Length")},
        "ViterbiPath",
        dtypes=whole,
    )
    counts = ["NumInferChunks", "NumLabelChunks", "NumCorrectChunks"]
    for scheme, kinds in (("plain", 1), ("IOB", 2), ("IOE", 2), ("IOBES", 4)):
        for name, excluded in (("", []), (".excluded", [1])):
            inputs = {
                slot: sequences(integers(40, 1, high=3 * kinds + 1), [10, 5, 25])
                for slot in ("Inference", "Label")
            }
            yield case(
                f"chunk_eval.{scheme}{name}",
                inputs,
                "Precision Recall F1-Score " + " ".join(counts),
                {"num_chunk_types": 3, "chunk_scheme": scheme, "excluded_chunk_types": excluded},
                dtypes=dict.fromkeys(counts, "int64"),
            )
    words = {
        "Hyps": sequences(integers(9, 1, high=3), [4, 5]),
        "Refs": sequences(integers(7, 1, high=3), [6, 1]),
    }
    for name, normalized in (("", False), (".normalized", True)):
        yield case(
            "edit_distance" + name,
            words,
            "Out SequenceNum",
            {"normalized": normalized},
            dtypes={"SequenceNum": "int64"},
        )


def other_layers():
    clicks = {"X": uniform(6, 1, low=-3, high=3), "Label": values([-2, -1, 0.2, 0.9, 1.3, 1], 6, 1)}
    yield case("teacher_student_sigmoid_loss", clicks, "Y", grad="X")
    far = {"X": values([-20, 20, 14, -14], 4, 1), "Label": values([0.5, -1, 1.5, -2], 4, 1)}
    yield case("teacher_student_sigmoid_loss.far", far, "Y", grad="X")
    for width in (1, 3, 8, 9):
        yield case(
            f"hash.{width}",
            {"X": sequences(integers(4, width, high=10**9), [1, 3])},
            "Out",
            {"num_hash": 3, "mod_by": 10**7},
            dtypes={"Out": "int64"},
        )
    bilinear = {"X": uniform(3, 2), "Y": uniform(3, 4), "Weight": uniform(5, 2, 4)}
    yield case("bilinear_tensor_product", bilinear, grad="X Y Weight")
    biased = {**bilinear, "Bias": uniform(1, 5)}
    yield case("bilinear_tensor_product.bias", biased, grad="X Y Weight Bias")
    chosen = {
        "Ids": values([1, 0, 1], 3, 1, dtype="int32"),
        "X": [uniform(3, 4), uniform(3, 4)],
    }
    yield case("multiplex", chosen, grad="X")
    ahead = {"X": sequences(uniform(6, 3), [2, 4]), "Filter": uniform(3, 3)}
    yield case("row_conv", ahead, grad="X Filter", lods="Out")
    images = {"X": uniform(2, 7, 2, 3, low=-3, high=3)}
    attrs = {"n": 5, "k": 1.0, "alpha": 0.1, "beta": 0.75, "data_format": "NCHW"}
    yield case("lrn", images, "Out MidOut", attrs, grad="X")
    last = {"X": uniform(2, 2, 3, 7)}
    attrs = {**attrs, "n": 3, "data_format": "NHWC"}
    yield case("lrn.last", last, "Out MidOut", attrs, grad="X")
    listed = {"X": integers(12, high=5)}
    index = {"Index": "int32", "Out": "int64"}
    yield case("unique", listed, "Out Index", {"dtype": 2}, dtypes=index)
    index["Count"] = "int32"
    yield case("unique_with_counts", listed, "Out Index Count", {"dtype": 2}, dtypes=index)


def click_models():
    shown = values([1, 2, 0, 3, 4, 5, 1, 7, 0, 1, 0, 2], 3, 4)
    summaries = {
        "BatchSize": values([10, 20, 30, 40], 4),
        "BatchSum": values([1, 2, 3, 4], 4),
        "BatchSquareSum": values([5, 6, 7, 8], 4),
    }
    learnt = {"scale_w": uniform(4), "bias": uniform(4)}
    every = "X BatchSize BatchSum BatchSquareSum"
    for name, slot, more in (("", -1, {}), (".slots", 2, {}), (".scaled", 2, learnt)):
        yield case(
            "data_norm" + name,
            {"X": shown, **summaries, **more},
            "Y Means Scales",
            {"epsilon": 1e-3, "slot_dim": slot, "enable_scale_and_shift": bool(more)},
            grad=every + (" scale_w bias" if more else ""),
        )

    tags = sequences(values([1, 2, 3, 1], 4, 1, dtype="int64"), [1, 2, 1])
    instances = sequences(uniform(5, 2), [2, 1, 2])
    for name, wanted in (("", [1]), (".two", [3, 1]), (".none", [7])):
        yield case(
            "filter_by_instag" + name,
            {
                "Ins": instances,
                "Ins_tag": tags,
                "Filter_tag": values(wanted, len(wanted), dtype="int64"),
            },
            "Out LossWeight IndexMap",
            {"is_lod": True, "out_val_if_empty": 2},
            dtypes={"IndexMap": "int64"},
            grad="Ins",
            lods="Out LossWeight",
        )


def word_models():
    classes, labels = 6, values([1, 4, 0], 3, 1, dtype="int64")
    inputs = {"Input": uniform(3, 4), "Label": labels, "Weight": uniform(classes, 4)}
    bias = {"Bias": uniform(classes, 1)}
    drawn = {"num_total_classes": classes, "num_neg_samples": 3, "custom_neg_classes": [2, 1, 5]}
    slots = "Cost SampleLogits SampleLabels"
    whole = {"SampleLabels": "int64"}
    every = "Input Weight Bias"
    yield case("nce", {**inputs, **bias}, slots, drawn, dtypes=whole, grad=every)
    yield case(
        "nce.log_uniform", inputs, slots, {**drawn, "sampler": 1}, dtypes=whole, grad="Input Weight"
    )
    weighted = {**inputs, **bias, "SampleWeight": positive(3)}
    yield case("nce.weighted", weighted, slots, drawn, dtypes=whole, grad=every)
    likely = [0.1, 0.2, 0.3, 0.1, 0.2, 0.1]
    custom = {
        "CustomDistProbs": values(likely, 6),
        "CustomDistAlias": full(-1, 6, dtype="int32"),
        "CustomDistAliasProbs": full(1, 6),
    }
    yield case(
        "nce.custom",
        {**inputs, **bias, **custom},
        slots,
        {**drawn, "sampler": 2},
        dtypes=whole,
        grad=every,
    )
    yield case(
        "nce.sparse",
        {**inputs, **bias},
        slots,
        {**drawn, "is_sparse": True},
        dtypes=whole,
        grad="Weight",
        sparse={"weight@GRAD": [classes, 4]},
    )
    tree = {"X": uniform(3, 4), "W": uniform(classes - 1, 4), "Label": labels}
    tree_bias = {"Bias": uniform(classes - 1, 1)}
    attrs = {"num_classes": classes}
    yield case(
        "hierarchical_sigmoid", {**tree, **tree_bias}, "Out PreOut -W_Out", attrs, grad="X W Bias"
    )
    paths = {
        "PathTable": values([0, 1, -1, 0, 2, 3, 0, -1, -1], 3, 3, dtype="int64"),
        "PathCode": values([1, 0, -1, 0, 1, 1, 1, -1, -1], 3, 3, dtype="int64"),
    }
    custom = {**tree, **tree_bias, **paths}
    slots = "Out -PreOut -W_Out"
    yield case("hierarchical_sigmoid.paths", custom, slots, attrs, grad="X W Bias")


def units():
    gru = {"Input": uniform(4, 9), "HiddenPrev": uniform(4, 3), "Weight": uniform(3, 9)}
    biased = {**gru, "Bias": uniform(1, 9)}
    outs = "Gate ResetHiddenPrev Hidden"
    for name, inputs, attrs in (
        ("", biased, {"activation": 2, "gate_activation": 1}),
        (".origin", gru, {"activation": 2, "gate_activation": 1, "origin_mode": True}),
        (".relu", biased, {"activation": 3, "gate_activation": 2}),
    ):
        grad = " ".join(inputs)
        yield case("gru_unit" + name, inputs, outs, attrs, grad=grad, seeds="Hidden")
    lstm = {"X": uniform(4, 12), "C_prev": uniform(4, 3)}
    for name, bias in (("", 0.0), (".forgetful", 0.5)):
        attrs = {"forget_bias": bias}
        yield case("lstm_unit" + name, lstm, "C H", attrs, grad="X C_prev", seeds="C H")
    table = {"W": uniform(8, 3), "Ids": sequences(integers(5, 1, high=8), [2, 3])}
    attrs = {"combiner": "sum", "is_sparse": False}
    yield case("fused_embedding_seq_pool", table, attrs=attrs, grad="W")


def recurrent():
    steps = sequences(uniform(6, 12), [1, 3, 2])
    lstm = {"Input": steps, "Weight": uniform(3, 12)}
    slots, intermediate = "Hidden Cell", " -BatchGate -BatchCellPreAct"
    for name, attrs in (
        ("", {"use_peepholes": True}),
        (".reverse", {"use_peepholes": True, "is_reverse": True}),
        (".plain", {"use_peepholes": False}),
        (".relu", {"use_peepholes": True, "cell_activation": "relu", "gate_activation": "tanh"}),
    ):
        bias = uniform(1, 21 if attrs["use_peepholes"] else 12)
        yield case(
            "lstm" + name,
            {**lstm, "Bias": bias},
            slots + intermediate,
            attrs,
            grad="Input Weight Bias",
            seeds="Hidden",  # Paddle lets no gradient through Cell
            lods=slots,
        )
    yield case(
        "lstm.started",
        {**lstm, "Bias": uniform(1, 21), "H0": uniform(3, 3), "C0": uniform(3, 3)},
        slots + intermediate,
        {"use_peepholes": True},
        grad="Input H0 C0 Weight Bias",
        seeds="Hidden",
    )
    gru = {"Input": sequences(uniform(6, 9), [1, 3, 2]), "Weight": uniform(3, 9)}
    outputs = "Hidden -BatchGate -BatchResetHiddenPrev -BatchHidden"
    for name, attrs, more in (
        ("", {}, {"Bias": uniform(1, 9)}),
        (".reverse", {"is_reverse": True}, {}),
        (".origin", {"origin_mode": True}, {"Bias": uniform(1, 9), "H0": uniform(3, 3)}),
        (".relu", {"activation": "relu", "gate_activation": "sigmoid"}, {"H0": uniform(3, 3)}),
    ):
        grad = " ".join(["Input", "Weight", *more])
        yield case(
            "gru" + name, {**gru, **more}, outputs, attrs, grad=grad, seeds="Hidden", lods="Hidden"
        )


def rows():
    x = sequences(uniform(5, 2), LENGTHS)
    pairs = sequences(uniform(4, 2), [1, 3])
    two_levels = sequences(uniform(6, 1), [2, 1], [2, 1, 3])
    expand = {"X": uniform(3, 2), "Y": x}
    yield case("sequence_expand", expand, attrs={"ref_level": -1}, grad="X", lods="Out")
    yield case(
        "sequence_expand.sequences",
        {"X": pairs, "Y": sequences(uniform(5, 1), [3, 2])},
        grad="X",
        lods="Out",
    )
    yield case(
        "sequence_expand.level",
        {"X": pairs, "Y": two_levels},
        attrs={"ref_level": 0},
        grad="X",
        lods="Out",
    )
    whole = sequences(uniform(5, 2), [2, 1, 2])
    yield case("sequence_reverse", {"X": whole}, "Y", grad="X", lods="Y")
    yield case("sequence_expand_as", {"X": uniform(3, 2), "Y": whole}, grad="X", lods="Out")
    cut = {
        "X": whole,
        "Offset": values([1, 0, 0], 3, 1, dtype="int64"),
        "Length": values([1, 1, 2], 3, 1, dtype="int64"),
    }
    yield case("sequence_slice", cut, grad="X", lods="Out")
    numbers = sequences(values([2, 2, 6, 1, 3, 9], 6, 1, dtype="int64"), [2, 1, 3])
    erase = {"tokens": [2, 3]}
    whole_numbers = {"Out": "int64"}
    yield case("sequence_erase", {"X": numbers}, "Out", erase, dtypes=whole_numbers, lods="Out")
    yield case(
        "sequence_enumerate",
        {"X": numbers},
        "Out",
        {"win_size": 2, "pad_value": 7},
        dtypes=whole_numbers,
        lods="Out",
    )
    padded = {"X": uniform(3, 4, 2), "Length": values([2, 4, 1], 3, dtype="int64")}
    yield case("sequence_unpad", padded, grad="X", lods="Out")
    flat = {"X": uniform(3, 4), "Length": values([2, 4, 1], 3, dtype="int64")}
    yield case("sequence_unpad.flat", flat, grad="X", lods="Out")


def other_sequences():
    x = sequences(uniform(5, 2), [2, 1, 2])
    long = {"Length": "int64"}
    for name, pad, length in ((".longest", full(0.5, 1), -1), (".row", uniform(2), 4)):
        yield case(
            "sequence_pad" + name,
            {"X": x, "PadValue": pad},
            "Out Length",
            {"padded_length": length},
            dtypes=long,
            grad="X",
        )
    other = sequences(uniform(4, 2), [1, 2, 1])
    yield case("sequence_concat", {"X": [x, other]}, grad="X", lods="Out")
    wide = sequences(uniform(4, 6), [1, 3])
    yield case("sequence_reshape", {"X": wide}, "Out", {"new_dim": 3}, grad="X", lods="Out")
    scatter = {
        "X": uniform(3, 6),
        "Ids": sequences(integers(5, 1, high=6), [2, 1, 2]),
        "Updates": sequences(uniform(5, 1), [2, 1, 2]),
    }
    yield case("sequence_scatter", scatter, grad="X Updates")
    yield case(
        "lod_reset", {"X": uniform(5, 2)}, "Out", {"target_lod": [0, 2, 5]}, grad="X", lods="Out"
    )
    offsets = values([0, 1, 5], 3, dtype="int32")
    yield case("lod_reset.tensor", {"X": uniform(5, 2), "Y": offsets}, grad="X", lods="Out")
    yield case("lod_reset.other", {"X": uniform(5, 2), "Y": x}, grad="X", lods="Out")
    yield case("sequence_softmax", {"X": sequences(uniform(5, 1), [2, 3])}, grad="X", lods="Out")
    for kind in ("SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"):
        yield case(
            "sequence_pool." + kind.lower(),
            {"X": sequences(uniform(5, 2), LENGTHS)},
            "Out -MaxIndex",
            {"pooltype": kind, "pad_value": 0.25},
            dtypes={"MaxIndex": "int32"},
            grad="X",
            seeds="Out",
        )
    conv = {"contextStart": -1, "contextLength": 3, "contextStride": 1}
    neighbours = {"X": sequences(uniform(5, 2), [2, 3]), "Filter": uniform(6, 3)}
    yield case("sequence_conv", neighbours, "Out", conv, grad="X Filter", lods="Out")
