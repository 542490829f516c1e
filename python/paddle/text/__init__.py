"""Sets of text and tables in the API of 2.x: ``paddle.text.Imdb`` is ``text.datasets.Imdb``."""

from . import datasets  # noqa: F401
from .datasets import Imdb, Imikolov, Movielens, UCIHousing

__all__ = ["Imdb", "Imikolov", "Movielens", "UCIHousing"]
