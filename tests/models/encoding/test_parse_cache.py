"""Tokens and parses are made once for a list of sentences, whichever encoders read it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.encoders import CountingParser, torch_encoder
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import random_model
from treeviews.models.config.training_presets import preset
from treeviews.models.config.views import needed_stages
from treeviews.models.encoding import encoder as encoder_module
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.sentence_parser import Sentence
from treeviews.pipeline.trees.flat_trees import Parse

SENTENCES = ["the cat sees the dog", "", "the mouse", "crash here", "dog", "no tree of it", "a b c"]


class Fails(CountingParser):
    """A parser that must not be asked."""

    def parse(self, sentences: Sequence[Sentence]) -> list[Parse | Refusal]:
        raise AssertionError(f"{self.stage} was asked for {len(sentences)} sentences")


class Killed(CountingParser):
    """A parser whose process ends at its second piece."""

    def parse(self, sentences: Sequence[Sentence]) -> list[Parse | Refusal]:
        if self.asked:
            raise MemoryError
        return super().parse(sentences)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> WordVectors:
    return load_word_vectors(write_vectors(tmp_path_factory.mktemp("parses") / "vectors", size=4))


def encoder(
    vectors: WordVectors,
    views: tuple[str, str],
    kept: Path | None,
    parser: type[CountingParser] = CountingParser,
    checksum: str = "1",
) -> tuple[Encoder, dict[str, CountingParser]]:
    """Returns a random encoder and its parsers."""
    parsers = {stage: parser(stage, checksum) for stage in needed_stages(views)}
    settings = EncoderSettings(on_refusal="zero", parses=kept)
    model = random_model(preset("laptop", views=views, hidden_size=3), vectors, 0)
    return torch_encoder(model, parsers, settings), parsers


def assert_same(found: Encoder, plain: Encoder, sentences: list[str]) -> None:
    """Asserts that two encoders agree to the last bit, in what they refuse too."""
    views, expected = (e.encode_views(sentences, ["last", "mean"]) for e in (found, plain))
    assert list(views) == list(expected)
    for key, matrix in expected.items():
        np.testing.assert_array_equal(views[key], matrix)
    assert found.refused == plain.refused


def stages(folder: Path) -> dict[str, int]:
    """Returns how many pieces each stage's folder holds, by the stage's name."""
    return {
        place.name.partition("-")[0]: len(list(place.glob("*.parquet")))
        for place in sorted(folder.iterdir())
    }


def test_embeddings_are_the_same_bits_with_and_without(
    vectors: WordVectors, tmp_path: Path
) -> None:
    plain, _ = encoder(vectors, ("DEP", "CONST"), None)
    filling, _ = encoder(vectors, ("DEP", "CONST"), tmp_path)
    reading, _ = encoder(vectors, ("DEP", "CONST"), tmp_path, Fails)

    assert_same(filling, plain, SENTENCES)
    assert_same(reading, plain, SENTENCES)
    assert [(r.index, r.reason) for r in reading.refused] == [
        (1, "empty"),
        (3, "parser_error"),
        (5, "parser_error"),
    ]
    assert reading.refused[1].detail == "dependencies: no é in it"


@pytest.mark.parametrize("first", [("DEP", "SEQ"), ("CONST", "SEQ"), ("SEQ", "BOW")])
def test_encoders_of_other_views_share_the_stages_they_have_in_common(
    vectors: WordVectors, tmp_path: Path, first: tuple[str, str]
) -> None:
    encoder(vectors, first, tmp_path)[0].encode(SENTENCES)
    plain, _ = encoder(vectors, ("DEP", "CONST"), None)
    both, parsers = encoder(vectors, ("DEP", "CONST"), tmp_path)

    assert_same(both, plain, SENTENCES)

    asked = {stage for stage, parser in parsers.items() if parser.asked}
    assert asked == {"dependencies", "constituents"} - set(needed_stages(first))
    assert stages(tmp_path) == {"constituents": 1, "dependencies": 1, "tokens": 1}
    # What one parser refused is there for those that do not need it.
    assert_same(
        encoder(vectors, first, tmp_path, Fails)[0], encoder(vectors, first, None)[0], SENTENCES
    )


@pytest.mark.parametrize(
    ("version", "is_parsed_again"),
    [
        ("treeviews.models.encoding.sentence_reader.TOKENIZATION_VERSION", True),
        ("treeviews.models.encoding.sentence_reader.CLEANING_VERSION", True),
        ("treeviews.models.encoding.sentence_reader.MAX_TOKENS", True),
        ("treeviews.models.encoding.sentence_reader.ENCODING_VERSION", False),
        ("treeviews.pipeline.parsing.parse_shard.PARSING_VERSION", True),
        ("treeviews.pipeline.parsing.parse_shard.BINARIZATION_VERSION", False),
    ],
)
def test_another_version_is_parsed_and_embedded_again(
    vectors: WordVectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    is_parsed_again: bool,
) -> None:
    before, _ = encoder(vectors, ("DEP", "CONST"), tmp_path)
    before.encode(SENTENCES)
    assert encoder(vectors, ("DEP", "CONST"), None)[0].digest == before.digest

    monkeypatch.setattr(version, 1_000)

    found, parsers = encoder(vectors, ("DEP", "CONST"), tmp_path)
    found.encode(SENTENCES)
    assert found.digest != before.digest
    assert bool(parsers["dependencies"].asked) == is_parsed_again


def test_a_killed_parse_goes_on_with_the_piece_that_is_missing(
    vectors: WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "SENTENCES_AT_ONCE", 3)
    with pytest.raises(MemoryError):
        encoder(vectors, ("DEP", "SEQ"), tmp_path, Killed)[0].encode(SENTENCES)
    assert stages(tmp_path) == {"dependencies": 1, "tokens": 2}

    found, parsers = encoder(vectors, ("DEP", "SEQ"), tmp_path)

    assert_same(found, encoder(vectors, ("DEP", "SEQ"), None)[0], SENTENCES)
    asked = [" ".join(tokens) for tokens in parsers["dependencies"].asked]
    assert asked == SENTENCES[3:], "the first piece, and no sentence twice, was there already"
    assert stages(tmp_path) == {"dependencies": 3, "tokens": 3}
    assert not list(tmp_path.rglob("*.unfinished"))


def _cut(piece: Path) -> None:
    piece.write_bytes(piece.read_bytes()[:-20])


def _exchange(piece: Path) -> None:
    """Puts a whole piece of other sentences in its place."""
    for other in list(piece.parent.iterdir()):
        if other.name != "config.json" and other.stem != piece.stem:
            piece.with_suffix(other.suffix).write_bytes(other.read_bytes())


@pytest.mark.parametrize("damage", [_cut, _exchange])
def test_a_damaged_piece_is_said_and_made_again(
    vectors: WordVectors,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[Path], None],
) -> None:
    encoder(vectors, ("DEP", "SEQ"), tmp_path)[0].encode(SENTENCES)
    piece = next(tmp_path.glob("dependencies-*/*.parquet"))
    whole = piece.read_bytes()
    encoder(vectors, ("DEP", "SEQ"), tmp_path)[0].encode(["another list"])
    damage(piece)

    found, parsers = encoder(vectors, ("DEP", "SEQ"), tmp_path)
    with caplog.at_level(logging.WARNING):
        assert_same(found, encoder(vectors, ("DEP", "SEQ"), None)[0], SENTENCES)

    assert len(parsers["dependencies"].asked) == 6
    (record,) = caplog.records
    assert str(piece) in record.message and "a broken piece is made again" in record.message
    assert piece.read_bytes() == whole
    assert_same(
        encoder(vectors, ("DEP", "SEQ"), tmp_path, Fails)[0],
        encoder(vectors, ("DEP", "SEQ"), None)[0],
        SENTENCES,
    )
