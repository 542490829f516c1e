"""How many ops of which type a program has, as real Paddle (2.6.2, 1.8.5) builds the same model."""

import collections

import pytest

import training

RESNET50 = {
    **{"batch_norm": 53, "conv2d": 53, "relu": 49, "elementwise_add": 17, "accuracy": 2},
    **{"pool2d": 2, "top_k_v2": 2, "mul": 1, "reduce_mean": 1, "softmax_with_cross_entropy": 1},
    **{"momentum": 161, "batch_norm_grad": 53, "conv2d_grad": 53, "relu_grad": 49, "sum": 16},
    **{"elementwise_add_grad": 17, "pool2d_grad": 2, "fill_constant": 1, "mul_grad": 1},
    **{"reduce_mean_grad": 1, "softmax_with_cross_entropy_grad": 1},
    "softmax": 1,  # the prediction
}
WIDE_DEEP_BACKWARD = {
    **{"lookup_table_v2_grad": 26, "reshape2_grad": 26, "elementwise_add_grad": 5, "sum": 1},
    **{"matmul_v2_grad": 4, "relu_grad": 2, "concat_grad": 1, "log_loss_grad": 1},
    **{"reduce_mean_grad": 1, "sigmoid_grad": 1},
}


def build(name):
    if name not in training.models():
        pytest.skip("this paddle has no words for it")
    return training.build(training.models()[name])


def types(program):
    return collections.Counter(op.type for op in program.global_block().ops)


def test_resnet50():
    built = build("resnet50")
    assert types(built["main"]) == RESNET50
    assert sum(RESNET50.values()) == 537
    assert types(built["startup"]) == {
        "fill_constant": 375,
        "gaussian_random": 53,
        "uniform_random": 1,
    }
    parameters = built["main"].all_parameters()
    assert (len(parameters), sum(p.trainable for p in parameters)) == (267, 161)


def test_wide_deep():
    built = build("wide_deep")
    found = types(built["main"])
    assert found["lookup_table_v2"] == found["reshape2"] == 26 and found["sgd"] == 9
    backward = {name: count for name, count in found.items() if name.endswith("_grad")}
    assert {**backward, "sum": found["sum"]} == WIDE_DEEP_BACKWARD


def test_mlp():
    built = build("fluid_mlp")
    assert types(built["main"]) == {
        **{"elementwise_add": 3, "mul": 3, "tanh": 2, "accuracy": 1, "cross_entropy2": 1},
        **{"mean": 1, "reshape2": 1, "softmax": 1, "top_k": 1, "adam": 6, "mul_grad": 3},
        **{"elementwise_add_grad": 3, "tanh_grad": 2, "cross_entropy_grad2": 1},
        **{"fill_constant": 1, "mean_grad": 1, "softmax_grad": 1},
    }
    assert types(built["startup"]) == {"fill_constant": 28, "uniform_random": 3}
