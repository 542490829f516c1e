"""Layers over sequences and of click and word models, in programs that train."""

import numpy as np
import paddle.fluid as fluid
import pytest
from paddle.fluid import layers

WORDS, TAGS = 12, 3


def batches(count, seed=0):
    """Sequences of words of changing length, and whether words below 6 are in the majority."""
    random = np.random.RandomState(seed)
    for _ in range(count):
        lengths = random.randint(1, 6, size=8).tolist()
        words = random.randint(0, WORDS, size=(sum(lengths), 1)).astype("int64")
        cuts = np.cumsum(lengths)[:-1]
        low = [int((one < 6).mean() > 0.5) for one in np.split(words, cuts)]
        yield words, lengths, np.array(low, "int64").reshape(-1, 1)


def with_lengths(rows, lengths):
    return fluid.create_lod_tensor(rows, [lengths], fluid.CPUPlace())


def train(executor, loss, feeds, rate=0.05):
    fluid.optimizer.Adam(rate).minimize(loss)
    executor.run(fluid.default_startup_program())
    return [float(executor.run(feed=feed, fetch_list=[loss])[0]) for feed in feeds]


def test_a_program_with_an_lstm_and_a_gru_learns(executor):
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    label = fluid.data("label", [None, 1], "int64")
    seen = layers.embedding(words, [WORDS, 8])
    lstm, _ = layers.dynamic_lstm(layers.fc(seen, 32), 32)
    gru = layers.dynamic_gru(layers.fc(seen, 24), 8, is_reverse=True)
    pooled = [layers.sequence_pool(lstm, "max"), layers.sequence_last_step(gru)]
    guess = layers.fc(pooled, 2, act="softmax")
    loss = layers.mean(layers.cross_entropy(guess, label))
    feeds = [
        {"words": with_lengths(rows, lengths), "label": low} for rows, lengths, low in batches(60)
    ]
    losses = train(executor, loss, feeds)
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:5])


def test_attention_over_sequences_learns(executor):
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    label = fluid.data("label", [None, 1], "int64")
    seen = layers.embedding(words, [WORDS, 8])
    query = layers.fc(layers.sequence_pool(seen, "average"), 8)
    match = layers.reduce_sum(seen * layers.sequence_expand(query, seen), 1, keep_dim=True)
    weights = layers.sequence_softmax(match)
    context = layers.sequence_pool(layers.elementwise_mul(seen, weights, axis=0), "sum")
    guess = layers.fc(context, 2, act="softmax")
    loss = layers.mean(layers.cross_entropy(guess, label))
    feeds = [
        {"words": with_lengths(rows, lengths), "label": low} for rows, lengths, low in batches(60)
    ]
    losses = train(executor, loss, feeds)
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:5])


def test_sequences_that_an_op_makes_go_on(executor):
    """What is cut out of sequences and joined again has sequences that other ops see."""
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    seen = layers.embedding(words, [WORDS, 4], param_attr="table")
    zero = layers.sequence_pool(layers.cast(words, "float32") * 0.0, "sum")
    one = layers.cast(zero + 1.0, "int64")
    first = layers.sequence_slice(seen, one * 0, one)
    both = layers.sequence_concat([first, layers.sequence_reverse(seen)])
    total = layers.sequence_pool(both, "sum")
    loss = layers.reduce_sum(total)
    grad = fluid.gradients([loss], [seen])[0]
    executor.run(fluid.default_startup_program())
    for rows, lengths, _ in batches(3):
        feed = {"words": with_lengths(rows, lengths)}
        found = executor.run(feed=feed, fetch_list=[seen, both, total, grad], return_numpy=False)
        table, joined, sums, grads = (np.array(one) for one in found)
        pieces = np.split(table, np.cumsum(lengths)[:-1])
        expected = [np.concatenate([piece[:1], piece[::-1]]) for piece in pieces]
        np.testing.assert_allclose(joined, np.concatenate(expected), rtol=1e-6)
        longer = [length + 1 for length in lengths]
        assert found[1].recursive_sequence_lengths() == [longer]
        np.testing.assert_allclose(sums, [one.sum(0) for one in expected], rtol=1e-4, atol=1e-6)
        starts = np.zeros(len(table))
        starts[np.cumsum([0, *lengths[:-1]])] = 1
        np.testing.assert_allclose(grads, np.tile(1 + starts[:, None], 4), rtol=1e-6)


@pytest.mark.parametrize(
    "words",
    [
        {"sampler": "uniform"},
        {"sampler": "log_uniform", "is_sparse": True},
        {"sampler": "custom_dist", "custom_dist": [1 / WORDS] * WORDS, "seed": 3},
    ],
    ids=lambda words: words["sampler"],
)
def test_word_vectors_learn_with_nce(executor, words):
    """The word behind word w is w + 1."""
    center = fluid.data("center", [None, 1], "int64")
    behind = fluid.data("behind", [None, 1], "int64")
    seen = layers.embedding(center, [WORDS, 8], is_sparse=words.get("is_sparse", False))
    cost = layers.nce(layers.reshape(seen, [-1, 8]), behind, WORDS, num_neg_samples=4, **words)
    loss = layers.mean(cost)
    random = np.random.RandomState(1)
    feeds = []
    for _ in range(80):
        now = random.randint(0, WORDS, size=(16, 1)).astype("int64")
        feeds.append({"center": now, "behind": (now + 1) % WORDS})
    losses = train(executor, loss, feeds)
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:5])


