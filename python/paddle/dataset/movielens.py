"""MovieLens' million ratings, a tenth of them to test with.

A sample is [user, gender, age, job, movie, its kinds, the words of its title, [rating]]: numbers, a
rating from -3 to 5.
"""

import functools
import re
import zipfile

import numpy as np

from . import common
from ._sets import SETS

(_file,) = SETS["movielens"].files
URL, MD5 = _file.url, _file.md5

age_table = [1, 18, 25, 35, 45, 50, 56]


class MovieInfo:
    """A movie: its number, kinds and title."""

    def __init__(self, index, categories, title):
        self.index = int(index)
        self.categories = categories
        self.title = title

    def value(self, known=None):
        """[number, numbers of its kinds, numbers of the words of its title]"""
        known = known or _tables()
        return [
            self.index,
            [known.categories[kind] for kind in self.categories],
            [known.words[word.lower()] for word in self.title.split()],
        ]

    def __repr__(self):
        return f"<MovieInfo id({self.index}), title({self.title}), categories({self.categories})>"


class UserInfo:
    """A user: number, gender, age and job."""

    def __init__(self, index, gender, age, job_id):
        self.index = int(index)
        self.is_male = gender == "M"
        self.age = age_table.index(int(age))
        self.job_id = int(job_id)

    def value(self):
        """[number, 0 for men or 1 for women, place in ``age_table``, job]"""
        return [self.index, 0 if self.is_male else 1, self.age, self.job_id]

    def __repr__(self):
        gender = "M" if self.is_male else "F"
        age = age_table[self.age]
        return f"<UserInfo id({self.index}), gender({gender}), age({age}), job({self.job_id})>"


class _Tables:
    """What users.dat and movies.dat say."""

    def __init__(self, path):
        self.path = path
        self.movies, self.users = {}, {}
        for number, title, kinds in _fields(path, "movies", 3):
            name = re.fullmatch(r"(.*)\(\d+\)", title)
            if name is None:
                raise ValueError(f"{path}: movie {number}: expected a title and (year): {title!r}")
            self.movies[int(number)] = MovieInfo(number, kinds.split("|"), name.group(1))
        for number, gender, age, job, _ in _fields(path, "users", 5):
            self.users[int(number)] = UserInfo(number, gender, age, job)
        kinds = {kind for movie in self.movies.values() for kind in movie.categories}
        words = {word.lower() for movie in self.movies.values() for word in movie.title.split()}
        # Sorted, so that every process numbers them alike.
        self.categories = {kind: number for number, kind in enumerate(sorted(kinds))}
        self.words = {word: number for number, word in enumerate(sorted(words))}


_read = None  # the last archive's _Tables


def _tables():
    global _read
    path = common.download(URL, "movielens", MD5)
    if _read is None or _read.path != path:
        _read = _Tables(path)
    return _read


def _fields(path, name, count):
    """The fields of each line of a file of the archive."""
    with zipfile.ZipFile(path) as archive, archive.open(f"ml-1m/{name}.dat") as file:
        for number, line in enumerate(file, 1):
            fields = line.decode("latin-1").strip().split("::")
            if len(fields) != count:
                raise ValueError(
                    f"{path}: ml-1m/{name}.dat: line {number}: expected {count} fields, found "
                    f"{len(fields)}"
                )
            yield fields


def _reader_creator(is_test, rand_seed=0, test_ratio=0.1, path=None):
    def reader():
        known = _tables() if path is None else _Tables(path)
        random = np.random.RandomState(rand_seed)
        for user, movie, rating, _ in _fields(known.path, "ratings", 4):
            if (random.random_sample() < test_ratio) == is_test:
                yield [
                    *known.users[int(user)].value(),
                    *known.movies[int(movie)].value(known),
                    [float(rating) * 2 - 5.0],
                ]

    return common.limited(reader)


train = functools.partial(_reader_creator, is_test=False)
test = functools.partial(_reader_creator, is_test=True)


def get_movie_title_dict():
    """The number of each word of the titles."""
    return _tables().words


def movie_categories():
    """The number of each kind of movies."""
    return _tables().categories


def max_movie_id():
    """The largest number of a movie."""
    return max(_tables().movies)


def max_user_id():
    """The largest number of a user."""
    return max(_tables().users)


def max_job_id():
    """The largest number of a job."""
    return max(user.job_id for user in _tables().users.values())


def user_info():
    """The users by number."""
    return _tables().users


def movie_info():
    """The movies by number."""
    return _tables().movies


def fetch():
    """Bring the archive into the cache."""
    common.download(URL, "movielens", MD5)
