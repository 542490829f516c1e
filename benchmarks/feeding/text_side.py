"""Reads text through QueueDataset: one program for real Paddle and for Flotilla.

    python text_side.py FILE PIPE_COMMAND        prints the seconds
    python text_side.py FILE parser=criteo       the same with a parser that only Flotilla has

The program that runs on each batch does next to nothing, so that the time is that of reading.
"""

import sys
import time
import zlib  # noqa: F401 - before Paddle, as in worker.py

import paddle

BATCH = 512


def slots():
    dense = paddle.static.data("dense_input", [None, 13], "float32")
    categories = [
        paddle.static.data(f"C{i}", [None, 1], "int64", lod_level=1) for i in range(1, 27)
    ]
    label = paddle.static.data("label", [None, 1], "int64")
    return [dense, *categories, label]


def main(file, command):
    paddle.enable_static()
    main_program, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main_program, startup):
        use_var = slots()
        paddle.mean(use_var[0])
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(startup)
    dataset = paddle.distributed.QueueDataset()
    parser = command.removeprefix("parser=")
    how = {"pipe_command": command} if parser == command else {"parser": parser}
    dataset.init(batch_size=BATCH, thread_num=1, use_var=use_var, **how)
    dataset.set_filelist([file])
    start = time.perf_counter()
    executor.train_from_dataset(main_program, dataset)
    print("seconds", time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
