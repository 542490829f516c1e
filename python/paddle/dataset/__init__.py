"""The data sets of the fluid era, each a module with readers of its samples.

A set is looked for in the cache (``common.DATA_HOME``, or $PADDLE_DATA_HOME), then downloaded, and
otherwise generated, with a notice. ``python -m paddle.dataset --list`` tells what is there.
"""
