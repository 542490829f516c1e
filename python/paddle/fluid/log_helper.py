"""Loggers."""

import logging


__all__ = ["get_logger"]


def get_logger(name, level, fmt=None):
    """A logger with a handler of its own, whose messages go no further."""
    logger = logging.getLogger(name)
    logger.setLevel(level)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(fmt=fmt))
    logger.addHandler(handler)
    logger.propagate = False
    return logger
