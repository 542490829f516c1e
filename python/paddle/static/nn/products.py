"""Products with learnt numbers."""

import _flotilla as core


def bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None):
    """``size`` numbers for each row of ``x`` and ``y``, linear in both."""
    layer = name or core.unique_name("bilinear_tensor_product")
    shape = [size, x.shape[1], y.shape[1]]
    weight = core.create_parameter(shape, x.dtype, param_attr, layer=layer)
    inputs = {"X": x, "Y": y, "Weight": weight}
    if bias_attr is not False:
        words = {"is_bias": True, "layer": layer}
        inputs["Bias"] = core.create_parameter([1, size], x.dtype, bias_attr, **words)
    return core.op("bilinear_tensor_product", inputs, layer=layer, act=act)


def row_conv(input, future_context_size, param_attr=None, act=None):
    """Each row weighted with the ``future_context_size`` rows behind it in its sequence."""
    layer = core.unique_name("row_conv")
    shape = [future_context_size + 1, input.shape[-1]]
    weight = core.create_parameter(shape, input.dtype, param_attr, layer=layer)
    return core.op("row_conv", {"X": input, "Filter": weight}, layer=layer, act=act)
