"""Generated sentences: with translations, and with the roles of their words."""

import numpy as np
import pytest
from paddle import dataset


@pytest.fixture(autouse=True)
def home(generated_home):
    return generated_home


def backwards(words):
    return [word[::-1] for word in reversed(words)]


def test_wmt14():
    source, target = dataset.wmt14.get_dict(500)
    for reader, count in ((dataset.wmt14.train, 4000), (dataset.wmt14.test, 400)):
        samples = list(reader(500)())
        assert len(samples) == count
        said, answer, after = samples[0]
        said, answer = [source[n] for n in said], [target[n] for n in answer]
        assert (said[0], said[-1], answer[0]) == ("<s>", "<e>", "<s>")
        assert answer[1:] == backwards(said[1:-1]) and "<unk>" not in said
        assert [target[n] for n in after] == [*answer[1:], "<e>"]
    assert len(list(dataset.wmt14.gen(500)())) == 400
    assert list(dataset.wmt14.test(500)()) != list(dataset.wmt14.gen(500)())


def test_wmt16():
    words = {lang: dataset.wmt16.get_dict(lang, 500, reverse=True) for lang in ("en", "de")}
    assert [words["de"][n] for n in range(3)] == ["<s>", "<e>", "<unk>"]
    for reader, count in ((dataset.wmt16.train, 4000), (dataset.wmt16.validation, 400)):
        samples = list(reader(500, 500, "de")())
        assert len(samples) == count
        said, answer, _ = samples[-1]
        said, answer = [words["de"][n] for n in said[1:-1]], [words["en"][n] for n in answer[1:]]
        assert answer == backwards(said)
    assert len(list(dataset.wmt16.test(500, 500)())) == 400


def test_conll05():
    words, verbs, roles = dataset.conll05.get_dict()
    samples = list(dataset.conll05.test()())
    assert len(samples) == 2000 and len(roles) == 9
    assert {len(one) for one in samples[0]} == {len(samples[0][0])} and len(samples[0]) == 9
    role_of = {number: role for role, number in roles.items()}
    for said, *around, verb, marks, labels in samples[:200]:
        at = [role_of[label] for label in labels].index("B-V")
        assert around[2] == [said[at]] * len(said) and verb[0] in verbs.values()
        assert marks[at] == 1 and sum(marks) <= 5
    width = 32
    vectors = np.fromfile(dataset.conll05.get_embedding(), "float32", offset=16)
    assert vectors.reshape(-1, width).shape == (len(words), width)
