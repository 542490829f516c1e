"""Tables of parameter servers in the words of pslib: ``{"emb": {"sparse_embedx_dim": 8}}``.

The words become the options of a table as ``DistributedStrategy.sparse_table_configs`` has them.
"""

from paddle._names import did_you_mean

_ACCESSORS = {
    "DownpourSparseValueAccessor": "CtrCommonAccessor",
    "DownpourCtrAccessor": "CtrCommonAccessor",
    "DownpourCtrDoubleAccessor": "CtrDoubleAccessor",
    "DownpourUnitAccessor": "CtrCommonAccessor",
    "DownpourDoubleUnitAccessor": "CtrDoubleAccessor",
    "DownpourCtrDymfAccessor": "CtrDymfAccessor",
}
_TABLES = {
    "DownpourSparseTable": "MemorySparseTable",
    "DownpourSparseSSDTable": "SSDSparseTable",
}
# Accessors of which both parts of a row follow one rule.
_ONE_RULE = ("DownpourCtrAccessor", "DownpourCtrDoubleAccessor")

# A rule: its name on the server, its options there, and their defaults.
_ADAGRAD = {"learning_rate": 0.05, "initial_range": 1e-4, "initial_g2sum": 3}
_ADAM = {
    "learning_rate": 0.001,
    "initial_range": 1e-4,
    "beta1_decay_rate": 0.9,
    "beta2_decay_rate": 0.999,
    "ada_epsilon": 1e-8,
}
_RULES = {
    "naive": ("SparseNaiveSGDRule", "naive", {"learning_rate": 0.05, "initial_range": 1e-4}),
    "adagrad": ("SparseAdaGradSGDRule", "adagrad", _ADAGRAD),
    "adagrad_v2": ("SparseAdaGradV2SGDRule", "adagrad", _ADAGRAD),
    "std_adagrad": ("StdAdaGradSGDRule", "adagrad", _ADAGRAD),
    "adam": ("SparseAdamSGDRule", "adam", _ADAM),
    "shared_adam": ("SparseSharedAdamSGDRule", "adam", _ADAM),
}
_CLICKS = {
    "nonclk_coeff": 0.1,
    "click_coeff": 1,
    "base_threshold": 1.5,
    "delta_threshold": 0.25,
    "delta_keep_days": 16,
    "show_click_decay_rate": 0.98,
    "delete_threshold": 0.8,
    "delete_after_unseen_days": 30,
    "ssd_unseenday_threshold": 1,
    "load_filter_slots": (),
    "save_filter_slots": (),
}
_WORDS = {
    *(f"sparse_{name}" for name in _CLICKS),
    *("sparse_table_class", "sparse_accessor_class", "sparse_shard_num", "sparse_fea_dim"),
    *("sparse_compress_in_save", "sparse_embedx_dim", "sparse_embedx_threshold"),
    *("sparse_enable_cache", "sparse_cache_rate", "sparse_cache_file_num"),
    *("sparse_converter", "sparse_deconverter", "feature_learning_rate", "nodeid_slot"),
    *(
        f"{prefix}sparse_{name}"
        for prefix in ("", "embed_", "embedx_")
        for name in ("optimizer", "weight_bounds", *_ADAGRAD, *_ADAM)
    ),
}


def tables_of(configs):
    """The options of every sparse table that ``configs`` describes."""
    return [
        {"table_name": name, **_table(name, words, configs.get("use_cvm", True))}
        for name, words in configs.items()
        if name not in ("dense_table", "datanorm_table") and isinstance(words, dict)
    ]


def _table(name, words, use_cvm):
    for word in words:
        if word not in _WORDS:
            hint = did_you_mean(word, sorted(_WORDS), '"{}"')
            raise ValueError(f'"{word}" is not an option of the table {name}.{hint}')
    accessor = words.get("sparse_accessor_class", "DownpourCtrAccessor")
    both = accessor in _ONE_RULE
    converter = {
        "converter": words.get("sparse_converter", ""),
        "deconverter": words.get("sparse_deconverter", ""),
    }
    width = words.get("sparse_embedx_dim", 8)
    clicks = {one: words.get(f"sparse_{one}", value) for one, value in _CLICKS.items()}
    kind = _one_of(_ACCESSORS, accessor, "sparse_accessor_class")
    return {
        "table_class": _one_of(
            _TABLES, words.get("sparse_table_class", "DownpourSparseTable"), "sparse_table_class"
        ),
        "shard_num": words.get("sparse_shard_num", 1000),
        "enable_sparse_table_cache": words.get("sparse_enable_cache", True),
        "sparse_table_cache_rate": words.get("sparse_cache_rate", 0.00055),
        "sparse_table_cache_file_num": words.get("sparse_cache_file_num", 16),
        "accessor": {
            "accessor_class": kind if use_cvm else "SparseAccessor",
            "embedx_dim": width,
            "fea_dim": width + 3,
            "embedx_threshold": words.get("sparse_embedx_threshold", 10),
            "ctr_accessor_param": {**clicks, "show_scale": accessor != "DownpourUnitAccessor"},
            "table_accessor_save_param": [{"param": 1, **converter}, {"param": 2, **converter}],
            "embed_sgd_param": _rule(words, "" if both else "embed_"),
            "embedx_sgd_param": _rule(words, "" if both else "embedx_"),
            "graph_sgd_param": {
                "feature_learning_rate": words.get("feature_learning_rate", 0.05),
                "nodeid_slot": words.get("nodeid_slot", 9008),
            },
        },
    }


def _rule(words, prefix):
    chosen = words.get(f"{prefix}sparse_optimizer", "adagrad")
    name, group, defaults = _one_of(_RULES, chosen, f"{prefix}sparse_optimizer")
    options = {one: words.get(f"{prefix}sparse_{one}", value) for one, value in defaults.items()}
    if prefix == "embed_" and group == "adagrad":
        options["initial_range"] = 0
    options["weight_bounds"] = words.get(f"{prefix}sparse_weight_bounds", [-10, 10])
    return {"name": name, group: options}


def _one_of(known, word, what):
    if word not in known:
        raise ValueError(f"{what} must be one of {', '.join(known)}, but is {word!r}")
    return known[word]
