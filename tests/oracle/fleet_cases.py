"""What is asked of real Paddle's fleet and of ours: strategies, samplers, shards, signatures."""

# Settings in the order in which they are made; after them the strategy is printed and saved.
STRATEGIES = {
    "untouched": [],
    "async": [("a_sync", True)],
    "sync": [("a_sync", False)],
    "geo": [("a_sync", True), ("a_sync_configs", {"k_steps": 100})],
    "amp": [
        ("amp", True),
        (
            "amp_configs",
            {
                "init_loss_scaling": 1024,
                "decr_ratio": 0.5,
                "use_dynamic_loss_scaling": False,
                "custom_white_list": ["softmax", "mul"],
                "custom_black_list": ["tanh"],
            },
        ),
        ("recompute", True),
        ("recompute_configs", {"checkpoints": ["res2a.add.output.5.tmp_0"]}),
    ],
    "merge": [
        ("gradient_merge", True),
        ("gradient_merge_configs", {"k_steps": 4, "avg": True}),
        ("lamb", True),
        ("lamb_configs", {"lamb_weight_decay": 0.02, "exclude_from_weight_decay": ["bn", ".b_0"]}),
        ("lars", True),
        ("lars_configs", {"lars_coeff": 0.01, "epsilon": 1e-6}),
    ],
    "dgc": [
        ("dgc", True),
        ("dgc_configs", {"rampup_begin_step": 1252, "rampup_step": 2, "sparsity": [0.75, 0.999]}),
        ("localsgd", True),
        ("adaptive_localsgd", True),
        ("adaptive_localsgd_configs", {"init_k_steps": 1, "begin_step": 30}),
    ],
    "sharding": [
        ("sharding", True),
        (
            "sharding_configs",
            {
                "sharding_segment_strategy": "segment_broadcast_MB",
                "segment_broadcast_MB": 32,
                "sharding_degree": 2,
                "dp_degree": 2,
            },
        ),
        ("pipeline", True),
        ("pipeline_configs", {"micro_batch_size": 12}),
        ("tensor_parallel", True),
        ("hybrid_configs", {"dp_degree": 2, "mp_degree": 4}),
    ],
    "communication": [
        ("use_hierarchical_allreduce", True),
        ("hierarchical_allreduce_inter_nranks", 8),
        ("nccl_comm_num", 2),
        ("sync_nccl_allreduce", False),
        ("fuse_grad_size_in_MB", 16),
        ("_fuse_grad_size_in_TFLOPS", 0.1),
        ("fuse_all_reduce_ops", False),
        ("last_comm_group_size_MB", 0.5),
        ("fp16_allreduce", True),
        ("conv_workspace_size_limit", 4000),
        ("cudnn_exhaustive_search", True),
    ],
    "files": [
        ("trainer_desc_configs", {"dump_fields_path": "out", "dump_fields": ["a", "b"]}),
        ("fs_client_param", {"uri": "hdfs://host", "user": "me"}),
        ("gradient_scale_configs", {"scale_strategy": "sum"}),
    ],
}

STRATEGIES["tables"] = [
    (
        "fleet_desc_configs",
        {
            "emb": {"sparse_embedx_dim": 10, "sparse_optimizer": "adam", "sparse_click_coeff": 2},
            "ssd": {
                "sparse_table_class": "DownpourSparseSSDTable",
                "sparse_accessor_class": "DownpourUnitAccessor",
                "embed_sparse_optimizer": "naive",
                "embedx_sparse_optimizer": "std_adagrad",
                "embedx_sparse_weight_bounds": [-1, 1],
                "sparse_load_filter_slots": [1.0, 2.0],
            },
            "dense_table": {},
        },
    ),
    ("fleet_desc_configs", {"use_cvm": False, "third": {"embed_sparse_optimizer": "adam"}}),
    (
        "sparse_table_configs",
        {
            "fourth": {
                "table_parameters.fourth.shard_num": 7,
                "table_parameters.fourth.accessor.embedx_dim": 4,
                "table_parameters.fourth.accessor.embed_sgd_param.adagrad.learning_rate": 0.1,
            }
        },
    ),
]

