import pytest
import torch
from torch import Tensor

from pipeline.parsers.fast_layers import WordCache, words_at_once


class _Reader:
    """Gives a word's length and its array's width, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[set[str], int]] = []

    def __call__(self, words: list[str], width: int) -> Tensor:
        assert len(words) == words_at_once(width)
        self.asked.append((set(words), width))
        return torch.tensor([[float(len(word)), float(width)] for word in words])


def _cache(reader: _Reader, capacity: int = 10) -> WordCache:
    return WordCache(reader, table=torch.empty(capacity, 2), widths=(2, 4))


def test_each_word_gets_its_own_vector_also_where_words_repeat() -> None:
    vectors = _cache(_Reader()).vectors(["abc", "a", "abc", "ab"])
    assert vectors.tolist() == [[3, 4], [1, 2], [3, 4], [2, 2]]


def test_a_word_is_read_once() -> None:
    reader = _Reader()
    cache = _cache(reader)
    cache.remember(["a", "abc"])
    cache.vectors(["abc", "a", "b"])
    assert reader.asked == [({"a"}, 2), ({"abc"}, 4), ({"b"}, 2)]


def test_a_long_word_is_read_by_its_first_characters_and_kept_apart() -> None:
    cache = _cache(_Reader())
    assert cache.vectors(["abcdefgh", "abcdxxxx"]).tolist() == [[4, 4], [4, 4]]
    assert len(cache) == 2


def test_more_words_than_are_read_at_once() -> None:
    at_once = words_at_once(4)
    words = [str(number) for number in range(1000, 1000 + 2 * at_once + 3)]
    reader = _Reader()
    assert _cache(reader, capacity=1000).vectors(words).shape == (len(words), 2)
    assert [len(asked) for asked, _ in reader.asked] == [at_once, at_once, 3]


def test_of_long_words_fewer_are_read_at_once() -> None:
    assert words_at_once(64) < words_at_once(12)
    reader = _Reader()
    cache = WordCache(reader, table=torch.empty(100, 2), widths=(2, 64))
    words = [f"{number:030d}" for number in range(words_at_once(64) + 1)]
    assert cache.vectors(words).shape == (len(words), 2)
    assert [len(asked) for asked, _ in reader.asked] == [words_at_once(64), 1]


def test_a_full_cache_is_emptied_and_keeps_to_its_capacity() -> None:
    cache = _cache(_Reader(), capacity=3)
    cache.vectors(["a", "b"])
    assert cache.vectors(["c", "a", "dddd"]).tolist() == [[1, 2], [1, 2], [4, 4]]
    assert len(cache) == 3


def test_words_are_read_ahead_as_far_as_there_is_room() -> None:
    cache = _cache(_Reader(), capacity=3)
    cache.remember(["a", "b", "c", "d"])
    assert len(cache) == 3


def test_more_words_at_once_than_the_cache_holds_are_refused() -> None:
    with pytest.raises(ValueError, match="4 distinct words in a cache of 3"):
        _cache(_Reader(), capacity=3).vectors(["a", "b", "c", "d"])
