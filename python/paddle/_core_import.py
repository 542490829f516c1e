"""Imports the core. Ctrl-C is answered afterwards: a module of nanobind that is dropped before it has
been executed crashes."""

import signal
import threading


def _load():
    import _flotilla  # noqa: F401


def _load_uninterrupted():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *what: heard.append(what))
    try:
        _load()
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        before(*heard[0])


_hears = threading.current_thread() is threading.main_thread()
if _hears and callable(signal.getsignal(signal.SIGINT)):
    _load_uninterrupted()
else:
    _load()
