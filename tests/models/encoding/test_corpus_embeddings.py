"""Embedded shards: their rows and vectors, what is refused, and what a kill costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import embedding_functions
from tests.support.chain_job import ChainParser
from tests.support.parsed_corpora import stories, write_vectors
from tests.support.saved_models import write_model
from tests.support.sentence_shards import write_chain_parser
from tests.support.shard_files import sentence_rows, write_rows, write_stage
from treeviews import models
from treeviews.models import embed_shard as job_module
from treeviews.models.encoding.corpus_embeddings import EmbedShardJob
from treeviews.models.encoding.search import FloatArray
from treeviews.pipeline.base.job import JobKilledError, run_job_process
from treeviews.pipeline.parsing.parse_shard import ParseJob, parse_shard
from treeviews.pipeline.shards.arrow import vectors_of
from treeviews.pipeline.shards.manifests import (
    quarantine_path,
    read_shard_manifest,
    shard_path,
    write_dataset_manifest,
)
from treeviews.pipeline.shards.shards import read_shard

FUNCTIONS = embedding_functions.__name__
SENTENCES = [list(words) for story in stories(5).values() for words in story]
SHARDS = (SENTENCES[:25], [*SENTENCES[25:38], ["odd"], *SENTENCES[38:]])
ODD_ROW = 13


@dataclass(frozen=True)
class Corpus:
    """Sentences, the trees of a parser that refuses the word ``odd``, and models of these trees."""

    folder: Path

    @property
    def parser(self) -> Path:
        return self.folder / "chain"

    @property
    def settings(self) -> dict[str, Any]:
        return {"dependency_parser": str(self.parser)}

    def job(self, encoder: str | Path, out: Path, **changes: Any) -> EmbedShardJob:
        is_model = Path(encoder).exists() or "@" in str(encoder)
        parses = {"dependencies": self.folder / "dependencies"} if is_model else {}
        fields = {
            "encoder": str(encoder),
            "sentences": self.folder / "sentences",
            "output": out,
            "number": 0,
            "count": len(SHARDS),
            "parses": parses,
            "settings": self.settings if is_model else {},
        }
        return EmbedShardJob.from_dict(fields | changes)

    def embed(self, encoder: str | Path, out: Path, **changes: Any) -> list[FloatArray]:
        """Runs the job in this process; returns the vectors of each shard."""
        job_module.execute(self.job(encoder, out, **changes), lambda *_: None)
        return [vectors_in(out, number) for number in range(len(SHARDS))]


def vectors_in(folder: Path, number: int) -> FloatArray:
    found: FloatArray = vectors_of(read_shard(folder, "embeddings", number)["embedding"])[0]
    return found


def nulls_in(folder: Path, number: int) -> list[int]:
    _, is_null = vectors_of(read_shard(folder, "embeddings", number)["embedding"])
    rows: list[int] = np.flatnonzero(is_null).tolist()
    return rows


def texts(number: int) -> list[str]:
    return [" ".join(words) for words in SHARDS[number]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    rows = [sentence_rows(part, document=f"d{number}") for number, part in enumerate(SHARDS)]
    write_stage(folder / "sentences", "sentences", *rows)
    write_chain_parser(folder / "chain")
    parse(folder)
    vectors = write_vectors(folder / "vectors")
    chain = {"dependencies": folder / "chain"}
    write_model(folder / "trees", vectors, views=("DEP", "SEQ"), parsers=chain)
    write_model(folder / "words", vectors, views=("SEQ", "LIN"), seed=4)
    return Corpus(folder)


def parse(folder: Path) -> None:
    for number in range(len(SHARDS)):
        job = ParseJob(
            stage="dependencies",
            sentences=folder / "sentences",
            output=folder / "dependencies",
            number=number,
        )
        parse_shard(job, ChainParser(folder / "chain"))
    write_dataset_manifest(folder / "dependencies", "dependencies", config={})


class Chains(ChainParser):
    """The same parser where the encoder itself loads it."""

    def __init__(self, stage: str, folder: Path, **_: object) -> None:
        super().__init__(folder)


def test_trees_of_the_corpus_give_the_vectors_of_the_same_sentences_parsed_anew(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = corpus.embed(corpus.folder / "trees", tmp_path)

    monkeypatch.setattr("treeviews.models.encoding.torch_model.LazyParser", Chains)
    encoder = models.load(corpus.folder / "trees", on_refusal="zero", **corpus.settings)
    for number, vectors in enumerate(found):
        np.testing.assert_array_equal(vectors, encoder.encode(texts(number)))
    assert found[0].any(axis=1).all()


def test_words_and_functions_give_the_bits_of_encode(corpus: Corpus, tmp_path: Path) -> None:
    for name in ("english", f"{FUNCTIONS}:letters"):
        found = corpus.embed(name, tmp_path / name.partition(".")[0])
        for number, vectors in enumerate(found):
            np.testing.assert_array_equal(vectors, models.load(name).encode(texts(number)))


def test_a_shard_says_by_what_and_from_what_and_which_rows_have_no_vector(
    corpus: Corpus, tmp_path: Path
) -> None:
    vectors = corpus.embed(corpus.folder / "trees", tmp_path, dtype="float16")

    assert len(vectors[1]) == len(SHARDS[1]) and nulls_in(tmp_path, 1) == [ODD_ROW]
    manifest, source, parses = (
        read_shard_manifest(folder, 1)
        for folder in (tmp_path, corpus.folder / "sentences", corpus.folder / "dependencies")
    )
    assert manifest is not None and source is not None and parses is not None
    assert manifest.drops == {"no_dependencies": 1}
    (record,) = map(json.loads, quarantine_path(tmp_path, 1).read_text().splitlines())
    assert (record["row"], record["document_id"], record["excerpt"]) == (ODD_ROW, "d1", "odd")
    said = manifest.extra
    assert (said["width"], said["dtype"]) == (vectors[0].shape[1], "float16")
    assert said["encoder_digest"] == models.load(corpus.folder / "trees", **corpus.settings).digest
    assert said["sentences_sha256"] == source.sha256
    assert said["parses_sha256"] == {"dependencies": parses.sha256}


def test_a_number_beyond_float16_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a number that float16 cannot hold; give dtype float32"):
        corpus.embed(f"{FUNCTIONS}:large", tmp_path, dtype="float16")

    assert not list(tmp_path.glob("00000*"))


def copied(corpus: Corpus, folder: Path, change: Callable[[list[Any], Any], Any]) -> Corpus:
    """Returns a corpus in which the first shard of parses holds other rows."""
    for stage in ("sentences", "dependencies"):
        for number in range(len(SHARDS)):
            table = read_shard(corpus.folder / stage, stage, number)
            manifest = read_shard_manifest(corpus.folder / stage, number)
            assert manifest is not None
            rows, extra = table.to_pylist(), dict(manifest.extra)
            if stage == "dependencies" and number == 0:
                change(rows, extra)
            write_rows(folder / stage, stage, number, rows, extra=extra)
    write_chain_parser(folder / "chain")
    return Corpus(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda _, extra: extra.update(sentences_sha256="0" * 64),
            r"00000\.parquet: these are parses of another text",
        ),
        (
            lambda rows, _: rows[1].update(rows[0]),
            r"00000\.parquet: row 1: heads does not fit a sentence of \d+ tokens",
        ),
        (
            lambda _, extra: extra.update(parser_checksum="0" * 64),
            r"00000\.parquet: parsed by .* was trained with the parser of",
        ),
    ],
)
def test_parses_of_other_sentences_or_parsers_are_refused(
    change: Callable[[list[Any], Any], Any], said: str, corpus: Corpus, tmp_path: Path
) -> None:
    wrong = copied(corpus, tmp_path / "corpus", change)
    with pytest.raises(ValueError, match=said):
        wrong.embed(corpus.folder / "trees", tmp_path / "out")
    assert not list((tmp_path / "out").glob("0000*"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"encoder": "bag_of_words"}, "encoder 'english', not 'bag_of_words'"),
        ({"dtype": "float16"}, "dtype 'float32', not 'float16'"),
    ],
)
def test_what_stands_by_others_is_refused(
    changes: dict[str, str], said: str, corpus: Corpus, tmp_path: Path
) -> None:
    job_module.execute(corpus.job("english", tmp_path, count=1), lambda *_: None)

    job = corpus.job("english", tmp_path, count=2).changed(**changes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"shard 0 stands with {said}; delete the folder or"):
        job_module.execute(job, lambda *_: None)
    assert read_shard_manifest(tmp_path, 1) is None


def test_a_range_that_was_killed_goes_on_where_it_was(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    job = corpus.job(f"{FUNCTIONS}:killed_at_odd", out).to_dict()

    def run() -> None:
        run_job_process(
            "treeviews.models.embed_shard", job, tmp_path / "job.json", lambda *_: None, threads=1
        )

    with pytest.raises(JobKilledError):
        run()
    first = shard_path(out, 0).stat()
    assert read_shard_manifest(out, 0) is not None and read_shard_manifest(out, 1) is None
    run()

    assert shard_path(out, 0).stat().st_mtime_ns == first.st_mtime_ns
    for number in range(len(SHARDS)):
        expected = embedding_functions.letters(texts(number))
        np.testing.assert_array_equal(vectors_in(out, number), expected)
