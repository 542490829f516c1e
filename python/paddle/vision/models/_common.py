"""What the models share."""

from paddle import nn


def refuse_pretrained(pretrained, name):
    if pretrained:
        raise ValueError(
            f"{name} has no pretrained weights: build it with pretrained=False, and load weights "
            "with paddle.static.load or set_program_state"
        )


def conv_norm(inputs, outputs, kernel, stride=1, groups=1, activation=nn.ReLU):
    """A convolution without bias, a batch norm and an activation, in a Sequential."""
    convolution = nn.Conv2D(
        inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias_attr=False
    )
    return nn.Sequential(convolution, nn.BatchNorm2D(outputs), activation())


def flat(x):
    """[batch, everything else]"""
    import paddle

    return paddle.flatten(x, 1)
