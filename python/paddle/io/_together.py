"""Workers end a pass together: see flotilla/job/even_loader.h."""

import _flotilla as core


def together(loader, batches):
    """The batches of one pass over a loader of this worker."""
    return Together(loader, batches) if core.fleet.met() > 1 else batches


class Together:
    """Batches for as long as every worker has one; or, where samples are weighed, any."""

    def __init__(self, loader, batches):
        self._batches = batches
        if not hasattr(loader, "_even"):  # it knows from pass to pass which program it feeds
            loader._even = core.fleet.even_loader()
        self._even = loader._even
        self._even.begin()

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._even.next(next(self._batches, None))
        except StopIteration:
            self.close()
            raise

    def close(self):
        """Ends the pass: nothing runs any more."""
        if hasattr(self._batches, "close"):
            self._batches.close()
