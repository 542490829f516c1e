"""Tags the words of sequences: whether a word, and the one before it, comes from the first half of
the vocabulary. Filters see a word with its neighbours, a chain (CRF) which tags follow others.

    python tagger.py --steps 20 --init 1
"""

import example
import numpy as np
from paddle import fluid
from paddle.fluid import layers

options = example.parse(steps=20, init=0, batch=32)
WORDS, WIDTH, TAGS = 100, 16, 4

words = fluid.data("words", [None, 1], "int64", lod_level=1)
tags = fluid.data("tags", [None, 1], "int64", lod_level=1)
seen = layers.embedding(words, [WORDS, WIDTH])
hidden = layers.sequence_conv(seen, WIDTH, act="tanh")
scores = layers.fc(hidden, TAGS)
loss = layers.mean(layers.linear_chain_crf(scores, tags))
fluid.optimizer.Adam(0.05).minimize(loss)


def batch(step):
    lengths = example.integers(f"lengths/{step}", [options.batch], 1, 10)
    words = example.integers(f"words/{step}", [int(lengths.sum())], 0, WORDS)
    low = (words < WORDS // 2).astype("int64")
    before = np.concatenate([[0], low[:-1]])
    before[np.cumsum(lengths)[:-1]] = 0  # nothing stands before the first word
    place, recursive = fluid.CPUPlace(), [lengths.tolist()]
    columns = {"words": words, "tags": low + 2 * before}
    return {
        name: fluid.create_lod_tensor(column.reshape(-1, 1), recursive, place)
        for name, column in columns.items()
    }


example.train(loss, options.steps, options.init, batch)
