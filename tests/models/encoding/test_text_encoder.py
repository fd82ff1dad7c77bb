"""A model as an encoder of raw sentences, from training to `models.load` and the command line."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import models
from models.config.training_config import TrainingConfig
from models.config.training_presets import preset
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.encoding.reading_encoder import EncoderSettings, WordsEncoder
from models.encoding.text_encoder import TextEncoder
from models.model.model_description import (
    ModelDescription,
    ParserRecord,
    VectorsRecord,
    find_parser,
    recorded_parsers,
)
from models.model.model_folder import load_model
from models.training.job import RunSettings, TrainingJob
from models.training.train_views import train
from pipeline.base.bundled import BUNDLED_PARSERS, shipped_parsers
from pipeline.parsers.parser_files import checksum_of_parser_folder
from pipeline.parsers.sentence_parser import load_parser
from pipeline.parsing.parse_shard import ParseJob, parse_shard
from pipeline.shards.manifests import write_dataset_manifest
from pipeline.shards.schema import schema_for
from pipeline.shards.shards import write_shard
from tests.support.command import subcommand
from tests.support.edited_json import edit
from tests.support.parsed_corpora import write_vectors
from tests.support.repository import REPOSITORY
from tests.support.saved_models import encoded_one_by_one

main = subcommand("encode")

NOUNS = ("cat", "dog", "bird", "fish")
SENTENCES = [
    f"The {a} sees the {b}{tail}" for a in NOUNS for b in NOUNS for tail in ("", " today.")
]
STAGES = ("dependencies", "constituents")
SETTINGS = RunSettings(gemm="default")


@dataclass(frozen=True)
class Run:
    """A corpus parsed by the bundled parsers, and a model trained on it."""

    folder: Path
    corpus: CorpusFolders
    model: Path

    def copy_of_model(self, target: Path, **changes: Any) -> Path:
        """Returns a copy whose model.json has other values; None leaves one out."""
        shutil.copytree(self.model, target)
        edit(target / "model.json", lambda values: self._change(values, changes))
        return target

    def _change(self, values: dict[str, Any], changes: dict[str, Any]) -> None:
        values.update(changes)
        for name in [name for name, value in values.items() if value is None]:
            del values[name]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    from pipeline.text.tokenization import EnglishTokenizer

    folder = tmp_path_factory.mktemp("run")
    tokens = [text.words for text in EnglishTokenizer().tokenize(SENTENCES)]
    columns = {
        "document_id": ["story"] * len(tokens),
        "sentence_index": list(range(len(tokens))),
        "tokens": tokens,
    }
    schema = schema_for("sentences")
    arrays = [pa.array(columns[name], type=schema.field(name).type) for name in schema.names]
    table = pa.Table.from_arrays(arrays, schema=schema)
    write_shard(folder / "sentences", "sentences", 0, table, drops={})
    write_dataset_manifest(folder / "sentences", "sentences", config={})
    for stage in STAGES:
        parser = load_parser(BUNDLED_PARSERS[stage], stage)
        parse_shard(
            ParseJob(stage=stage, sentences=folder / "sentences", output=folder / stage, number=0),
            parser,
        )
        write_dataset_manifest(folder / stage, stage, config={})
    corpus = CorpusFolders(
        sentences=folder / "sentences",
        dependencies=folder / "dependencies",
        constituents=folder / "constituents",
    )
    config = preset("laptop", hidden_size=5, epochs=1, batch_size=16, held_out_fraction=0.0)
    train_on(corpus, config, write_vectors(folder / "vectors"), folder / "model")
    return Run(folder, corpus, folder / "model")


def train_on(corpus: CorpusFolders, config: TrainingConfig, vectors: Path, out: Path) -> None:
    parsers = {stage: BUNDLED_PARSERS[stage] for stage in STAGES}
    train(
        TrainingJob(
            config=config,
            corpus=corpus,
            vectors=vectors,
            out=out,
            parsers=parsers,
            settings=SETTINGS,
        )
    )


@pytest.fixture(scope="module")
def encoder(run: Run) -> TextEncoder:
    return models.load(run.model)


def test_raw_sentences_are_embedded_as_the_corpus_was(run: Run, encoder: TextEncoder) -> None:
    model = load_model(run.model)
    parsed = ParsedCorpus(run.corpus, model.vectors, views=model.config.views)
    _, expected = encoded_one_by_one(model, parsed)

    found = encoder.encode_views(SENTENCES)

    assert list(found) == ["0-DEP.last", "1-CONST.last"]
    for view, matrix in expected.items():
        np.testing.assert_allclose(found[f"{view}.last"], matrix, atol=1e-6)


def test_poolings_stand_side_by_side(encoder: TextEncoder) -> None:
    views = encoder.encode_views(SENTENCES[:3], ["mean", "last"])

    assert list(views) == ["0-DEP.mean", "0-DEP.last", "1-CONST.mean", "1-CONST.last"]
    both = encoder.encode(SENTENCES[:3], pooling=["mean", "last"])
    np.testing.assert_array_equal(both, np.concatenate(list(views.values()), axis=1))
    last = encoder.encode_views(SENTENCES[:3])["0-DEP.last"]
    np.testing.assert_allclose(views["0-DEP.last"], last, atol=1e-7)


@pytest.mark.parametrize("what", [None, 3, b"The cat.", {"The cat."}, {"The cat.": 1}])
def test_what_is_no_list_is_named(encoder: TextEncoder, what: Any) -> None:
    with pytest.raises(ValueError, match=f"give a list of sentences, not {type(what).__name__}"):
        encoder.encode(what)


@pytest.mark.parametrize(
    ("sentence", "reason"), [("", "empty"), (" \n", "empty"), ("cat " * 511, "too_long")]
)
def test_a_sentence_that_cannot_be_taken_is_named(
    encoder: TextEncoder, sentence: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=rf"sentence 1 \(from 0\): {reason}.*on_refusal='zero'"):
        encoder.encode(["The cat.", sentence])


def test_all_empty_and_long_sentences_are_named_before_any_is_parsed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = models.load(run.model)
    monkeypatch.setattr("pipeline.parsers.sentence_parser.LazyParser.parse", None)
    monkeypatch.setattr("pipeline.base.refusal.MAX_NAMED", 2)
    long_words = "supercalifragilistic " * 30
    sentences = ["The cat.", "", long_words, "cat " * 511, "Fish", "\t"]

    with pytest.raises(
        ValueError,
        match=r"^sentence 1 \(from 0\): empty; sentence 3 \(from 0\): too_long .*; and 1 more; ",
    ):
        strict.encode(sentences)


def test_a_sentence_of_words_alone_may_be_longer_than_a_parser_takes(run: Run) -> None:
    words = WordsEncoder(load_model(run.model).vectors, EncoderSettings(on_refusal="error"))

    assert words.encode(["cat " * 511]).any()
    with pytest.raises(ValueError, match=r"sentence 1 \(from 0\): empty; leave out"):
        words.encode(["The cat.", " "])


def test_refused_sentences_are_zeros_and_listed(run: Run, encoder: TextEncoder) -> None:
    lenient = models.load(run.model, on_refusal="zero")

    found = lenient.encode(["", "The cat.", "cat " * 511])

    assert not found[[0, 2]].any()
    np.testing.assert_allclose(found[1:2], encoder.encode(["The cat."]), atol=1e-6)
    reasons = [(refusal.index, refusal.reason) for refusal in lenient.refused]
    assert reasons == [(0, "empty"), (2, "too_long")]
    lenient.encode(["The cat."])
    assert lenient.refused == []


def elsewhere(run: Run) -> dict[str, str]:
    """The record of the model's word vectors, of a place where they are not."""
    recorded = json.loads((run.model / "model.json").read_text())["vectors"]
    return {**recorded, "path": "/nowhere"}


