"""Readers: functions without arguments that give an iterator over samples, and what wraps them.

Readers that work ahead in threads or processes (``buffered``, ``xmap_readers``,
``multiprocess_reader``) end them when the last sample is read, when an error arrives, and when the
iterator is closed or forgotten. An error in a thread or process is raised where samples are read.
"""

from .decorator import (  # noqa: F401
    ComposeNotAligned,
    buffered,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    multiprocess_reader,
    shuffle,
    xmap_readers,
)

__all__ = [
    *("cache", "map_readers", "buffered", "compose", "chain", "shuffle", "ComposeNotAligned"),
    *("firstn", "xmap_readers", "multiprocess_reader"),
]
