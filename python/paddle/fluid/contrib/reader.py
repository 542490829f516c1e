"""Readers that 1.x kept aside."""

import itertools

import _flotilla as core

__all__ = ["distributed_batch_reader"]


def distributed_batch_reader(batch_reader):
    """A reader of every trainer's batches of ``batch_reader``: of each ``PADDLE_TRAINERS_NUM`` one
    after the other, trainer i has the i-th. What is left at the end is dropped.
    """

    def mine():
        role = core.data_role_from_environment()
        batches = iter(batch_reader())
        while len(round := list(itertools.islice(batches, role.workers))) == role.workers:
            yield round[role.index]

    return mine