def test_moved_word_vectors_are_found_by_their_argument(run: Run, tmp_path: Path) -> None:
    moved = run.copy_of_model(tmp_path / "m", vectors=elsewhere(run))

    with pytest.raises(ValueError, match=r"/nowhere: no such word vectors; .*; give vectors=PATH"):
        models.load(moved)

    found = models.load(moved, vectors=run.folder / "vectors")
    assert found.digest == models.load(run.model).digest


def test_word_vectors_that_ship_are_found_by_their_checksum(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = run.copy_of_model(tmp_path / "m", vectors=elsewhere(run))
    shipped = "models.model.model_description.SHIPPED_VECTORS"
    monkeypatch.setattr(shipped, (run.folder / "vectors",))

    assert models.load(moved).digest == models.load(run.model).digest
    with pytest.raises(ValueError, match="absent: no such word vectors"):
        models.load(run.model, vectors="absent")


def moved(run: Run, stage: str) -> dict[str, Any]:
    """The model's parsers, one of them where there is none and with another checksum."""
    parsers: dict[str, Any] = json.loads((run.model / "model.json").read_text())["parsers"]
    other = {**parsers[stage], "checksum": "0" * 64, "path": "/nowhere"}
    return {**parsers, stage: other}


def test_a_moved_parser_is_found_by_its_argument(run: Run, tmp_path: Path) -> None:
    shutil.copytree(BUNDLED_PARSERS["dependencies"], tmp_path / "parser")

    found = models.load(run.model, dependency_parser=tmp_path / "parser")

    assert found.digest == models.load(run.model).digest


def test_another_parser_is_refused(run: Run, tmp_path: Path) -> None:
    changed = run.copy_of_model(tmp_path / "m", parsers=moved(run, "dependencies"))

    with pytest.raises(ValueError, match=r"/nowhere: no such folder; .*another parser.*; give dep"):
        models.load(changed)
    with pytest.raises(ValueError, match=r"another parser \(checksum .*give dependency_parser="):
        models.load(changed, dependency_parser=BUNDLED_PARSERS["dependencies"])


def described(parser: dict[str, str | None]) -> ModelDescription:
    return ModelDescription(
        config=preset("laptop"),
        vectors=VectorsRecord(path=Path("vectors"), checksum=""),
        parsers={"dependencies": ParserRecord.from_dict(parser)},
    )


def test_the_parser_of_a_fast_parse_is_found_by_its_weights() -> None:
    weights = checksum_of_parser_folder(BUNDLED_PARSERS["dependencies"])
    fast = {"name": "own", "checksum": f"{weights}-bfloat16", "path": None}
    record = recorded_parsers(described(fast), ["dependencies"])["dependencies"]

    assert find_parser("dependencies", record, None) == BUNDLED_PARSERS["dependencies"]


def test_every_parser_that_ships_is_found_by_its_weights() -> None:
    for folder in shipped_parsers("dependencies").values():
        parser = {"name": "own", "checksum": checksum_of_parser_folder(folder), "path": None}
        record = recorded_parsers(described(parser), ["dependencies"])["dependencies"]
        assert find_parser("dependencies", record, None) == folder


@pytest.mark.parametrize("device", ["abacus", "meta"])
def test_a_device_that_is_not_there_is_named(run: Run, device: str) -> None:
    with pytest.raises(ValueError, match=f"device '{device}' is not to be had here"):
        models.load(run.model, device=device)


def test_the_digest_tells_weights_and_not_their_place(run: Run, tmp_path: Path) -> None:
    copy = run.copy_of_model(tmp_path / "copy")
    config = preset("laptop", hidden_size=5, epochs=1, batch_size=8, held_out_fraction=0.0)
    train_on(run.corpus, config, run.folder / "vectors", tmp_path / "other")

    digest = models.load(run.model).digest

    assert models.load(copy).digest == digest
    assert models.load(tmp_path / "other").digest != digest


def test_importing_the_package_loads_no_torch() -> None:
    code = "import models, sys; print(models.load.__name__, 'torch' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert found.stdout == "load False\n"


@pytest.mark.slow
def test_the_command_line_reads_and_writes_standard_streams(run: Run, encoder: TextEncoder) -> None:
    text = b"The cat sees the dog\n\nthe bird\n"
    found = subprocess.run(
        [sys.executable, "-m", "treeviews", "encode", str(run.model), "--on-refusal", "zero"],
        cwd=REPOSITORY,
        input=text,
        capture_output=True,
        check=True,
    )

    embeddings = np.load(io.BytesIO(found.stdout))
    assert embeddings.shape == (3, 10) and not embeddings[1].any()
    expected = encoder.encode(["The cat sees the dog", "the bird"])
    np.testing.assert_allclose(embeddings[[0, 2]], expected, atol=1e-6)
    assert b"zeros for sentence 1 (from 0): empty\n3 sentences, 1 refused" in found.stderr


def test_the_command_line_takes_files_and_poolings(
    run: Run, encoder: TextEncoder, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("The cat.\nA dog", encoding="utf-8")
    files = ["--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.npy")]

    assert main([str(run.model), *files, "--pooling", "max,mean", "--batch-size", "1"]) == 0

    expected = encoder.encode(["The cat.", "A dog"], pooling=["max", "mean"])
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.npy"]
