#!/bin/sh
# Several cards of one machine: two processes, their output in mylog/workerlog.0 and workerlog.1.

export FLAGS_fuse_parameter_memory_size=16
export FLAGS_fuse_parameter_groups_size=50
export FLAGS_conv_workspace_size_limit=500
export FLAGS_cudnn_exhaustive_search=1
export FLAGS_cudnn_batchnorm_spatial_persistent=1
export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0,1,2,3,4,5,6,7}"

exec python -m paddle.distributed.launch \
    --selected_gpus=0,1 \
    --log_dir=mylog \
    train.py --distributed "$@"
