"""Metrics: of programs, and put together batch by batch."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import metric, static

SCORES = np.random.RandomState(0).rand(40, 5).astype("float32")
LABELS = np.random.RandomState(1).randint(0, 5, (40, 1))


def share(k):
    order = np.argsort(-SCORES, axis=1)[:, :k]
    return (order == LABELS).any(1).mean()


def area(chance, label):
    """The share of pairs in the right order."""
    hits, misses = chance[label == 1], chance[label == 0]
    pairs = hits[:, None] - misses[None]
    return ((pairs > 0) + 0.5 * (pairs == 0)).mean()


@pytest.mark.parametrize(
    "make",
    [metric.accuracy, static.accuracy, fluid.layers.accuracy],
    ids=["metric", "static", "fluid"],
)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_accuracy_of_a_program(executor, make, k):
    x, y = static.data("x", [None, 5]), static.data("y", [None, 1], "int64")
    correct = static.create_global_var([1], 0, "int32", name="correct")
    found = executor.run(
        feed={"x": SCORES, "y": LABELS},
        fetch_list=[make(input=x, label=y, k=k, correct=correct), correct],
    )
    assert abs(found[0].item() - share(k)) < 1e-6
    assert found[1].item() == round(share(k) * 40)


@pytest.mark.parametrize("make", [static.auc, fluid.layers.auc], ids=["static", "fluid"])
def test_auc_of_a_program(executor, make):
    x, y = static.data("x", [None, 2]), static.data("y", [None, 1], "int64")
    total, last, stats = make(input=x, label=y, num_thresholds=2**12, slide_steps=1)
    executor.run(static.default_startup_program())
    chance = np.random.RandomState(2).rand(3, 50).astype("float32")
    label = (np.random.RandomState(3).rand(3, 50) < chance).astype("int64")
    for step in range(3):
        feed = {"x": np.stack([1 - chance[step], chance[step]], 1), "y": label[step][:, None]}
        found = executor.run(feed=feed, fetch_list=[total, last, *stats])
        so_far = area(chance[: step + 1].ravel(), label[: step + 1].ravel())
        assert abs(found[0].item() - so_far) < 2e-3
        assert abs(found[1].item() - area(chance[step], label[step])) < 2e-3
        assert found[4].sum() == label[: step + 1].sum()


def test_accuracy_batch_by_batch():
    one, several = metric.Accuracy(), metric.Accuracy(topk=(1, 3))
    for rows in (slice(0, 16), slice(16, 40)):
        batch = one.compute(SCORES[rows], LABELS[rows])
        assert one.update(batch) == batch.mean()
        several.update(several.compute(SCORES[rows], LABELS[rows]))
    assert abs(one.accumulate() - share(1)) < 1e-6
    np.testing.assert_allclose(several.accumulate(), [share(1), share(3)], rtol=1e-6)
    assert one.name() == ["acc"] and several.name() == ["acc_top1", "acc_top3"]
    one.reset()
    assert one.accumulate() == 0


def test_accuracy_computes_in_a_program(executor):
    x, y = static.data("x", [None, 5]), static.data("y", [None, 1], "int64")
    accuracy = metric.Accuracy(topk=(1, 2))
    made = accuracy.compute(x, y)
    accuracy.update(executor.run(feed={"x": SCORES, "y": LABELS}, fetch_list=[made])[0])
    np.testing.assert_allclose(accuracy.accumulate(), [share(1), share(2)], rtol=1e-6)


def test_precision_recall_and_area():
    chance = np.random.RandomState(4).rand(200)
    label = (np.random.RandomState(5).rand(200) < chance).astype("int64")
    said = chance >= 0.5
    expected = {
        "precision": (said & (label == 1)).sum() / said.sum(),
        "recall": (said & (label == 1)).sum() / label.sum(),
        "auc": area(chance, label),
    }
    for made in (metric.Precision(), metric.Recall(), metric.Auc()):
        for rows in (slice(0, 90), slice(90, 200)):
            preds = chance[rows]
            if made.name() == "auc":
                preds = np.stack([1 - preds, preds], 1)
            made.update(preds, label[rows])
        assert abs(made.accumulate() - expected[made.name()]) < 2e-3
        made.reset()
        assert made.accumulate() == 0


def test_the_words_of_fluid():
    accuracy = fluid.metrics.Accuracy()
    accuracy.update(value=0.5, weight=10)
    accuracy.update(value=np.array([1.0]), weight=30)
    assert abs(accuracy.eval().item() - 0.875) < 1e-9
    both = fluid.metrics.CompositeMetric()
    both.add_metric(fluid.metrics.Precision())
    both.add_metric(fluid.metrics.Recall())
    both.update(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1]))
    assert both.eval() == [0.5, 0.5]
    auc = fluid.metrics.Auc("auc")
    auc.update(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0], [1]]))
    assert auc.eval() == 1.0 and str(auc) == "auc"


def test_wrong_use():
    with pytest.raises(ValueError, match="never called"):
        fluid.metrics.Accuracy().eval()
    with pytest.raises(ValueError, match="negative"):
        fluid.metrics.Accuracy().update(1.0, -1)
    with pytest.raises(ValueError, match="ROC"):
        metric.Auc(curve="PR")
    with pytest.raises(TypeError):
        metric.Metric()
    with pytest.raises(TypeError, match="a metric is expected"):
        fluid.metrics.CompositeMetric().add_metric(paddle)
