#!/bin/sh
# Two processes on the host 192.168.0.1; the other host runs the other script.

current_node_ip=192.168.0.1
cluster_node_ips=192.168.0.1,192.168.0.2

export CUDA_VISIBLE_DEVICES=0,1
exec python -m paddle.distributed.launch \
    --selected_gpus=0,1 \
    --cluster_node_ips=$cluster_node_ips \
    --node_ip=$current_node_ip \
    train.py --distributed "$@"
