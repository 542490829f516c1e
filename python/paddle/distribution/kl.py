"""How far distributions lie apart, by their classes."""

from .distributions import Distribution

__all__ = ["kl_divergence", "register_kl"]

_known = {}


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of ``q`` from ``p``, by what was registered for their classes,
    else by what ``p`` itself says."""
    for mine in type(p).__mro__:
        for theirs in type(q).__mro__:
            if (mine, theirs) in _known:
                return _known[mine, theirs](p, q)
    return p.kl_divergence(q)


def register_kl(cls_p, cls_q):
    """Let a function say how far a ``cls_q`` lies from a ``cls_p``: ``@register_kl(Mine, Normal)``."""
    for one in (cls_p, cls_q):
        if not (isinstance(one, type) and issubclass(one, Distribution)):
            raise TypeError(f"register_kl takes classes below Distribution, but got {one!r}")

    def decorate(function):
        _known[cls_p, cls_q] = function
        return function

    return decorate
