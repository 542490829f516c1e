"""Reads sequences of words of different lengths with an LSTM, and says whether most of a sequence
comes from the first half of the vocabulary.

    python lstm.py --steps 20 --init 1
"""

import example
import numpy as np
from paddle import fluid
from paddle.fluid import layers

options = example.parse(steps=20, init=0, batch=32)
WORDS, WIDTH = 100, 16

words = fluid.data("words", [None, 1], "int64", lod_level=1)
label = fluid.data("label", [None, 1], "int64")
seen = layers.embedding(words, [WORDS, WIDTH])
gates = layers.fc(seen, 4 * WIDTH, bias_attr=False)
hidden, _ = layers.dynamic_lstm(gates, 4 * WIDTH)
prediction = layers.fc(layers.sequence_pool(hidden, "average"), 2, act="softmax")
loss = layers.mean(layers.cross_entropy(prediction, label))
fluid.optimizer.Adam(0.05).minimize(loss)


def batch(step):
    lengths = example.integers(f"lengths/{step}", [options.batch], 1, 10)
    words = example.integers(f"words/{step}", [int(lengths.sum())], 0, WORDS)
    low = [np.sum(one < WORDS // 2) for one in np.split(words, np.cumsum(lengths)[:-1])]
    labels = (2 * np.array(low) > lengths).astype("int64")
    sequences = fluid.create_lod_tensor(words.reshape(-1, 1), [lengths.tolist()], fluid.CPUPlace())
    return {"words": sequences, "label": labels.reshape(-1, 1)}


example.train(loss, options.steps, options.init, batch)
