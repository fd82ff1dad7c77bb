"""Counts of words: the same whatever the shards, however they are merged; what words cover."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.parsed_corpora import stories, write_corpus
from treeviews.pipeline.shards.arrow import strings
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.vectors import word_counts as merging
from treeviews.pipeline.vectors.word_counts import (
    VocabularyConfig,
    count_shard,
    counts_path,
    coverage_by,
    merge_counts,
)
from treeviews.pipeline.vectors.word_lists import WordList, read_word_list

DOCUMENTS = {**stories(6), "odd": [["The", "the", "THE", "naïve", "É"], ["the", "a b"]]}


def counted(folder: Path, *, rows_per_shard: int = 9, lower_case: bool = False) -> tuple[Path, int]:
    """Returns the folder of the counts of a corpus, and how many shards it has."""
    sentences = write_corpus(folder / "corpus", DOCUMENTS, rows_per_shard=rows_per_shard).sentences
    numbers = range(len(read_dataset_manifest(sentences, "sentences").shards))
    for number in numbers:
        count_shard(sentences, number, folder / "counts", lower_case=lower_case)
    return folder / "counts", len(numbers)


def expected(*, lower_case: bool = False) -> list[tuple[str, int]]:
    tokens = (token for document in DOCUMENTS.values() for line in document for token in line)
    counts = Counter(token.lower() if lower_case else token for token in tokens)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0].encode()))


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, expected()),
        ({"lower_case": True}, expected(lower_case=True)),
        *(({"max_words": most}, expected()[:most]) for most in (1, 3, 7)),
        ({"min_count": 5}, [(word, count) for word, count in expected() if count >= 5]),
    ],
)
def test_the_most_frequent_words_are_kept_and_what_they_cover_is_reported(
    settings: dict[str, Any], kept: list[tuple[str, int]], tmp_path: Path
) -> None:
    config = VocabularyConfig.from_dict(settings)
    counts = counted(tmp_path, lower_case=config.lower_case)

    report = merge_counts(*counts, config, tmp_path / "out")

    listed = read_word_list(tmp_path / "out" / "words.parquet", remedy="")
    assert listed.counts is not None
    assert list(zip(listed.words.to_pylist(), listed.counts.tolist(), strict=True)) == kept
    everything = expected(lower_case=config.lower_case)
    total = sum(count for _, count in everything)
    assert (report["types"], report["tokens"]) == (len(everything), total)
    (by_size,) = report["by_size"]
    assert by_size["tokens"] == sum(count for _, count in kept)
    assert by_size["share_of_tokens"] == round(by_size["tokens"] / total, 6)
    often = [count for _, count in everything if count >= 5]
    from_five = next(row for row in report["by_min_count"] if row["min_count"] == 5)
    assert (from_five["types"], from_five["tokens"]) == (len(often), sum(often))


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


def test_no_words_and_damaged_counts_are_errors(tmp_path: Path) -> None:
    counts = counted(tmp_path)
    with pytest.raises(ValueError, match="no word stands 10000 times among"):
        merge_counts(*counts, VocabularyConfig(min_count=10_000), tmp_path / "out")
    path = counts_path(counts[0], 0)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"00000\.parquet: damaged or of another run: .*; delete"):
        merge_counts(*counts, VocabularyConfig(), tmp_path / "out")


def test_coverage_counts_types_and_tokens_as_a_token_is_looked_up() -> None:
    words = pa.array(["the", "Paris", "snow", "rain"], pa.large_string())
    found = coverage_by(strings(["the", "paris"]), WordList(words, np.array([9, 4, 2, 1])))
    assert found == {
        **{"exact_types": 1, "lower_cased_types": 1, "unknown_types": 2},
        **{"exact_tokens": 9, "lower_cased_tokens": 4, "unknown_tokens": 3},
        **{"share_of_types": 0.5, "share_of_tokens": 13 / 16},
        "most_frequent_unknown": ["snow", "rain"],
    }
