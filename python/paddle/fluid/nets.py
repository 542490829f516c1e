"""Layers that are often used together."""

from paddle._names import names_of
from paddle._rows import rows

from . import layers

__all__ = [*rows(globals()), "img_conv_group", "sequence_conv_pool", "simple_img_conv_pool"]


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


def sequence_conv_pool(
    input,
    num_filters,
    filter_size,
    param_attr=None,
    act="sigmoid",
    pool_type="max",
    bias_attr=None,
):
    """A convolution over sequences and a pool of each."""
    made = layers.sequence_conv(
        input, num_filters, filter_size, param_attr=param_attr, bias_attr=bias_attr, act=act
    )
    return layers.sequence_pool(made, pool_type)


def scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0):
    """Values mixed by how well their keys fit queries, all [batch, length, width].

    Several heads see what learnt layers make of them.
    """
    width, value_width = queries.shape[-1], values.shape[-1]
    if width % num_heads or value_width % num_heads or keys.shape[-1] != width:
        raise ValueError(
            f"widths {width}, {keys.shape[-1]}, {value_width} of queries, keys and values do not "
            f"fit {num_heads} heads"
        )

    def heads(x):
        cut = layers.reshape(x, [0, 0, num_heads, x.shape[-1] // num_heads])
        return layers.transpose(cut, [0, 2, 1, 3])

    q, k, v = queries, keys, values
    if num_heads > 1:
        learnt = [layers.fc(x, x.shape[-1], num_flatten_dims=2) for x in (queries, keys, values)]
        q, k, v = (heads(x) for x in learnt)
    scores = layers.matmul(layers.scale(q, (width // num_heads) ** -0.5), k, transpose_y=True)
    weights = layers.softmax(scores)
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate, is_test=False)
    found = layers.matmul(weights, v)
    if num_heads == 1:
        return found
    return layers.reshape(layers.transpose(found, [0, 2, 1, 3]), [0, 0, value_width])


__getattr__, __dir__ = names_of(__name__)
