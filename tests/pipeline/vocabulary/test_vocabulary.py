"""Counts of words: the same whatever the shards, however they are merged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipeline.shards.arrow import strings
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.vectors.word_list import WordList, read_word_list, write_word_list
from pipeline.vocabulary import merge_counts as merging
from pipeline.vocabulary.count_shard import count_shard, counts_path
from pipeline.vocabulary.coverage import coverage_by
from pipeline.vocabulary.merge_counts import VocabularyConfig, merge_counts
from tests.support.parsed_corpora import stories, write_corpus

DOCUMENTS = {
    **stories(6),
    "odd": [["The", "the", "THE", "naïve", "É"], ["the", "a b"]],
}


def counted(folder: Path, *, rows_per_shard: int, lower_case: bool = False) -> tuple[Path, int]:
    """Returns the folder of the counts of a corpus, and how many shards it has."""
    sentences = write_corpus(folder / "corpus", DOCUMENTS, rows_per_shard=rows_per_shard).sentences
    numbers = range(len(read_dataset_manifest(sentences, "sentences").shards))
    for number in numbers:
        count_shard(sentences, number, folder / "counts", lower_case=lower_case)
    return folder / "counts", len(numbers)


def expected(*, lower_case: bool = False) -> list[tuple[str, int]]:
    tokens = (token for document in DOCUMENTS.values() for one in document for token in one)
    found = Counter(token.lower() if lower_case else token for token in tokens)
    return sorted(found.items(), key=lambda item: (-item[1], item[0].encode()))


def words_of(folder: Path) -> list[tuple[str, int]]:
    listed = read_word_list(folder / "words.parquet", remedy="")
    assert listed.counts is not None
    return list(zip(listed.words.to_pylist(), listed.counts.tolist(), strict=True))


@pytest.mark.parametrize("lower_case", [False, True])
def test_words_are_counted_by_frequency_and_then_by_their_bytes(
    lower_case: bool, tmp_path: Path
) -> None:
    counts, num = counted(tmp_path, rows_per_shard=9, lower_case=lower_case)
    merge_counts(counts, num, VocabularyConfig(), tmp_path / "out")
    assert words_of(tmp_path / "out") == expected(lower_case=lower_case)


def test_shards_and_the_way_of_merging_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = counted(tmp_path / "few", rows_per_shard=1_000)
    many = counted(tmp_path / "many", rows_per_shard=4)
    merge_counts(*few, VocabularyConfig(), tmp_path / "one")
    monkeypatch.setattr(merging, "_FILES_AT_ONCE", 3)
    merge_counts(*many, VocabularyConfig(), tmp_path / "two")

    assert few[1] == 1 and many[1] > 9
    for name in ("words.parquet", "vocabulary.json"):
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert one == two


@pytest.mark.parametrize("most", [1, 3, 7])
def test_the_most_frequent_words_are_kept_whatever_came_first(most: int, tmp_path: Path) -> None:
    counts, num = counted(tmp_path, rows_per_shard=9)
    merge_counts(counts, num, VocabularyConfig(max_words=most), tmp_path / "out")
    assert words_of(tmp_path / "out") == expected()[:most]


def test_rare_words_are_left_out_and_what_is_covered_is_told(tmp_path: Path) -> None:
    counts, num = counted(tmp_path, rows_per_shard=9)

    report = merge_counts(counts, num, VocabularyConfig(min_count=5), tmp_path / "out")

    often = [(word, count) for word, count in expected() if count >= 5]
    total = sum(count for _, count in expected())
    assert words_of(tmp_path / "out") == often
    assert (report["types"], report["tokens"]) == (len(expected()), total)
    (by_size,) = report["by_size"]
    assert by_size["tokens"] == sum(count for _, count in often)
    assert by_size["share_of_tokens"] == round(by_size["tokens"] / total, 6)
    from_five = next(one for one in report["by_min_count"] if one["min_count"] == 5)
    assert (from_five["types"], from_five["tokens"]) == (len(often), by_size["tokens"])


def test_a_vocabulary_of_no_words_is_an_error(tmp_path: Path) -> None:
    counts, num = counted(tmp_path, rows_per_shard=9)
    with pytest.raises(ValueError, match="no word stands 10000 times among"):
        merge_counts(counts, num, VocabularyConfig(min_count=10_000), tmp_path / "out")


def test_what_is_counted_is_not_counted_again_unless_the_shard_changed(tmp_path: Path) -> None:
    counted(tmp_path, rows_per_shard=1_000)
    path = counts_path(tmp_path / "counts", 0)
    before = path.stat().st_ino
    count_shard(tmp_path / "corpus" / "sentences", 0, tmp_path / "counts")
    assert path.stat().st_ino == before
    other = write_corpus(tmp_path / "other", stories(2)).sentences
    count_shard(other, 0, tmp_path / "counts")
    assert path.stat().st_ino != before


def test_damaged_counts_are_named(tmp_path: Path) -> None:
    counts, num = counted(tmp_path, rows_per_shard=1_000)
    path = counts_path(counts, 0)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"00000\.parquet: damaged or of another run: .*; delete it"
    ):
        merge_counts(counts, num, VocabularyConfig(), tmp_path / "out")


def test_coverage_tells_types_and_tokens_as_a_token_is_looked_up(tmp_path: Path) -> None:
    words = pa.array(["the", "Paris", "snow", "rain"], pa.large_string())
    found = coverage_by(strings(["the", "paris"]), WordList(words, np.array([9, 4, 2, 1])))
    assert (found.exact_types, found.lower_cased_types, found.unknown_types) == (1, 1, 2)
    assert (found.exact_tokens, found.lower_cased_tokens, found.unknown_tokens) == (9, 4, 3)
    assert found.share_of_tokens == pytest.approx(13 / 16)
    assert found.most_frequent_unknown == ("snow", "rain")


def test_a_list_of_words_comes_back_as_it_was_written(tmp_path: Path) -> None:
    for counts in (None, np.array([2, 1])):
        write_word_list(tmp_path / "w.parquet", WordList(strings(["é", "a b"]), counts))
        back = read_word_list(tmp_path / "w.parquet", remedy="")
        assert back.words.to_pylist() == ["é", "a b"]
        assert (back.counts is None) == (counts is None)
