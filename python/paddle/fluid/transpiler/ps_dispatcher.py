"""Which server keeps a variable."""

import zlib


__all__ = ["HashName", "PSDispatcher", "RoundRobin"]


class PSDispatcher:
    """Says which server keeps a variable."""

    def __init__(self, pserver_endpoints):
        self._eps = list(pserver_endpoints)
        self.reset()

    @property
    def eps(self):
        return self._eps

    def reset(self):
        self._step = 0


class RoundRobin(PSDispatcher):
    """One server after the other."""

    def dispatch(self, varlist):
        first, self._step = self._step, self._step + len(varlist)
        return [self._eps[(first + i) % len(self._eps)] for i in range(len(varlist))]


class HashName(PSDispatcher):
    """The server that the name of the variable leads to."""

    def dispatch(self, varlist):
        names = [one if isinstance(one, str) else one.name for one in varlist]
        return [self._eps[zlib.crc32(name.encode()) % len(self._eps)] for name in names]
