"""Layers that are often used together."""

from paddle._rows import rows

from . import layers

__all__ = [*rows(globals()), "img_conv_group"]


def _conv_and_pool(input, pool_size, pool_type, pool_stride, pool_padding, is_global, **conv):
    """A convolution and a pool."""
    made = layers.conv2d(input, **conv)
    return layers.pool2d(made, pool_size, pool_type, pool_stride, pool_padding, is_global)


def _sequence_conv_and_pool(input, pool_type, **conv):
    """A convolution over sequences and a pool of each."""
    return layers.sequence_pool(layers.sequence_conv(input, **conv), pool_type)


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
