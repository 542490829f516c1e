"""MQ2007 of LETOR: how relevant documents are to the queries of a search engine, 0 to 2.

``train(format)`` and ``test(format)`` iterate over samples: ``pointwise`` (relevance, 46 features)
of a document; ``pairwise`` (label 1, features of the more relevant document, of the less relevant
one); ``listwise`` all relevances and features of a query; ``plain_txt`` (query, relevance,
features). The archive is one that Python cannot unpack, so its folder is looked for in the cache;
there is no generated set in its place.
"""

import functools
import os

import numpy as np

from . import common
from ._sets import SETS

(_file,) = SETS["mq2007"].files
URL, MD5 = _file.url, _file.md5

_FEATURES = 46


class Query:
    """A document that was found for a query."""

    def __init__(self, query_id=-1, relevance_score=-1, feature_vector=None, description=""):
        self.query_id = query_id
        self.relevance_score = relevance_score
        self.feature_vector = [] if feature_vector is None else feature_vector
        self.description = description

    @classmethod
    def parsed(cls, line, where, fill_missing):
        """``2 qid:10 1:0.25 ... 46:0.5 #docid = ...``; features that are left out get a value."""
        fields, _, description = line.partition("#")
        try:
            relevance, query, *features = fields.split()
            values = dict(feature.split(":") for feature in features)
            vector = [float(values.get(str(i + 1), fill_missing)) for i in range(_FEATURES)]
            return cls(int(query.split(":")[1]), int(relevance), vector, description.strip())
        except (ValueError, IndexError) as error:
            raise ValueError(
                f"{where}: expected `relevance qid:n 1:x ... {_FEATURES}:x`, found {fields!r}"
            ) from error


class QueryList(list):
    """The documents of one query."""

    @property
    def query_id(self):
        return self[0].query_id if self else -1


def _ranked(documents):
    """The most relevant first; equal ones stay in order."""
    return sorted(documents, key=lambda one: -one.relevance_score)


def gen_plain_txt(querylist):
    for one in _ranked(querylist):
        yield one.query_id, one.relevance_score, np.array(one.feature_vector)


def gen_point(querylist):
    for one in _ranked(querylist):
        yield one.relevance_score, np.array(one.feature_vector)


def gen_pair(querylist, partial_order="full"):
    """Each document beside every less relevant one, or, with ``neighbour``, the one below it."""
    ranked = _ranked(querylist)
    for place, better in enumerate(ranked):
        below = ranked[place + 1 :] if partial_order == "full" else ranked[place + 1 : place + 2]
        for worse in below:
            if better.relevance_score > worse.relevance_score:
                yield np.array([1]), np.array(better.feature_vector), np.array(worse.feature_vector)


def gen_list(querylist):
    ranked = _ranked(querylist)
    scores = [[one.relevance_score] for one in ranked]
    yield np.array(scores), np.array([one.feature_vector for one in ranked])


def query_filter(querylists):
    """Without queries for which no document is relevant."""
    return [one for one in querylists if any(document.relevance_score for document in one)]


def load_from_text(filepath, shuffle=False, fill_missing=-1):
    """The documents of each query of a file, queries in the order of the file or shuffled."""
    path = os.path.join(common.DATA_HOME, filepath)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is missing; download {URL} and unpack it into "
            f"{os.path.join(common.DATA_HOME, 'MQ2007')}"
        )
    queries = {}
    with open(path) as file:
        for number, line in enumerate(file, 1):
            one = Query.parsed(line, f"{path}: line {number}", fill_missing)
            queries.setdefault(one.query_id, QueryList()).append(one)
    found = list(queries.values())
    if shuffle:
        np.random.shuffle(found)
    return found


_FORMATS = {
    "plain_txt": gen_plain_txt,
    "pointwise": gen_point,
    "pairwise": gen_pair,
    "listwise": gen_list,
}


def _samples(filepath, format="pairwise", shuffle=False, fill_missing=-1):
    if format not in _FORMATS:
        raise ValueError(f"format must be one of {', '.join(_FORMATS)}, but is {format!r}")
    for documents in query_filter(load_from_text(filepath, shuffle, fill_missing)):
        yield from _FORMATS[format](documents)


train = functools.partial(_samples, filepath="MQ2007/MQ2007/Fold1/train.txt")
test = functools.partial(_samples, filepath="MQ2007/MQ2007/Fold1/test.txt")


def fetch():
    """Bring the archive into the cache; it has to be unpacked there by hand."""
    return common.download(URL, "MQ2007", MD5)