# (samples, ranks, batch, shuffle, drop_last)
SAMPLERS = [
    (10, 2, 3, False, False),
    (10, 2, 3, True, True),
    (7, 1, 2, True, False),
    (17, 4, 3, True, False),
    (3, 5, 2, False, False),
    (1, 3, 4, True, True),
    (100, 7, 8, True, False),
    (64, 4, 16, True, True),
]
EPOCHS = 3

# (files, ranks)
FILE_SHARDS = [(0, 1), (1, 1), (5, 2), (2, 3), (7, 3), (12, 4), (3, 8)]

FLEET_26 = [
    *("init", "is_first_worker", "worker_index", "worker_num", "is_worker", "is_server"),
    *("worker_endpoints", "server_num", "server_index", "server_endpoints", "node_num"),
    *("local_rank", "rank", "nranks", "world_size", "rank_in_node", "local_device_ids"),
    *("world_device_ids", "barrier_worker", "init_worker", "init_server", "run_server"),
    *("stop_worker", "save_persistables", "save_inference_model", "distributed_model"),
    *("minimize", "all_reduce", "is_coordinator", "init_coordinator", "DistributedStrategy"),
    *("PaddleCloudRoleMaker", "UserDefinedRoleMaker", "UtilBase", "Role", "set_log_level"),
    *("get_log_level_code", "get_log_level_name", "shrink", "load_model", "save_one_table"),
    *("load_one_table", "load_inference_model", "distributed_scaler"),
    *("UtilBase.all_reduce", "UtilBase.all_gather", "UtilBase.barrier"),
    *("UtilBase.get_file_shard", "UtilBase.print_on_rank"),
    *("Fleet.distributed_optimizer", "Fleet.init", "Fleet.save", "Fleet.amp_init"),
    *("DistributedStrategy.save_to_prototxt", "DistributedStrategy.load_from_prototxt"),
]
DISTRIBUTED_26 = [
    *("init_parallel_env", "get_rank", "get_world_size", "barrier", "ParallelEnv"),
    *("is_initialized", "is_available", "get_backend", "destroy_process_group"),
]
COLLECTIVE_18 = [
    *("init", "is_first_worker", "worker_index", "worker_num", "is_worker", "is_server"),
    *("worker_endpoints", "server_num", "server_index", "server_endpoints", "split_files"),
    *("barrier_worker", "all_reduce_worker", "init_worker", "init_server", "run_server"),
    *("stop_worker", "run_worker", "distributed_optimizer", "save_persistables"),
    "save_inference_model",
]
ROLE_MAKERS_18 = [
    *("PaddleCloudRoleMaker", "UserDefinedRoleMaker", "UserDefinedCollectiveRoleMaker"),
    *("PaddleCloudRoleMaker.worker_index", "PaddleCloudRoleMaker.get_trainer_endpoints"),
    *("PaddleCloudRoleMaker.all_gather", "PaddleCloudRoleMaker.all_reduce_worker"),
    *("PaddleCloudRoleMaker.generate_role", "PaddleCloudRoleMaker.barrier_worker"),
]


def settings(strategy, which):
    """Make the settings of STRATEGIES[which]."""
    for name, value in STRATEGIES[which]:
        setattr(strategy, name, value)


def find(owner, dotted):
    """``find(fleet, "UtilBase.barrier")``"""
    for name in dotted.split("."):
        owner = getattr(owner, name)
    return owner


class Samples:
    """A data set of which only the size counts."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


def batches_of(sampler_class, case):
    """All batches of all epochs of each rank."""
    size, ranks, batch, shuffle, drop_last = case
    of_ranks = []
    for rank in range(ranks):
        sampler = sampler_class(
            Samples(size), batch, ranks, rank, shuffle=shuffle, drop_last=drop_last
        )
        epochs = [[[int(i) for i in one] for one in sampler] for _ in range(EPOCHS)]
        of_ranks.append({"length": len(sampler), "epochs": epochs})
    return of_ranks
