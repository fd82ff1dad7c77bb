"""Reading parsed corpora: alignment, what is skipped, and who is held out."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from models.config.held_out import HoldOut
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus, Selection
from models.corpus.sentence_block import SentenceBlock
from models.training.batches import TrainingBatches
from models.words.word_vectors import WordVectors, load_word_vectors
from pipeline.shards.manifests import write_dataset_manifest
from tests.support.parsed_corpora import (
    chain_heads,
    left_branching,
    stories,
    write_corpus,
    write_vectors,
)

TREES = ("DEP", "CONST")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> WordVectors:
    return load_word_vectors(write_vectors(tmp_path_factory.mktemp("vectors") / "english"))


def test_arrays_are_those_of_the_shards(tmp_path: Path, vectors: WordVectors) -> None:
    documents = {"one": [["the", "cat"], ["the", "Dog", "zzz"]], "two": [["again"]]}
    folders = write_corpus(tmp_path, documents)

    block = ParsedCorpus(folders, vectors, views=TREES).read(0)

    words = [vectors.words[i] for i in block.token_ids]
    assert words == ["the", "cat", "the", "dog", "", "again"]
    assert block.offsets.tolist() == [0, 2, 5, 6]
    assert block.inner_offsets.tolist() == [0, 1, 3, 3]
    assert block.heads is not None
    assert block.heads.tolist() == [*chain_heads(2), *chain_heads(3), *chain_heads(1)]
    assert block.binary_left is not None
    assert block.binary_right is not None
    assert block.binary_left.tolist() == left_branching(2)[0] + left_branching(3)[0]
    assert block.binary_right.tolist() == left_branching(2)[1] + left_branching(3)[1]
    assert block.sentence_index.tolist() == [0, 1, 0]
    assert block.documents[0] == block.documents[1] != block.documents[2]


def test_rows_count_over_all_shards(tmp_path: Path, vectors: WordVectors) -> None:
    folders = write_corpus(tmp_path, stories(3, sentences=5), rows_per_shard=4)

    corpus = ParsedCorpus(folders, vectors, views=TREES)

    assert [block.rows.tolist() for block in corpus.blocks()] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
        [12, 13, 14],
    ]


def test_rows_without_a_needed_parse_are_skipped_and_counted(
    tmp_path: Path, vectors: WordVectors
) -> None:
    folders = write_corpus(
        tmp_path, stories(1, sentences=6), without_heads=[1], without_constituents=[1, 4]
    )

    corpus = ParsedCorpus(folders, vectors, views=TREES)

    assert corpus.read(0).rows.tolist() == [0, 2, 3, 5]
    assert corpus.read(0).sentence_index.tolist() == [0, 2, 3, 5]
    assert corpus.survey().skipped == {"no_constituents": 1, "no_dependencies": 1}


def test_a_parse_that_no_view_needs_may_be_absent(tmp_path: Path, vectors: WordVectors) -> None:
    folders = write_corpus(tmp_path, stories(1, sentences=6), without_constituents=[0, 1])

    block = ParsedCorpus(folders.changed(constituents=None), vectors, views=("SEQ", "DEP")).read(0)

    assert len(block) == 6
    assert block.binary_left is None


def test_long_sentences_are_skipped_and_counted(tmp_path: Path, vectors: WordVectors) -> None:
    folders = write_corpus(tmp_path, {"one": [["the"] * 3, ["the"] * 4, ["the"] * 5]})

    corpus = ParsedCorpus(folders, vectors, views=TREES, selection=Selection(max_tokens=4))

    assert corpus.read(0).rows.tolist() == [0, 1]
    assert corpus.survey().skipped == {"too_long": 1}


def test_the_survey_counts_sentences_and_known_tokens(tmp_path: Path, vectors: WordVectors) -> None:
    folders = write_corpus(tmp_path, {"one": [["the", "zzz"], ["The", "cat"]]}, rows_per_shard=1)

    survey = ParsedCorpus(folders, vectors, views=TREES).survey()

    assert survey.rows == (1, 1)
    assert (survey.coverage.exact, survey.coverage.lower_cased) == (2, 1)
    assert survey.coverage.unknown == 1


def test_held_out_and_training_documents_are_apart_and_together_all(
    tmp_path: Path, vectors: WordVectors
) -> None:
    folders = write_corpus(tmp_path, stories(40, sentences=2), rows_per_shard=7)

    def rows(part: str) -> set[int]:
        selection = Selection(part, HoldOut(fraction=0.4, seed=5))  # type: ignore[arg-type]
        corpus = ParsedCorpus(folders, vectors, views=TREES, selection=selection)
        return {int(row) for block in corpus.blocks() for row in block.rows}

    train, held_out = rows("train"), rows("held_out")
    assert train
    assert held_out
    assert train.isdisjoint(held_out)
    assert train | held_out == rows("all")
    assert all((row ^ 1) in train for row in train)  # a document is never split


def test_held_out_is_a_function_of_name_fraction_and_seed() -> None:
    names = [f"document-{number}" for number in range(4000)]
    chosen = [HoldOut(fraction=0.3, seed=0).takes(name) for name in names]

    assert chosen == [HoldOut(fraction=0.3, seed=0).takes(name) for name in names]
    assert np.mean(chosen) == pytest.approx(0.3, abs=0.03)
    assert chosen != [HoldOut(fraction=0.3, seed=1).takes(name) for name in names]
    assert all(
        HoldOut(fraction=0.5, seed=0).takes(n) for n, c in zip(names, chosen, strict=True) if c
    )
    assert not any(HoldOut(fraction=0.0, seed=0).takes(name) for name in names)
    assert all(HoldOut(fraction=1.0, seed=0).takes(name) for name in names)


def test_stages_of_different_corpora_are_refused(tmp_path: Path, vectors: WordVectors) -> None:
    folders = write_corpus(tmp_path / "a", stories(2, sentences=5), rows_per_shard=4)
    fewer_rows = write_corpus(tmp_path / "b", stories(2, sentences=4), rows_per_shard=3)
    fewer_shards = write_corpus(tmp_path / "c", stories(2, sentences=5))

    with pytest.raises(ValueError, match=r"00000\.parquet: 3 rows, but .*00000\.parquet has 4"):
        ParsedCorpus(folders.changed(dependencies=fewer_rows.dependencies), vectors, views=TREES)
    with pytest.raises(ValueError, match=r"1 shards, but .* has 3"):
        ParsedCorpus(folders.changed(constituents=fewer_shards.constituents), vectors, views=TREES)


def test_parses_of_another_text_are_refused_by_file_and_row(
    tmp_path: Path, vectors: WordVectors
) -> None:
    folders = write_corpus(tmp_path / "a", {"one": [["the", "cat"], ["the", "dog"]]})
    other = write_corpus(tmp_path / "b", {"one": [["the", "cat"], ["the", "dog", "sees"]]})
    corpus = ParsedCorpus(
        folders.changed(dependencies=other.dependencies), vectors, views=("DEP", "SEQ")
    )

    with pytest.raises(ValueError, match=r"00000\.parquet: row 1: heads does not fit"):
        corpus.read(0)


def test_parses_whose_manifests_name_other_sentences_are_refused(
    tmp_path: Path, vectors: WordVectors
) -> None:
    folders = write_corpus(tmp_path / "a", stories(2), says_what_was_parsed=True)
    other = write_corpus(tmp_path / "b", {"z": [["the", "cat"]] * 16}, says_what_was_parsed=True)
    ParsedCorpus(folders, vectors, views=TREES)

    with pytest.raises(ValueError, match=r"dependencies/00000\.parquet: these are parses of ano"):
        ParsedCorpus(folders.changed(dependencies=other.dependencies), vectors, views=TREES)


@pytest.mark.parametrize("stage", ["sentences", "dependencies", "constituents"])
def test_a_flipped_bit_in_any_stage_is_refused(
    tmp_path: Path, vectors: WordVectors, stage: str
) -> None:
    corpus = ParsedCorpus(write_corpus(tmp_path, stories(2)), vectors, views=TREES)
    corpus.read(0)
    path = tmp_path / stage / "00000.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 4
    path.write_bytes(content)

    with pytest.raises(ValueError, match=rf"{stage}/00000\.parquet: sha256 differs .* delete"):
        corpus.read(0)


def test_an_incomplete_stage_is_refused(tmp_path: Path, vectors: WordVectors) -> None:
    folders = write_corpus(tmp_path, stories(1))
    (folders.sentences / "manifest.json").unlink()

    with pytest.raises(FileNotFoundError, match="this stage is not complete"):
        ParsedCorpus(folders, vectors, views=("SEQ", "SEQ"))


def test_a_view_whose_folder_is_missing_is_refused(tmp_path: Path, vectors: WordVectors) -> None:
    folders = CorpusFolders(sentences=write_corpus(tmp_path, stories(1)).sentences)

    with pytest.raises(ValueError, match="view CONST needs the constituents folder"):
        ParsedCorpus(folders, vectors, views=("SEQ", "CONST"))
    with pytest.raises(ValueError, match="unknown view 'AMR'; known: SEQ"):
        ParsedCorpus(folders, vectors, views=("AMR", "SEQ"))


def test_an_empty_corpus_gives_no_sentences(tmp_path: Path, vectors: WordVectors) -> None:
    (tmp_path / "sentences").mkdir()
    write_dataset_manifest(tmp_path / "sentences", "sentences", config={})
    folders = CorpusFolders(sentences=tmp_path / "sentences")

    assert ParsedCorpus(folders, vectors, views=("SEQ", "SEQ")).survey().num_sentences == 0


def test_taking_and_slicing_agree(tmp_path: Path, vectors: WordVectors) -> None:
    block = ParsedCorpus(write_corpus(tmp_path, stories(2)), vectors, views=TREES).read(0)

    sliced = block.slice(3, 9)
    taken = block.take(np.arange(3, 9))

    for name in ("token_ids", "offsets", "documents", "sentence_index", "rows", "heads"):
        np.testing.assert_array_equal(getattr(sliced, name), getattr(taken, name))
    np.testing.assert_array_equal(sliced.binary_left, taken.binary_left)
    np.testing.assert_array_equal(sliced.binary_right, taken.binary_right)


def test_taking_in_another_order_moves_whole_sentences(
    tmp_path: Path, vectors: WordVectors
) -> None:
    documents = {"one": [["the"], ["the", "cat", "sees"], ["again", "here"]]}
    block = ParsedCorpus(write_corpus(tmp_path, documents), vectors, views=TREES).read(0)

    turned = block.take(np.array([2, 1, 1]))

    words = [vectors.words[i] for i in turned.token_ids]
    assert words == ["again", "here", "the", "cat", "sees", "the", "cat", "sees"]
    assert turned.heads is not None
    assert turned.heads.tolist() == [0, 1, 0, 1, 2, 0, 1, 2]
    assert turned.binary_left is not None
    assert turned.binary_left.tolist() == [-1, 1, -1, 1, -1]


def peak_of_an_epoch(folders: CorpusFolders, vectors: WordVectors, shards: int) -> int:
    """Returns the most bytes held by Python, numpy and Arrow while a corpus is trained on."""
    corpus = ParsedCorpus(folders, vectors, views=TREES)
    assert corpus.num_shards == shards
    arrow = 0
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    batches = TrainingBatches(corpus, corpus.survey().rows, batch_size=20, seed=0)
    for _ in batches.from_step(0, epochs=1, read_ahead=True):
        arrow = max(arrow, pa.total_allocated_bytes() - before)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak + arrow


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, vectors: WordVectors) -> None:
    # Two shards are in memory, the one that is used and the next.
    few, many = (
        write_corpus(tmp_path / str(shards), stories(shards * 125), rows_per_shard=1000)
        for shards in (4, 12)
    )
    # What is set up once, and the fixed block through which files are hashed at first.
    peak_of_an_epoch(few, vectors, 4)
    peak_of_an_epoch(many, vectors, 12)
    # Whether both are in memory at once in a short run is a matter of the reading thread's luck.
    peak = max(peak_of_an_epoch(few, vectors, 4) for _ in range(3))

    assert peak_of_an_epoch(many, vectors, 12) < 1.2 * peak


def test_shuffling_moves_words_within_their_sentences(tmp_path: Path, vectors: WordVectors) -> None:
    documents = {f"{k}": [["the", "cat", "sees", "again", "here", f"x{k}"]] for k in range(9)}
    block = ParsedCorpus(write_corpus(tmp_path, documents), vectors, views=("DEP",)).read(0)

    moved = block.shuffled("words")

    assert block.shuffled("nothing") is block
    assert moved.heads is block.heads
    assert not np.array_equal(block.token_ids, moved.token_ids)
    splits = (np.split(each.token_ids, 9) for each in (block, moved))
    for one, other in zip(*splits, strict=True):
        assert sorted(one.tolist()) == sorted(other.tolist())
    assert len(block.slice(0, 0).shuffled("words")) == 0
    alone = block.slice(4, 5).shuffled("words")
    assert np.array_equal(alone.token_ids, moved.slice(4, 5).token_ids)


def test_a_word_has_no_place_of_its_own_among_the_shuffled() -> None:
    sentences, length = 2000, 10
    words = np.random.default_rng(0).integers(2, 500, (sentences, length)).astype(np.int32)
    words[:, 0] = 1
    block = SentenceBlock(
        token_ids=words.ravel(),
        offsets=np.arange(0, sentences * length + 1, length),
        documents=np.zeros(sentences, dtype=np.int32),
        sentence_index=np.arange(sentences, dtype=np.int32),
        rows=np.arange(sentences),
    )

    places = np.flatnonzero(block.shuffled("words").token_ids == 1) % length

    counts = np.bincount(places, minlength=length)
    assert counts.sum() == sentences
    assert counts.min() > 150  # of 200 expected; five standard deviations are 67
