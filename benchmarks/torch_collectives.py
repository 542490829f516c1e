"""One rank of PyTorch's side of ./bench comm; the environment says which. Rank 0 prints."""

import json
import sys
import time

import torch
import torch.distributed as dist

BYTES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 100 << 20]
BATCH_SECONDS = 0.0001
LEAST_BATCHES = 5


def best_of(seconds, tensor):
    """Seconds of one all-reduce, from the best batch of several; rank 0 says how many calls."""
    dist.all_reduce(tensor)
    begin, best, batch = time.perf_counter(), 1.0, 0
    while True:
        calls = max(1, int(BATCH_SECONDS / best))
        if batch >= LEAST_BATCHES and time.perf_counter() - begin > seconds:
            calls = 0
        plan = torch.tensor([calls])
        dist.broadcast(plan, 0)
        calls = int(plan)
        if calls == 0:
            return best
        start = time.perf_counter()
        for _ in range(calls):
            dist.all_reduce(tensor)
        best = min(best, (time.perf_counter() - start) / calls)
        batch += 1


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for size in BYTES:
        best = best_of(float(sys.argv[1]), torch.zeros(size // 4))
        if dist.get_rank() == 0:
            print(json.dumps({"what": "pytorch", "bytes": size, "us": best * 1e6}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