def test_nce_draws_anew_in_each_run_unless_it_has_a_seed(executor):
    """The program's seed repeats the whole job, not its steps."""
    fluid.default_main_program().random_seed = 7
    x = fluid.data("x", [None, 8])
    label = fluid.data("label", [None, 1], "int64")
    for seed in (0, 5):
        layers.nce(x, label, 1000, num_neg_samples=20, seed=seed)
    ops = fluid.default_main_program().global_block().ops
    drawn = [op.output("SampleLabels")[0] for op in ops if op.type == "nce"]
    executor.run(fluid.default_startup_program())
    feed = {"x": np.ones([2, 8], "float32"), "label": np.ones([2, 1], "int64")}
    first, second = (executor.run(feed=feed, fetch_list=drawn) for _ in range(2))
    assert (first[0] != second[0]).any()
    assert (first[1] == second[1]).all()


def test_refusals_of_nce():
    x = fluid.data("x", [None, 8])
    label = fluid.data("label", [None, 1], "int64")
    with pytest.raises(
        ValueError, match="sampler must be one of uniform, log_uniform, custom_dist"
    ):
        layers.nce(x, label, 5, sampler="even")
    with pytest.raises(ValueError, match="needs custom_dist, 5 probabilities"):
        layers.nce(x, label, 5, sampler="custom_dist", custom_dist=[0.5, 0.5])


def test_hsigmoid_learns(executor):
    x = fluid.data("x", [None, WORDS])
    label = fluid.data("label", [None, 1], "int64")
    loss = layers.mean(layers.hsigmoid(x, label, WORDS))
    random = np.random.RandomState(1)
    feeds = []
    for _ in range(40):
        now = random.randint(0, WORDS, size=(16, 1)).astype("int64")
        feeds.append({"x": np.eye(WORDS, dtype="float32")[now[:, 0]], "label": now})
    losses = train(executor, loss, feeds, rate=0.2)
    assert np.mean(losses[-5:]) < 0.5 * losses[0]


def test_data_norm_starts_from_its_summaries_and_sees_batches(executor):
    x = fluid.data("x", [None, 2])
    first = {"batch_size": 10.0, "batch_sum": 5.0, "batch_square": 40.0}
    out = layers.data_norm(x, name="norm", param_attr=first, epsilon=0.0)
    loss = layers.reduce_sum(out)
    fluid.optimizer.SGD(1.0).minimize(loss)
    executor.run(fluid.default_startup_program())
    rows = np.array([[1, 2], [3, 5]], "float32")
    (found,) = executor.run(feed={"x": rows}, fetch_list=[out])
    np.testing.assert_allclose(found, (rows - 0.5) * 0.5, rtol=1e-6)
    # The gradients are what the batch adds: SGD takes them away once.
    scope = fluid.global_scope()
    after = {
        word: np.array(scope.find_var(f"norm.{word}").get_tensor())
        for word in ("batch_size", "batch_sum", "batch_square_sum")
    }
    np.testing.assert_allclose(after["batch_size"], [8, 8])
    np.testing.assert_allclose(after["batch_sum"], [1, -2])
    np.testing.assert_allclose(after["batch_square_sum"], 40 - ((rows - 0.5) ** 2).sum(0))


def test_tags_are_learnt_and_found(executor):
    """A word's tag follows from the word and the one before it."""
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    tags = fluid.data("tags", [None, 1], "int64", lod_level=1)
    scores = layers.fc(layers.embedding(words, [WORDS, 8]), TAGS)
    loss = layers.mean(layers.linear_chain_crf(scores, tags, fluid.ParamAttr(name="crf")))
    right = layers.crf_decoding(scores, fluid.ParamAttr(name="crf"), label=tags)
    feeds = []
    for rows, lengths, _ in batches(40):
        answer = with_lengths(rows % TAGS, lengths)
        feeds.append({"words": with_lengths(rows, lengths), "tags": answer})
    losses = train(executor, loss, feeds, rate=0.1)
    assert losses[-1] < 0.3 * losses[0]
    (found,) = executor.run(feed=feeds[0], fetch_list=[right], return_numpy=False)
    assert np.array(found).mean() > 0.9


def test_documents_of_sentences_of_changing_length(executor):
    words = fluid.data("words", [None, 2], "float32", lod_level=2)
    documents = layers.sequence_pool(layers.sequence_pool(words, "sum"), "average")
    doubled = layers.scale(documents, 2.0)
    # As many documents and sentences in the second batch as in the first, but more words.
    for documents_of, sentences_of in (([2, 1], [2, 1, 3]), ([2, 1], [4, 1, 2]), ([1, 3], [1] * 4)):
        rows = np.arange(2.0 * sum(sentences_of), dtype="float32").reshape(-1, 2)
        feed = fluid.create_lod_tensor(rows, [documents_of, sentences_of], fluid.CPUPlace())
        (found,) = executor.run(feed={"words": feed}, fetch_list=[doubled])
        sums = [part.sum(0) for part in np.split(rows, np.cumsum(sentences_of)[:-1])]
        means = [
            np.mean(part, 0) for part in np.split(np.array(sums), np.cumsum(documents_of)[:-1])
        ]
        np.testing.assert_allclose(found, 2 * np.array(means), rtol=1e-6)
