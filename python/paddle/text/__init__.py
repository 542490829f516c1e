"""Sets of text and tables in the API of 2.x: ``paddle.text.Imdb`` is ``text.datasets.Imdb``."""

from . import datasets  # noqa: F401
from .datasets import WMT14, WMT16, Conll05st, Imdb, Imikolov, Movielens, UCIHousing

__all__ = ["Conll05st", "Imdb", "Imikolov", "Movielens", "UCIHousing", "WMT14", "WMT16"]
