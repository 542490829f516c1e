"""Words of the API: expressions that real Paddle and Flotilla both understand, and their values.

A line is a Python expression over the inputs below; its value, one variable or several, is run, and
so is the gradient of the first with respect to every input of floats that it depends on, unless the
line says "values only" (real Paddle refuses that gradient, or computes it wrong).
"""

import numpy as np
import paddle

import rules

try:
    import paddle.nn.functional as F
    import paddle.static as static
    from paddle import nn
    from paddle.utils import unique_name

    paddle.enable_static()
    place = paddle.CPUPlace()
    WORDS = {"paddle": paddle, "F": F, "nn": nn, "static": static, "np": np}
except ImportError:  # 1.8
    import paddle.fluid as static
    from paddle.fluid import unique_name

    place = static.CPUPlace()
    WORDS = {"np": np}

FLOATS, WHOLE = "float32", "int64"
INPUTS = {
    "x": ([3, 4], FLOATS, ["uniform", -2, 2]),
    "y": ([3, 4], FLOATS, ["uniform", -2, 2]),
    "p": ([3, 4], FLOATS, ["uniform", 0.5, 1.5]),
    "u": ([3, 4], FLOATS, ["uniform", -0.9, 0.9]),
    "b": ([4], FLOATS, ["uniform", -1, 1]),
    "v": ([4], FLOATS, ["uniform", 0.2, 1.2]),
    "v3": ([3], FLOATS, ["uniform", 0, 1]),
    "v1": ([1], FLOATS, ["full", 2.5]),
    "m": ([2, 3, 4], FLOATS, ["uniform", -2, 2]),
    "img": ([2, 3, 8, 8], FLOATS, ["uniform", -2, 2]),
    "i": ([3, 1], WHOLE, ["values", [0, 2, 1]]),
    "ic": ([3], WHOLE, ["values", [0, 2, 1]]),
    "i01": ([3, 1], WHOLE, ["values", [0, 1, 1]]),
    "mi": ([2, 4], WHOLE, ["integers", 0, 3]),
    "k": ([3, 4], WHOLE, ["integers", 0, 9]),
    "k1": ([3, 4], WHOLE, ["integers", 1, 4]),
    "idx": ([2], WHOLE, ["values", [2, 0]]),
    "nd": ([2, 2], WHOLE, ["values", [0, 1, 2, 3]]),
    "c": ([3, 4], "bool", ["integers", 0, 2]),
    "sl": (
        [3, 4],
        FLOATS,
        ["values", [0.1, 0.2, 0.3, 0.4, 0.25, 0.25, 0.3, 0.2, 0.7, 0.1, 0.1, 0.1]],
    ),
    "pr": ([3, 4], FLOATS, ["uniform", 0.05, 0.95]),
    "pr1": ([3, 1], FLOATS, ["uniform", 0.05, 0.95]),
    "pr2": ([3, 2], FLOATS, ["uniform", 0.05, 0.95]),
    "lab": ([3, 4], FLOATS, ["integers", 0, 2]),
    "lab1": ([3, 1], FLOATS, ["integers", 0, 2]),
    "W45": ([4, 5], FLOATS, ["uniform", -1, 1]),
    "B5": ([5], FLOATS, ["uniform", -1, 1]),
    "E": ([5, 3], FLOATS, ["uniform", -1, 1]),
    "K": ([4, 3, 3, 3], FLOATS, ["uniform", -1, 1]),
    "CB": ([4], FLOATS, ["uniform", -1, 1]),
    "BM": ([3], FLOATS, ["uniform", -1, 1]),
    "BV": ([3], FLOATS, ["uniform", 0.5, 1.5]),
    "BS": ([3], FLOATS, ["uniform", -1, 1]),
    "BB": ([3], FLOATS, ["uniform", -1, 1]),
    "LS": ([4], FLOATS, ["uniform", -1, 1]),
    "LB": ([4], FLOATS, ["uniform", -1, 1]),
}


def lines(era):
    """The expressions of an era, "2x" or "1x"."""
    text = LINES_2X if era == "2x" else LINES_1X
    return [line for line in text.strip().splitlines() if not line.startswith("#")]


