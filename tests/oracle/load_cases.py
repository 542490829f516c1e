"""Small programs in the words of Paddle 1.8 whose serialized form or whose sequences are unusual.

Each case is a function that builds a net with a loss to be minimized and returns the variables to
look at; FEEDS holds what it is fed, as (array, lengths of sequences or None) for each step.
"""

import numpy as np
import paddle.fluid as fluid

L = fluid.layers
CASES = {}
FEEDS = {}

# Two documents of three and two sentences, then three of one, three and one: in words.
NESTED = ([[3, 2], [2, 1, 3, 1, 2]], [[1, 3, 1], [4, 1, 2, 1, 1]])
FLAT = ([[2, 4, 1]], [[3, 1, 2]])


def case(feeds):
    def add(build):
        CASES[build.__name__] = build
        FEEDS[build.__name__] = feeds
        return build

    return add


def rows(lengths, width=3, seed=0):
    count = sum(lengths[-1]) if lengths else 4
    values = np.random.RandomState(seed).uniform(-1, 1, (count, width))
    return values.astype("float32"), lengths


def words(lengths, seed=0):
    ids = np.random.RandomState(seed).randint(0, 9, (sum(lengths[-1]), 1))
    return ids.astype("int64"), lengths


def sequences(all_lengths):
    return [{"x": rows(lengths, seed=step)} for step, lengths in enumerate(all_lengths)]


def dense(names=("x",), width=3):
    return [
        {name: rows(None, width, 10 * step + i) for i, name in enumerate(names)}
        for step in range(2)
    ]


def data(name="x", width=3, levels=0):
    return L.data(name, [width], dtype="float32", lod_level=levels)


def hidden(levels, size=4):
    """What depends on parameters, so that gradients flow through the op that follows."""
    return L.fc(data(levels=levels), size, act="tanh")


# ---- gradient ops with fewer inputs than those of later releases


@case(sequences(FLAT))
def unpad():
    padded, lengths = L.sequence_pad(hidden(1), L.fill_constant([1], "float32", 0.5), maxlen=5)
    return [L.sequence_pool(L.sequence_unpad(L.scale(padded, 2.0), lengths), "sqrt")]


@case(sequences(FLAT))
def unpad_scaled():
    """The gradient passes ops that know of no sequences before it comes to the one that must."""
    padded, lengths = L.sequence_pad(hidden(1), L.fill_constant([1], "float32", 0.5), maxlen=5)
    return [L.fc(L.scale(L.sequence_unpad(padded, lengths), 3.0), 2, act="sigmoid")]


@case([{"x": rows(None, 32, step)} for step in range(2)])
def group_norm():
    image = L.reshape(L.fc(data(width=32), 32), [-1, 4, 2, 4])
    return [L.group_norm(image, 2, epsilon=1e-3), L.group_norm(image, 4, param_attr=False)]


@case([dict(feed, i=(np.array([[1], [0], [2], [1]], "int32"), None)) for feed in dense()])
def multiplex():
    choices = [L.fc(data(), 2, act="tanh"), L.fc(data(), 2), L.fc(data(), 2, act="relu")]
    return [L.multiplex(choices, L.data("i", [1], dtype="int32"))]


@case(dense()[:1])  # its summaries are no parameters that SGD should change
def data_norm():
    return [L.data_norm(L.fc(data(), 4), name="dn")]


# ---- intermediate variables without a real element type


@case(
    [
        dict(
            feed,
            y=(np.array([[1], [7], [0], [3]], "int64"), None),
            s=(np.array([[y, 2, 5, 9] for y in (1, 7, 0, 3)], "int64"), None),
            p=(np.full((4, 4), 0.25, "float32"), None),
        )
        for feed in dense()
    ]
)
def sampled_softmax():
    label = L.data("y", [1], dtype="int64")
    samples = L.data("s", [4], dtype="int64")
    probabilities = L.data("p", [4], dtype="float32")
    return [
        L.sampled_softmax_with_cross_entropy(
            L.fc(data(), 12), label, 3, use_customized_samples=True,
            customized_samples=samples, customized_probabilities=probabilities,
        )
    ]  # fmt: skip


# ---- sequences of sequences


@case(sequences(NESTED))
def nested_pool():
    sentences = L.sequence_pool(hidden(2), "sum")
    return [sentences, L.sequence_pool(sentences, "average")]


@case(sequences(NESTED))
def nested_steps():
    h = hidden(2)
    first, last = L.sequence_first_step(h), L.sequence_last_step(h)
    best = L.sequence_pool(h, "max")
    return [L.sequence_last_step(first), L.sequence_first_step(last), L.sequence_pool(best, "max")]


