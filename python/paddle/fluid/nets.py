"""Layers that often stand together."""

from paddle._names import names_of

from . import layers

__all__ = ["glu", "img_conv_group", "simple_img_conv_pool"]


def simple_img_conv_pool(
    input,
    num_filters,
    filter_size,
    pool_size,
    pool_stride,
    pool_padding=0,
    pool_type="max",
    global_pooling=False,
    conv_stride=1,
    conv_padding=0,
    conv_dilation=1,
    conv_groups=1,
    param_attr=None,
    bias_attr=None,
    act=None,
    use_cudnn=True,
):
    """A convolution and a pool."""
    made = layers.conv2d(
        *(input, num_filters, filter_size, conv_stride, conv_padding, conv_dilation),
        *(conv_groups, param_attr, bias_attr, use_cudnn, act),
    )
    return layers.pool2d(made, pool_size, pool_type, pool_stride, pool_padding, global_pooling)


def img_conv_group(
    input,
    conv_num_filter,
    pool_size,
    conv_padding=1,
    conv_filter_size=3,
    conv_act=None,
    param_attr=None,
    conv_with_batchnorm=False,
    conv_batchnorm_drop_rate=0.0,
    pool_stride=1,
    pool_type="max",
    use_cudnn=True,
):
    """Convolutions, each with a batch norm and dropout if wanted, and a pool.

    What is given as a list has one entry for each convolution.
    """

    def nth(value, i):
        return value[i] if isinstance(value, (list, tuple)) else value

    for i, filters in enumerate(conv_num_filter):
        normed, act = nth(conv_with_batchnorm, i), nth(conv_act, i)
        size, padding = nth(conv_filter_size, i), nth(conv_padding, i)
        attr = nth(param_attr, i)
        input = layers.conv2d(
            input, filters, size, 1, padding, param_attr=attr, act=None if normed else act
        )
        if normed:
            input = layers.batch_norm(input, act)
            rate = nth(conv_batchnorm_drop_rate, i)
            input = layers.dropout(input, rate) if rate > 1e-5 else input
    return layers.pool2d(input, pool_size, pool_type, pool_stride)


def glu(input, dim=-1):
    """The first half along ``dim`` times the sigmoid of the second."""
    value, gate = layers.split(input, 2, dim)
    return layers.elementwise_mul(value, layers.sigmoid(gate))


__getattr__, __dir__ = names_of(__name__)