def understood(era):
    """Whether this `paddle` has the words of an era."""
    return bool(_fluid()) if era == "1x" else "nn" in WORDS


def run(line):
    """The values of an expression, as `out/<n>`, and gradients, as `grad/<input>`."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    guards = static.program_guard(main, startup), unique_name.guard(), static.scope_guard(scope)
    with guards[0], guards[1], guards[2]:
        inputs = {name: _declare(name) for name in INPUTS}
        fetches = _build(line, inputs, main)
        used = {name for op in main.global_block().ops for name in op.input_arg_names}
        used |= {var.name for var in fetches.values()}
        feed = {name: _value(name) for name in INPUTS if name in used}
        if "seed" in used:
            seed = main.global_block().var("seed")
            dtype = "float64" if "64" in str(seed.dtype) else "float32"
            feed["seed"] = rules.draw("words/seed", seed.shape, dtype, ["uniform", -1, 1])
        executor = static.Executor(place)
        executor.run(startup)
        for parameter in main.all_parameters():
            value = _parameter(parameter.name, parameter.shape)
            scope.find_var(parameter.name).get_tensor().set(value, place)
        found = executor.run(main, feed, [var.name for var in fetches.values()])
    return dict(zip(fetches, (np.array(array) for array in found)))


def _build(line, inputs, main):
    """What to fetch: label -> variable."""
    outs = _flat(eval(line, {**WORDS, **_fluid(), **inputs}))
    fetches = {f"out/{n}": out for n, out in enumerate(outs)}
    floats = [inputs[name] for name, input in INPUTS.items() if input[1] == FLOATS]
    used = {name for op in main.global_block().ops for name in op.input_arg_names}
    floats = [var for var in floats if var.name in used]
    if "# values only" not in line and _is_float(outs[0]) and floats:
        for var, grad in zip(floats, static.gradients([outs[0]], floats, _seed(outs[0]))):
            if grad is not None:
                fetches[f"grad/{var.name}"] = grad
    return fetches


def _seed(out):
    """What the gradient of `out` starts from; ones where its extents are not known."""
    if any(extent < 0 for extent in out.shape):
        return None
    return [static.data("seed", list(out.shape), "float64" if "64" in str(out.dtype) else FLOATS)]


def _is_float(var):
    return any(word in str(var.dtype).lower() for word in ("float", "fp32", "fp64"))


def _fluid():
    """The words of 1.x, where there are any."""
    try:
        import paddle.fluid as fluid
    except ImportError:
        return {}
    return {"fluid": fluid, "layers": fluid.layers}


def _flat(value):
    if not isinstance(value, (list, tuple)):
        return [value]
    return [one for part in value for one in _flat(part)]


def _value(name):
    shape, dtype, rule = INPUTS[name]
    return rules.draw(f"words/{name}", shape, dtype, rule)


def _declare(name):
    shape, dtype, _ = INPUTS[name]
    var = static.data(name, shape, dtype)
    var.stop_gradient = dtype != FLOATS
    return var


def _parameter(name, shape):
    value = rules.parameter(name, shape)
    return np.abs(value) + np.float32(0.5) if name.endswith(("w_2", "mv")) else value


LINES_2X = """
x + y
x + 1
x + 1.5
1 - x
x - 2
2 * x
x * y
x / y
x / 2
1 / p
x // p
k // 3
k % 2
x % p
k % k1
x ** 2
2.0 ** x
p ** y
-x
x < y
x <= y
x > 0
x >= y
x == y
x != y
k + 1
k * 2.5
k / 2
k + x
x @ y.transpose([1, 0])
x[0]
x[-1]
x[0:2]
x[:, 1]
x[:, 1:3]
x[..., 0]
x[::2]
x[None]
m[0, 1, 2]
m[:, None, 1]
m[::-1]
img[:, :, 1:3, ::2]
paddle.shape(x)[0]
x.astype('int64')
x.astype('float64')
x.sum()
x.mean()
x.max(axis=1)
x.min(0)
x.reshape([4, 3])
x.transpose([1, 0])
x.unsqueeze(0)
x.squeeze()
x.flatten()
p.sqrt()
x.exp()
x.add(y)
x.T
x.matmul(y.t())
paddle.reshape(x, [2, -1])
paddle.reshape(x, [0, 2, 2])
paddle.reshape(x, [paddle.shape(x)[0], -1])
paddle.reshape(x, paddle.shape(y))
paddle.concat([x, y])
paddle.concat(x=[x, y], axis=1)
paddle.cast(x, 'int32')
paddle.cast(k, dtype='float32')
paddle.add(x, y)
paddle.add(x, b)
paddle.subtract(x, y)
paddle.multiply(x, y)
paddle.divide(x, y)
paddle.mod(k, k1)
paddle.remainder(x, p)
paddle.floor_divide(k, k1)
paddle.pow(x, 2)
paddle.pow(p, 0.5)
paddle.pow(p, y)
paddle.matmul(x, y, transpose_y=True)
paddle.mm(x, paddle.t(y))
paddle.bmm(m, paddle.transpose(m, [0, 2, 1]))
paddle.dot(v, v)
paddle.dot(x, y)
paddle.mv(x, v)
paddle.t(x)
paddle.addmm(x[:, 0:3], x, paddle.t(y), beta=2.0, alpha=3.0)
paddle.inner(x, y)
paddle.outer(v, v)
paddle.mean(x)
paddle.mean(x, axis=1)
paddle.mean(x, axis=[0, 1], keepdim=True)
paddle.sum(x)
paddle.sum(x, axis=0)
paddle.sum(x, axis=-1, keepdim=True)
paddle.sum(k)
paddle.sum(c)
paddle.sum(x, dtype='float64')
paddle.max(x)
paddle.max(x, axis=1)
paddle.min(x, axis=0, keepdim=True)
paddle.prod(x, axis=1)
paddle.all(c)
paddle.any(c, axis=1)
paddle.var(x)
paddle.std(x, axis=1)
paddle.var(x, axis=1, unbiased=False, keepdim=True)
paddle.full([2, 3], 1.5)
paddle.full(shape=[paddle.shape(x)[0], 1], fill_value=1.0)
paddle.full([2], 7, 'int64')
paddle.full([2], True, 'bool')
paddle.full([2], 7)
paddle.full_like(x, 3.0)
paddle.full_like(x, 3, dtype='int64')
paddle.zeros([2, 3])
paddle.zeros([2], 'int32')
paddle.ones([2, 3])
paddle.zeros_like(x)
paddle.ones_like(k)
paddle.ones_like(x, dtype='int32')
paddle.arange(5)
paddle.arange(1, 6, 2)
paddle.arange(0, 1, 0.25)
paddle.arange(3, dtype='float32')
paddle.linspace(0, 1, 5)
paddle.eye(3)
paddle.eye(2, 3, dtype='int64')
paddle.shape(x)
paddle.assign(x)
paddle.assign(np.array([1.0, 2.0], 'float32'))
paddle.assign(np.array([[1, 2], [3, 4]]))
paddle.assign([1.0, 2.0])
paddle.assign(3)
paddle.to_tensor([1.0, 2.0])
paddle.to_tensor(2, dtype='int64')
paddle.clone(x)
paddle.sqrt(p)
paddle.rsqrt(p)
paddle.square(x)
paddle.abs(x)
paddle.exp(x)
paddle.expm1(x)
paddle.log(p)
paddle.log2(p)
paddle.log10(p)
paddle.log1p(p)
paddle.sin(x)
paddle.cos(x)
paddle.tan(x)
paddle.asin(u)
paddle.acos(u)
paddle.atan(x)
paddle.sinh(x)
paddle.cosh(x)
paddle.tanh(x)
paddle.asinh(x)
paddle.acosh(p + 1)
paddle.atanh(u)
paddle.floor(x)
paddle.ceil(x)
paddle.round(x)
paddle.reciprocal(p)
paddle.sign(x)
paddle.erf(x)
paddle.neg(x)
paddle.stanh(x)
paddle.clip(x, -0.5, 0.5)
paddle.clip(x, min=0.0)
paddle.clip(k, 1, 2)
paddle.scale(x, 2.0, 1.0)
paddle.scale(x, scale=2.0, bias=1.0, bias_after_scale=False)
paddle.scale(x, 2.0, act='relu')
paddle.increment(v1)  # values only
paddle.argmax(x)
paddle.argmax(x, axis=1)
paddle.argmax(x, axis=1, keepdim=True, dtype='int32')
paddle.argmin(x, axis=0)
paddle.argsort(x)
paddle.argsort(x, axis=0, descending=True)
paddle.sort(x)
paddle.topk(x, 2)
paddle.topk(x, k=1, axis=0, largest=False)
paddle.unsqueeze(x, 1)
paddle.unsqueeze(x, [0, 2])
paddle.squeeze(i)
paddle.squeeze(i, 1)
paddle.squeeze(i, axis=[1])
paddle.flatten(img)
paddle.flatten(img, 1)
paddle.flatten(img, start_axis=1, stop_axis=2)
paddle.transpose(m, [2, 0, 1])
paddle.transpose(x, perm=[1, 0])
paddle.split(x, 2, axis=1)
paddle.split(x, [1, 2], axis=0)
paddle.split(x, [1, -1], axis=1)
paddle.chunk(x, 2, axis=1)
paddle.stack([x, y])
paddle.stack([x, y], axis=1)
paddle.unstack(x)
paddle.unbind(x, axis=1)
paddle.slice(x, [0, 1], [0, 1], [2, 3])
paddle.strided_slice(x, axes=[1], starts=[3], ends=[0], strides=[-2])
paddle.expand(b, [3, 4])
paddle.expand(i, [-1, 2])
paddle.expand_as(b, x)
paddle.broadcast_to(b, [3, 4])
paddle.tile(b, [2])
paddle.tile(x, [2, 1])
paddle.gather(x, idx)
paddle.gather(x, idx, axis=1)  # values only
paddle.gather_nd(x, nd)
paddle.scatter(x, idx, y[0:2])
paddle.index_select(x, idx, axis=1)
paddle.where(c, x, y)
paddle.where(x > 0, x, y)
paddle.nonzero(c)
paddle.equal(x, y)
paddle.not_equal(x, y)
paddle.less_than(x, y)
paddle.less_equal(x, y)
paddle.greater_than(x, y)
paddle.greater_equal(x, y)
paddle.equal_all(x, y)
paddle.logical_and(c, c)
paddle.logical_or(c, x > y)
paddle.logical_xor(c, x > y)
paddle.logical_not(c)
paddle.isfinite(x)
paddle.isnan(x)
paddle.isinf(x)
paddle.cumsum(x)
paddle.cumsum(x, axis=1)
paddle.tril(x)
paddle.triu(x, 1)
paddle.numel(x)
paddle.norm(x)
paddle.norm(x, p=1, axis=1)
paddle.norm(x, p=2, axis=0, keepdim=True)
paddle.flip(x, [0])
paddle.roll(x, 1, 0)
paddle.meshgrid(v, b)
paddle.rank(x)
paddle.add_n([x, y])
paddle.add_n(x)
paddle.maximum(x, y)
paddle.minimum(x, y)
paddle.logsumexp(x)
paddle.logsumexp(x, axis=1, keepdim=True)
paddle.moveaxis(m, 0, 2)
paddle.dist(x, y)
F.relu(x)
F.relu6(x)
F.elu(x, 0.5)
F.selu(x)
F.celu(x)
F.gelu(x)
F.gelu(x, approximate=True)
F.leaky_relu(x)
F.leaky_relu(x, 0.2)
F.sigmoid(x)
F.hardsigmoid(x)
F.hardswish(x)
F.hardtanh(x)
F.hardshrink(x)
F.softshrink(x)
F.tanhshrink(x)
F.thresholded_relu(x)
F.softplus(x)
F.softsign(x)
F.swish(x)
F.silu(x)
F.mish(x)
F.log_sigmoid(x)
F.tanh(x)
F.softmax(x)
F.softmax(x, axis=0, dtype='float64')
F.log_softmax(x)
F.prelu(x, paddle.static.create_parameter([1], 'float32', default_initializer=paddle.nn.initializer.Constant(0.25)))
F.dropout(x, 0.3, training=False)
F.dropout(x, 0.3, training=False, mode='downscale_in_infer')
F.dropout(x, 0.0)
F.linear(x, W45, B5)
F.linear(x, W45)
F.embedding(i, E)
F.embedding(i, E, padding_idx=1)
F.conv2d(img, K, CB, padding=1)
F.conv2d(img, K, stride=2, padding='SAME')
F.conv2d(img, K, padding=[1, 2])
F.conv2d(img, K, padding=[1, 0, 2, 1])
F.max_pool2d(img, 2)
F.max_pool2d(img, 3, stride=2, padding=1)
F.max_pool2d(img, 3, 2, 1, ceil_mode=True)
F.avg_pool2d(img, 2)
F.avg_pool2d(img, 3, stride=2, padding=1, exclusive=False)
F.adaptive_avg_pool2d(img, 1)
F.adaptive_avg_pool2d(img, [2, 4])
F.adaptive_avg_pool2d(img, 3)
F.adaptive_max_pool2d(img, 2)
F.batch_norm(img, BM, BV, BS, BB)  # values only
F.batch_norm(img, BM, BV, BS, BB, training=True)
F.layer_norm(x, 4, LS, LB)
F.layer_norm(m, [3, 4])
F.one_hot(ic, 5)
F.cross_entropy(x, i)
F.cross_entropy(x, ic)
F.cross_entropy(x, i, reduction='none')
F.cross_entropy(x, i, reduction='sum')
F.cross_entropy(x, sl, soft_label=True)
F.cross_entropy(x, i, ignore_index=0)
F.cross_entropy(x, i, weight=v)
F.cross_entropy(x, ic, weight=v)
F.cross_entropy(x, ic, weight=v, reduction='none')
F.cross_entropy(x, sl, weight=v, soft_label=True)  # values only
F.cross_entropy(sl, i, use_softmax=False)
F.cross_entropy(x, ic, label_smoothing=0.1)
F.cross_entropy(m, mi, axis=1)
F.cross_entropy(m, mi, axis=1, weight=v3)
F.softmax_with_cross_entropy(x, i)
F.softmax_with_cross_entropy(x, i, return_softmax=True)
F.softmax_with_cross_entropy(x, sl, soft_label=True)
F.mse_loss(x, y)
F.mse_loss(x, y, reduction='sum')
F.mse_loss(x, y, reduction='none')
F.l1_loss(x, y)
F.l1_loss(x, y, reduction='sum')
F.l1_loss(x, y, reduction='none')
F.smooth_l1_loss(x, y)
F.smooth_l1_loss(x, y, delta=0.5, reduction='sum')
F.log_loss(pr1, lab1)
F.square_error_cost(x, y)
F.binary_cross_entropy(pr, lab)
F.binary_cross_entropy(pr, lab, weight=lab, reduction='sum')
F.binary_cross_entropy_with_logits(x, lab)
F.binary_cross_entropy_with_logits(x, lab, weight=p, reduction='none')
F.nll_loss(F.log_softmax(x), ic)
F.nll_loss(F.log_softmax(x), ic, weight=v, reduction='sum')
F.kl_div(x, sl)
F.kl_div(x, sl, reduction='sum')
F.kl_div(x, sl, reduction='batchmean')
F.kl_div(x, sl, reduction='none')
F.label_smooth(sl)  # values only
F.normalize(x)
F.normalize(x, p=1, axis=0)
F.pad(img, [1, 2, 0, 1])
F.pad(img, [1, 1, 1, 1], mode='reflect')
F.pad(img, [1, 1, 1, 1], value=2.0)
F.pad(x, [0, 1, 2, 0])
F.cosine_similarity(x, y)
F.glu(x)
static.nn.fc(x, 5)
static.nn.fc(x, 5, activation='relu')
static.nn.fc(img, 5, num_flatten_dims=2)
static.nn.fc([x, y], 5, activation='tanh', name='both')
static.nn.fc(x, 5, bias_attr=False, weight_attr=paddle.ParamAttr(name='w'))
static.nn.conv2d(img, 4, 3)
static.nn.conv2d(img, 4, 3, stride=2, padding=1, act='relu', name='c')
static.nn.conv2d(img, 4, 3, groups=1, bias_attr=False)
static.nn.conv2d(img, 3, 3, groups=3)
static.nn.batch_norm(img)
static.nn.batch_norm(img, act='relu', name='b', is_test=True)
static.nn.layer_norm(x)
static.nn.layer_norm(m, begin_norm_axis=2, scale=False, shift=False)
static.nn.embedding(i, [5, 3])
static.nn.embedding(i, [5, 3], is_sparse=True, padding_idx=-1)
static.nn.prelu(img, 'channel')
static.nn.prelu(x, 'all')
static.accuracy(x, i)
static.accuracy(x, i, k=2)
paddle.metric.accuracy(x, i, k=2)
static.auc(pr2, i01)
static.create_global_var([2], 1.5, 'float32', persistable=True, name='gv')
static.create_parameter([2, 3], 'float32')
static.create_parameter([2], 'float32', is_bias=True)
paddle.create_parameter([2, 3], 'float32', name='pp')
nn.Linear(4, 5)(x)
nn.Linear(4, 5, bias_attr=False)(x)
nn.Linear(4, 5, weight_attr=paddle.ParamAttr(name='w'), name='foo')(x)
nn.Conv2D(3, 4, 3)(img)
nn.Conv2D(3, 4, 3, padding='same', stride=2)(img)
nn.Conv2D(3, 6, 3, groups=3, bias_attr=False)(img)
nn.Conv2D(3, 4, (3, 5), padding=(1, 2), dilation=2)(img)
nn.BatchNorm2D(3)(img)
nn.BatchNorm(3, act='relu')(img)
nn.BatchNorm1D(4)(x)
nn.BatchNorm2D(3, use_global_stats=True)(img)
nn.Embedding(5, 3)(i)
nn.Embedding(5, 3, padding_idx=0, sparse=True)(i)
nn.MaxPool2D(2)(img)
nn.AvgPool2D(2, 2)(img)
nn.AdaptiveAvgPool2D(1)(img)
nn.AdaptiveMaxPool2D(2)(img)
nn.Flatten()(img)
nn.ReLU()(x)
nn.GELU(True)(x)
nn.LeakyReLU(0.3)(x)
nn.Softmax()(x)
nn.LogSoftmax()(x)
nn.Sigmoid()(x)
nn.Hardsigmoid()(x)
nn.Softplus(2.0, 10.0)(x)
nn.PReLU()(x)
nn.Identity()(x)
nn.LayerNorm(4)(x)
nn.LayerNorm([3, 4])(m)
nn.CrossEntropyLoss()(x, i)
nn.MSELoss()(x, y)
nn.L1Loss()(x, y)
nn.BCELoss()(pr, lab)
nn.BCEWithLogitsLoss()(x, lab)
nn.NLLLoss()(F.log_softmax(x), ic)
nn.KLDivLoss()(x, sl)
nn.SmoothL1Loss()(x, y)
nn.Pad2D(1)(img)
nn.ZeroPad2D([1, 0, 2, 1])(img)
nn.CosineSimilarity()(x, y)
nn.Dropout(0.0)(x)
nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))(x)
paddle.count_nonzero(k, axis=1)
paddle.scatter_nd_add(x, nd, v[0:2])
paddle.scatter_nd(nd, v[0:2], [3, 4])
paddle.index_sample(x, k1)
paddle.masked_select(x, c)  # values only
paddle.diag(v)  # values only
paddle.diag(x[:, 0:3], offset=1)  # values only
F.max_pool1d(m, 2)
F.avg_pool1d(m, 2, 1, 1)
F.adaptive_avg_pool1d(m, 2)
nn.Conv1D(3, 5, 2, padding=1)(m)
F.cross_entropy(x, i, ignore_index=-1)
paddle.norm(x, p=3, axis=1)
paddle.norm(x, p=float('inf'), axis=1)
paddle.norm(x, p='fro', axis=[0, 1])
paddle.logical_or(c, x > y) & c
~c
F.conv2d(img, K, padding='VALID', data_format='NCHW', groups=1)
paddle.slice(x, [0], [paddle.shape(x)[0] - 2], [3])
nn.LayerList([nn.Linear(4, 5), nn.Linear(5, 2)])[1](F.linear(x, W45))
"""

LINES_1X = """
layers.prelu(img, 'channel')
layers.prelu(x, 'all')
layers.prelu(m, mode='element')
layers.fc(x, 5)
layers.fc(input=[x, y], size=5, act='tanh', name='both')
layers.fc(img, 5, num_flatten_dims=2, bias_attr=False)
layers.conv2d(img, 4, 3)
layers.conv2d(img, 4, 3, stride=2, padding=1, act='relu', name='c')
layers.conv2d(img, 3, 3, groups=3, bias_attr=False)
layers.conv2d(input=img, num_filters=4, filter_size=(3, 5), padding='SAME')
layers.pool2d(img, 2)
layers.pool2d(img, 3, 'avg', 2, 1)
layers.pool2d(img, pool_type='avg', global_pooling=True)
layers.pool2d(img, 3, 'max', 2, 1, ceil_mode=True)
layers.pool2d(img, 3, 'avg', 2, 1, exclusive=False)
layers.adaptive_pool2d(img, [2, 4], 'avg')
layers.adaptive_pool2d(img, 3)
layers.batch_norm(img)
layers.batch_norm(img, act='relu', name='b', is_test=True)  # values only
layers.batch_norm(img, moving_mean_name='mm', moving_variance_name='mv')
layers.layer_norm(x)
layers.layer_norm(m, begin_norm_axis=2, scale=False, shift=False)
layers.embedding(i, [5, 3])
layers.embedding(i, [5, 3], is_sparse=True, padding_idx=0)
fluid.embedding(i, [5, 3])
layers.softmax(x)
layers.softmax(x, axis=0)
layers.log_softmax(x)
layers.cross_entropy(sl, i)
layers.cross_entropy(sl, sl, soft_label=True)
layers.softmax_with_cross_entropy(x, i)
layers.softmax_with_cross_entropy(x, i, return_softmax=True)
layers.softmax_with_cross_entropy(x, sl, soft_label=True)
layers.square_error_cost(x, y)
layers.mse_loss(x, y)
layers.huber_loss(x, y, 0.7)
layers.smooth_l1(x, y)
layers.kldiv_loss(x, sl)
layers.kldiv_loss(x, sl, 'batchmean')
layers.sigmoid_cross_entropy_with_logits(x, lab)
layers.sigmoid_cross_entropy_with_logits(x, lab, normalize=True)
layers.log_loss(pr1, lab1)
layers.mean(x)
layers.accuracy(x, i)
layers.accuracy(x, i, k=2)
layers.auc(pr2, i01)
layers.auc(pr2, i01, num_thresholds=255, slide_steps=5)
layers.reduce_sum(x)
layers.reduce_sum(x, dim=1)
layers.reduce_max(x, 0)
layers.reduce_min(x, dim=-1)
layers.reduce_prod(x)
layers.reduce_all(c)
layers.reduce_any(c, dim=1)
layers.elementwise_add(x, y)
layers.elementwise_add(x, b, act='relu', name='add')
layers.elementwise_add(img, v3, axis=1)
layers.elementwise_sub(x, y)
layers.elementwise_mul(x, y)
layers.elementwise_div(x, y)
layers.elementwise_max(x, y)
layers.elementwise_min(x, y)
layers.elementwise_pow(p, y)
layers.elementwise_mod(k, k1)
layers.elementwise_floordiv(k, k1)
layers.concat([x, y], axis=1)
layers.concat(input=[x, y])
layers.cast(x, 'int64')
layers.reshape(x, [2, -1])
layers.reshape(x, shape=[-1, 2], act='relu')
layers.reshape(x, [layers.shape(x)[0], -1])
layers.dropout(x, 0.3, is_test=True)  # values only
layers.dropout(x, 0.3, is_test=True, dropout_implementation='upscale_in_train')  # values only
layers.relu(x)
layers.relu6(x)
layers.tanh(x)
layers.sigmoid(x)
layers.exp(x)
layers.log(p)
layers.sqrt(p)
layers.rsqrt(p)
layers.square(x)
layers.abs(x)
layers.sin(x)
layers.cos(x)
layers.floor(x)
layers.ceil(x)
layers.round(x)
layers.reciprocal(p)
layers.sign(x)
layers.erf(x)
layers.elu(x)
layers.selu(x)
layers.gelu(x)
layers.leaky_relu(x)
layers.hard_sigmoid(x)
layers.hard_swish(x)
layers.hard_shrink(x)
layers.softshrink(x)
layers.softplus(x)
layers.softsign(x)
layers.swish(x)
layers.mish(x)
layers.stanh(x)
layers.tanh_shrink(x)
layers.thresholded_relu(x)
layers.logsigmoid(x)
layers.brelu(x)
layers.pow(p, 0.5)
layers.scale(x, 2.0, 1.0)
layers.clip(x, -0.5, 0.5)
layers.clip_by_norm(x, 1.0)
layers.l2_normalize(x, 1)
layers.cumsum(x)
layers.cumsum(x, axis=0, exclusive=True, reverse=True)
layers.matmul(x, y, transpose_y=True)
layers.matmul(x, y, False, True, alpha=2.0)
layers.mul(x, W45)
layers.fill_constant([2, 3], 'float32', 1.5)
layers.fill_constant([2], 'int64', 3)
layers.fill_constant_batch_size_like(x, [-1, 2], 'float32', 2.0)
layers.zeros([2, 3], 'float32')
layers.ones([2], 'int64')
layers.zeros_like(x)
layers.ones_like(x)
layers.assign(x)
layers.assign(np.array([1.0, 2.0], 'float32'))
layers.sums([x, y])
layers.sum([x, y])
layers.argmax(x)
layers.argmax(x, axis=1)
layers.argmin(x, axis=-1)
layers.argsort(x)  # values only
layers.topk(x, 2)  # values only
layers.one_hot(i, 5)
fluid.one_hot(ic, 5)
layers.transpose(m, [2, 0, 1])
layers.squeeze(i, [1])
layers.unsqueeze(x, [1])
layers.flatten(img)
layers.flatten(img, axis=2)
layers.split(x, 2, dim=1)  # values only
layers.split(x, [1, 2], dim=0)  # values only
layers.split(x, 2)  # values only
layers.stack([x, y])
layers.unstack(x)  # values only
layers.slice(x, [0, 1], [0, 1], [2, 3])
layers.strided_slice(x, [1], [0], [4], [2])
layers.shape(x)
layers.size(x)
layers.rank(x)
layers.expand(x, [2, 1])
layers.expand_as(x, y)  # values only
layers.gather(x, idx)
layers.gather_nd(x, nd)
layers.scatter(x, idx, y[0:2])  # values only
layers.where(c)
layers.pad(x, [0, 1, 2, 0], 1.5)
layers.pad2d(img, [1, 2, 0, 1])
layers.pad2d(img, [1, 1, 1, 1], mode='reflect')
layers.label_smooth(sl)  # values only
layers.range(0, 5, 2, 'int64')
layers.linspace(0, 1, 5, 'float32')
layers.eye(3)
layers.reverse(x, [0])
layers.isfinite(x)
layers.has_nan(x)  # values only
layers.has_inf(x)  # values only
layers.increment(v1)  # values only
layers.increment(v1, 2.0, in_place=False)
layers.less_than(x, y)
layers.less_equal(x, y)
layers.greater_than(x, y)
layers.greater_equal(x, y)
layers.equal(x, y)
layers.not_equal(x, y)
layers.logical_and(c, c)
layers.logical_not(c)
layers.create_global_var([2], 1.5, 'float32', persistable=True, name='gv')
layers.create_parameter([2, 3], 'float32')
fluid.nets.simple_img_conv_pool(img, 4, 3, 2, 2, act='relu')
fluid.nets.img_conv_group(img, [4, 4], 2, conv_act='relu', conv_with_batchnorm=True, pool_stride=2)
fluid.nets.glu(x)
x + y
x + 1
1 - x
x / y
x < y
x == y
x[0]
-x
layers.piecewise_decay([2, 4], [0.1, 0.01, 0.001])
layers.cosine_decay(0.5, 2, 5)
layers.noam_decay(64, 4)
layers.exponential_decay(0.1, 2, 0.5)
layers.exponential_decay(0.1, 2, 0.5, staircase=True)
layers.natural_exp_decay(0.1, 2, 0.5)
layers.inverse_time_decay(0.1, 2, 0.5, True)
layers.polynomial_decay(0.1, 4, 0.01, 2.0)
layers.polynomial_decay(0.1, 4, 0.01, 2.0, cycle=True)
layers.linear_lr_warmup(0.1, 3, 0.0, 0.1)
"""