@case(sequences(NESTED))
def nested_softmax():
    weights = L.sequence_softmax(hidden(2, 1))
    return [weights, L.sequence_pool(weights, "max")]


@case(
    [
        {"x": rows([[1] * len(nested[0])], seed=step), "y": rows(nested, seed=9 + step)}
        for step, nested in enumerate(NESTED)
    ]
)
def nested_expand():
    x, y = hidden(1), data("y", levels=2)
    return [L.sequence_expand(x, y, ref_level=0)]


@case(
    [
        {
            "x": (np.ones((sum(nested[0]), 3), "float32") * step, None),
            "y": rows(nested, seed=9 + step),
        }
        for step, nested in enumerate(NESTED)
    ]
)
def nested_expand_last():
    x, y = hidden(0), data("y", levels=2)
    return [L.sequence_expand(x, y, ref_level=1), L.sequence_expand(x, y, ref_level=-1)]


@case([{"x": words(nested, step)} for step, nested in enumerate(NESTED)])
def nested_words():
    ids = L.data("x", [1], dtype="int64", lod_level=2)
    embedded = L.embedding(ids, [9, 3], is_sparse=True)
    return [L.sequence_pool(L.sequence_pool(embedded, "sqrt"), "sum")]


@case([{"x": words(nested, step)} for step, nested in enumerate(NESTED)])
def nested_erase():
    ids = L.data("x", [1], dtype="int64", lod_level=2)
    helper = fluid.layer_helper.LayerHelper("sequence_erase")
    kept = helper.create_variable_for_type_inference("int64")
    helper.append_op(
        type="sequence_erase", inputs={"X": ids}, outputs={"Out": kept}, attrs={"tokens": [3, 5]}
    )
    return [L.embedding(kept, [9, 3])]


@case(sequences(NESTED))
def nested_reset():
    h = hidden(2)
    whole = L.lod_reset(h, target_lod=[0, 4, 9])
    appended = L.lod_append(L.sequence_pool(h, "sum"), list(range(6)))
    return [L.sequence_pool(whole, "sum"), L.sequence_pool(appended, "sum")]


@case(sequences(NESTED))
def nested_rowwise():
    """Ops that know nothing of sequences keep all levels."""
    h = L.relu(L.elementwise_add(hidden(2), L.fc(data(levels=2), 4)))
    h = L.layer_norm(L.dropout(h, 0.0))
    return [h, L.sequence_pool(L.sequence_pool(L.concat([h, h], 1), "last"), "first")]


def build(name):
    """Main and startup program, and the names of the loss and of what the case looks at."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.unique_name.guard(), fluid.program_guard(main, startup):
        looked_at = CASES[name]()
        loss = L.sum([L.reduce_mean(L.square(v)) for v in looked_at])
        fluid.optimizer.SGD(0.5).minimize(loss)
    fetches = [loss.name] + [v.name for v in looked_at]
    return main, startup, fetches, sorted(var.name for var in main.all_parameters())


def parameters(main, names):
    """Values by rule for all that is trained."""
    found = {}
    for seed, name in enumerate(names):
        values = np.random.RandomState(seed).uniform(0.2, 0.8, main.global_block().var(name).shape)
        found[name] = values.astype("float32")
    return found


def train(name, main, startup, fetches, trained):
    """What every step gives, as {step/place: array, and lengths where there are sequences}.

    `trained` names the parameters, since files of Paddle 1.8 do not tell them from other variables.
    """
    found = {}
    scope = fluid.Scope()
    with fluid.scope_guard(scope):
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        values = parameters(main, trained)
        for parameter, value in values.items():
            scope.find_var(parameter).get_tensor().set(value, fluid.CPUPlace())
        for step, feed in enumerate(FEEDS[name]):
            fed = {
                key: fluid.create_lod_tensor(value, lengths, fluid.CPUPlace()) if lengths else value
                for key, (value, lengths) in feed.items()
            }
            results = executor.run(main, feed=fed, fetch_list=fetches, return_numpy=False)
            for place, result in enumerate(results):
                found[f"{step}/{place}"] = np.array(result)
                for level, lengths in enumerate(result.recursive_sequence_lengths()):
                    found[f"{step}/{place}/level {level}"] = np.array(lengths, "int64")
        for parameter in values:
            found[f"after/{parameter}"] = np.array(scope.find_var(parameter).get_tensor())
    return found
