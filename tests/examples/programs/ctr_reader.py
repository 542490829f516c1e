"""Turns lines of Criteo's click log into slots; the pipe command of ctr_dnn.py and deepfm.py."""

import zlib

try:
    import paddle.distributed.fleet as dg  # 2.x
except ImportError:
    import paddle.fluid.incubate.data_generator as dg  # 1.8

CONT_MIN = [0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
CONT_DIFF = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
HASH_DIM = 100001


class CriteoDataset(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def iterator():
            features = line.rstrip("\n").split("\t")
            dense_feature = []
            for idx in range(1, 14):
                if features[idx] == "":
                    dense_feature.append(0.0)
                else:
                    value = float(features[idx])
                    dense_feature.append((value - CONT_MIN[idx - 1]) / CONT_DIFF[idx - 1])
            sparse_feature = [
                [zlib.crc32((str(idx) + features[idx]).encode()) % HASH_DIM]
                for idx in range(14, 40)
            ]
            names = ["dense_input"] + ["C" + str(i) for i in range(1, 27)] + ["label"]
            yield list(zip(names, [dense_feature] + sparse_feature + [[int(features[0])]]))

        return iterator


d = CriteoDataset()
d.run_from_stdin()
