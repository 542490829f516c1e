"""Workers end a pass together.

In a collective job a worker whose data ends early would leave the others waiting for its gradients.
So a loader that feeds a program with exchanges asks the other workers before each batch whether all
have one; where one has none, the pass ends for all, with one line that says so.

Which loader feeds such a program is seen when the program runs: it is the one that gave the last
batch. Other loaders, say one that only the first worker evaluates with, ask nobody.
"""

import weakref

import _flotilla as core

_last = None  # the loader that gave the last batch, as a weak reference


def feeds_exchange(scope=None):
    """Called before a program with exchanges runs."""
    loader = None if _last is None else _last()
    if loader is not None:
        loader._asks_others = True


def together(loader, batches):
    """The batches of one pass over a loader of this worker."""
    if not core.workers_met() or core.ring(0)[1] == 1:
        return batches
    return Together(loader, batches)


class Together:
    """Batches for as long as every worker has one."""

    def __init__(self, loader, batches):
        self._loader, self._batches = loader, batches
        self._count = 0

    def __iter__(self):
        return self

    def __next__(self):
        global _last
        batch = next(self._batches, None)
        if getattr(self._loader, "_asks_others", False):
            have = core.ask_workers(batch is not None)
            if not all(have):
                _say(have, self._count)
                self.close()
                raise StopIteration
        elif batch is None:
            raise StopIteration
        _last = weakref.ref(self._loader)
        self._count += 1
        return batch

    def close(self):
        """Ends the pass: nothing runs any more."""
        if hasattr(self._batches, "close"):
            self._batches.close()


def _say(have, count):
    """One line, where data is uneven and this is the first worker."""
    if any(have) and core.ring(0)[0] == 0:
        without = [str(rank) for rank, one in enumerate(have) if not one]
        print(
            f"All {len(have)} workers end the pass after {count} batches: "
            f"worker{'s' * (len(without) > 1)} {', '.join(without)} had no more",
            flush=True,
        )
