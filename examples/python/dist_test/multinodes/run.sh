#!/bin/sh
# sh run.sh ADDRESS: two processes on this host, whose address is ADDRESS; the other host runs the
# same with its own.

current_node_ip=$1
cluster_node_ips=192.168.0.1,192.168.0.2
shift

export CUDA_VISIBLE_DEVICES=0,1
exec python -m paddle.distributed.launch \
    --selected_gpus=0,1 \
    --cluster_node_ips=$cluster_node_ips \
    --node_ip=$current_node_ip \
    train.py --distributed "$@"
