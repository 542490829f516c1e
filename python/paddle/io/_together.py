"""Workers end a pass together.

In a collective job a worker whose data ends early would leave the others waiting for its gradients.
So a loader that feeds a program with exchanges asks the other workers before each batch whether all
have one; where one has none, the pass ends for all, with one line that says so. Where the strategy
averages over samples, it ends when none has one: a worker without a batch repeats its last one,
without weight. When a pass ends, workers compare their parameters.

Which loader feeds such a program is seen when the program runs: it is the one that gave the last
batch. Other loaders, say one that only the first worker evaluates with, ask nobody.
"""

import weakref

import _flotilla as core

_last = None  # the loader that gave the last batch, as a weak reference


class _Exchange:
    """What a loader must know of the program that it feeds."""

    def __init__(self, parameters, by_samples, scope):
        self.parameters, self.by_samples, self.scope = parameters, by_samples, scope


def exchanging(program):
    """What is to be called before a program with exchanges runs."""
    parameters = core.exchanged_parameters(program)
    by_samples = any(op.type == "weigh_by_samples" for op in program.global_block().ops)

    def feeds_exchange(scope):
        loader = None if _last is None else _last()
        if loader is not None and getattr(loader, "_exchange", None) is None:
            loader._exchange = _Exchange(parameters, by_samples, scope)

    return feeds_exchange


def together(loader, batches):
    """The batches of one pass over a loader of this worker."""
    if not core.workers_met() or core.ring(0)[1] == 1:
        return batches
    return Together(loader, batches)


class Together:
    """Batches for as long as every worker has one; or, where samples are weighed, any."""

    def __init__(self, loader, batches):
        self._loader, self._batches = loader, batches
        self._counts = [0] * core.ring(0)[1]  # of every worker, as far as it was asked

    def __iter__(self):
        return self

    def __next__(self):
        global _last
        batch = next(self._batches, None)
        exchange = getattr(self._loader, "_exchange", None)
        if exchange is not None:
            batch = self._agree(exchange, batch)
        elif batch is None:
            raise StopIteration
        else:
            self._counts = [count + 1 for count in self._counts]
        if exchange is None or exchange.by_samples:
            self._loader._kept = batch
        _last = weakref.ref(self._loader)
        return batch

    def _agree(self, exchange, batch):
        have = core.ask_workers(batch is not None)
        if not (any(have) if exchange.by_samples else all(have)):
            _say(self._counts, have)
            self.close()
            core.set_has_data(True)
            core.compare_parameters(exchange.parameters, exchange.scope)
            raise StopIteration
        self._counts = [count + one for count, one in zip(self._counts, have)]
        core.set_has_data(batch is not None)
        return self._loader._kept if batch is None else batch

    def close(self):
        """Ends the pass: nothing runs any more."""
        if hasattr(self._batches, "close"):
            self._batches.close()


def _say(counts, have):
    """One line, where data is uneven and this is the first worker."""
    if core.ring(0)[0] != 0 or not (any(have) or len(set(counts)) > 1):
        return
    if any(have):
        without = [str(rank) for rank, one in enumerate(have) if not one]
        what = f"{counts[0]} batches: worker{'s' * (len(without) > 1)} {', '.join(without)} had no more"
    else:
        listed = ", ".join(f"{count} of worker {rank}" for rank, count in enumerate(counts))
        what = f"{max(counts)} steps, of which those without a batch did not count: {listed}"
    print(f"All {len(counts)} workers end the pass after {what}", flush=True)
