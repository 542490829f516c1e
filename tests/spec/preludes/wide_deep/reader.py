"""Lines of click logs in Criteo's format: label, 13 numbers, 26 words, with tabs between."""

import pathlib
import zlib

from model import DENSE, ROWS


class WideDeepDataset:
    def __init__(self, data_path):
        self.files = sorted(pathlib.Path(data_path).iterdir())

    def __call__(self):
        for file in self.files:
            for line in file.read_text().splitlines():
                label, *fields = line.split("\t")
                numbers = [float(text or 0) / 1000 for text in fields[:DENSE]]
                words = [f"{slot} {text}".encode() for slot, text in enumerate(fields[DENSE:])]
                ids = [[zlib.crc32(word) % ROWS] for word in words]
                yield [numbers, *ids, [int(label)]]
