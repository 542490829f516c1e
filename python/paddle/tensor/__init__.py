"""Functions of variables."""

__all__ = []
