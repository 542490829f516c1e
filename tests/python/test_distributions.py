"""Distributions of both eras. The numbers are those of 2.6.2 and of 1.8.5, which agree."""

import numpy as np
import paddle
import pytest
from paddle import distribution, fluid, static

LOC, SCALE = np.array([0.5, -1.0], "float32"), np.array([1.5, 0.3], "float32")
VALUE = np.array([0.2, 0.4], "float32")
LOGITS = np.array([[0.5, 0.2, 0.3], [0.1, 0.7, 0.9]], "float32")
ERAS = [distribution, fluid.layers]


def run(executor, *variables, **feed):
    return executor.run(feed=feed, fetch_list=list(variables))


def near(found, expected):
    np.testing.assert_allclose(found, np.reshape(expected, np.shape(found)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("era", ERAS)
def test_normal(executor, era):
    one, other = era.Normal(LOC, SCALE), era.Normal(SCALE, 2 * SCALE)
    made = (one.entropy(), one.log_prob(paddle.assign(VALUE)), one.kl_divergence(other))
    entropy, log, divergence = run(executor, *made)
    near(entropy, [1.824404, 0.214966])
    near(log, [-1.344404, -10.603854])
    near(divergence, [0.373703, 2.665369])


@pytest.mark.parametrize("era", ERAS)
def test_samples_of_numbers_and_of_arrays(executor, era):
    paddle.seed(3)
    made = [
        era.Normal(1.0, 2.0).sample([10000]),
        era.Normal(LOC, SCALE).sample([10000]),
        era.Uniform(1.0, 2.0).sample([10000]),
        era.Uniform(LOC, LOC + 1.0).sample([4, 2500], seed=7),
    ]
    normal, normals, uniform, uniforms = run(executor, *made)
    assert normal.shape == uniform.shape == (10000,)
    assert normals.shape == (10000, 2) and uniforms.shape == (4, 2500, 2)
    np.testing.assert_allclose([normal.mean(), normal.std()], [1, 2], atol=0.1)
    np.testing.assert_allclose(normals.mean(0), LOC, atol=0.1)
    np.testing.assert_allclose(normals.std(0), SCALE, atol=0.1)
    assert 1 <= uniform.min() < 1.01 and 1.99 < uniform.max() < 2
    np.testing.assert_allclose(uniforms.mean((0, 1)), LOC + 0.5, atol=0.05)


@pytest.mark.parametrize("era", ERAS)
def test_a_batch_that_is_known_when_the_program_runs(executor, era):
    x = static.data("x", [None, 2])
    one = era.Normal(x, x * 0.0 + 1.0)
    feed = {"x": np.ones((4, 2), "float32")}
    sample, entropy = run(executor, one.sample([3]), one.entropy(), **feed)
    assert sample.shape == (3, 4, 2)
    near(entropy, np.full((4, 2), 1.418939))
    (sample,) = run(executor, era.Uniform(x, x + 1.0).sample([3]), **feed)
    assert sample.shape == (3, 4, 2) and sample.min() >= 1 and sample.max() < 2


@pytest.mark.parametrize("era", ERAS)
def test_uniform(executor, era):
    one = era.Uniform(0.1, 0.3)
    made = run(executor, era.Uniform(0.0, 2.0).entropy(), one.log_prob(paddle.assign(VALUE)))
    near(made[0], [0.693147])
    near(made[1], [1.609438, -np.inf])


@pytest.mark.parametrize("era", ERAS)
def test_categorical(executor, era):
    one, other = era.Categorical(LOGITS), era.Categorical(LOGITS[::-1].copy())
    entropy, divergence = run(executor, one.entropy(), one.kl_divergence(other))
    assert entropy.shape == ((2,) if era is distribution else (2, 1)) and divergence.shape == (2, 1)
    near(entropy, [1.090636, 1.049611])
    near(divergence, [0.098731, 0.086696])


def test_densities_of_2x(executor):
    value, places = paddle.assign(VALUE), paddle.assign(np.array([2, 0]))
    made = [
        distribution.Normal(LOC, SCALE).probs(value),
        distribution.Uniform([0.1, 0.1], [0.3, 0.6]).probs(value),
        distribution.Normal(LOC, SCALE).prob(value),
        distribution.Categorical(LOGITS).probs(places),
        distribution.Categorical(LOGITS[0]).probs(places),
        distribution.Categorical(LOGITS).log_prob(paddle.assign(np.array([[2, 0], [1, 1]]))),
    ]
    expected = [
        [0.260695, 2.5e-05],
        [5.0, 2.0],
        [0.260695, 2.5e-05],
        [[0.3, 0.5], [0.529412, 0.058824]],
        [0.3, 0.5],
        [[-1.203973, -0.693147], [-0.887303, -0.887303]],
    ]
    for found, wanted in zip(run(executor, *made), expected):
        near(found, wanted)


def test_places_are_drawn_by_the_softmax(executor):
    paddle.seed(3)
    rows = distribution.Categorical(LOGITS).sample([50, 200])
    row = distribution.Categorical(LOGITS[0]).sample([10000])
    rows, row = run(executor, rows, row)
    assert rows.shape == (50, 200, 2) and row.shape == (10000,)
    likely = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    for number in range(2):
        counts = np.bincount(rows[:, :, number].ravel(), minlength=3)
        np.testing.assert_allclose(counts / 10000, likely[number], atol=0.03)
    np.testing.assert_allclose(np.bincount(row) / 10000, likely[0], atol=0.03)


def test_what_2x_says_of_a_distribution(executor):
    one = distribution.Normal(LOC, SCALE, name="mine")
    assert one.batch_shape == (2,) and one.event_shape == () and one.name == "mine"
    mean, variance = run(executor, one.mean, one.variance)
    near(mean, LOC)
    near(variance, SCALE**2)
    assert distribution.Normal(LOC.astype("float64"), SCALE).loc.dtype == "float64"
    assert fluid.layers.Normal(LOC.astype("float64"), SCALE).loc.dtype == "float32"


def test_gradients_go_through_samples(executor):
    loc = static.data("loc", [2])
    loc.stop_gradient = False
    sample = distribution.Normal(loc, loc * 0.0 + 1.0).rsample([5])
    (gradient,) = static.gradients([paddle.sum(sample)], [loc])
    near(run(executor, gradient, loc=LOC)[0], [5, 5])


def test_normals_side_by_side(executor):
    def one(loc, diagonal):
        parts = (paddle.assign(loc), paddle.assign(np.diag(diagonal).astype("float32")))
        return fluid.layers.MultivariateNormalDiag(*parts)

    first, second = one(LOC, [0.4, 0.5]), one(VALUE, [0.2, 0.6])
    entropy, divergence = run(executor, first.entropy(), first.kl_divergence(second))
    near(entropy, [2.033158])
    near(divergence, [2.019587])
    with pytest.raises(NotImplementedError, match="MultivariateNormalDiag has no sample"):
        first.sample([2])


def test_divergences_by_class(executor):
    class Mine(distribution.Normal):
        pass

    p, q = distribution.Normal(LOC, SCALE), distribution.Normal(SCALE, 2 * SCALE)
    near(run(executor, distribution.kl_divergence(p, q))[0], [0.373703, 2.665369])
    found = distribution.register_kl(Mine, distribution.Uniform)(lambda p, q: "found")
    mine, uniform = Mine(0.0, 1.0), distribution.Uniform(0.0, 1.0)
    assert found(mine, uniform) == distribution.kl_divergence(mine, uniform) == "found"
    with pytest.raises(NotImplementedError, match="Uniform has no kl_divergence"):
        distribution.kl_divergence(uniform, uniform)
    with pytest.raises(TypeError, match="classes below Distribution"):
        distribution.register_kl(int, Mine)


@pytest.mark.parametrize(
    "make, error, sentence",
    [
        (lambda: distribution.Normal("a", 1.0), TypeError, "loc must be a number, an array"),
        (lambda: distribution.Normal(paddle.assign(LOC), 1.0), ValueError, "must all be variables"),
        (lambda: distribution.Normal(0.0, 1.0).kl_divergence(3), TypeError, "other is a int"),
        (
            lambda: distribution.Normal(0.0, 1.0).log_prob(0.5),
            TypeError,
            "value must be a variable",
        ),
        (lambda: fluid.layers.Categorical(LOGITS).sample([3]), NotImplementedError, "entropy and"),
    ],
)
def test_refusals(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()
