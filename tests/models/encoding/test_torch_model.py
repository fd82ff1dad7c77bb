"""A model as an encoder of raw sentences, from training to `models.load` and the command line."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.command import subcommand
from tests.support.edited_json import edit
from tests.support.encoders import words_encoder
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import encoded_one_by_one, random_model
from tests.support.shard_files import write_shard
from treeviews import models
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.model.model_folder import load_model
from treeviews.models.training.learner import held_out_accuracy
from treeviews.models.training.train_views import train
from treeviews.models.training.training_job import RunSettings, TrainingJob
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.parsing.parse_shard import ParseJob, parse_shard
from treeviews.pipeline.shards.manifests import write_dataset_manifest
from treeviews.pipeline.shards.schema import schema_for

main = subcommand("encode")

NOUNS = ("cat", "dog", "bird", "fish")
SENTENCES = [
    f"The {a} sees the {b}{tail}" for a in NOUNS for b in NOUNS for tail in ("", " today.")
]
STAGES = ("dependencies", "constituents")
CONFIG = preset(
    "laptop",
    hidden_size=5,
    epochs=1,
    batch_size=16,
    held_out_fraction=0.3,
    held_out_unit="block",
    held_out_block_sentences=8,
)


@dataclass(frozen=True)
class Run:
    """A corpus parsed by the bundled parsers, and a model trained on it."""

    folder: Path
    corpus: CorpusFolders
    model: Path
    summary: dict[str, Any]

    def copy_of_model(self, target: Path, **changes: Any) -> Path:
        """Returns a copy whose model.json has other values."""
        shutil.copytree(self.model, target)
        edit(target / "model.json", lambda values: values.update(changes))
        return target


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    from treeviews.pipeline.text.tokenization import EnglishTokenizer

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
    write_shard(folder / "sentences", "sentences", 0, table)
    write_dataset_manifest(folder / "sentences", "sentences", config={})
    for stage in STAGES:
        job = ParseJob(stage=stage, sentences=folder / "sentences", output=folder / stage, number=0)
        parse_shard(job, load_parser(BUNDLED_PARSERS[stage], stage))
        write_dataset_manifest(folder / stage, stage, config={})
    corpus = CorpusFolders.from_dict({name: folder / name for name in ("sentences", *STAGES)})
    summary = train_on(corpus, CONFIG, write_vectors(folder / "vectors"), folder / "model")
    return Run(folder, corpus, folder / "model", summary)


def train_on(
    corpus: CorpusFolders, config: TrainingConfig, vectors: Path, out: Path
) -> dict[str, Any]:
    job = TrainingJob(
        config=config,
        corpus=corpus,
        vectors=vectors,
        out=out,
        parsers={stage: BUNDLED_PARSERS[stage] for stage in STAGES},
        settings=RunSettings(gemm="default"),
    )
    return train(job)


@pytest.fixture(scope="module")
def encoder(run: Run) -> Encoder:
    return models.load(run.model)


def test_a_trained_model_comes_back_from_its_folder(run: Run) -> None:
    model = load_model(run.model)

    assert model.config == CONFIG and not model.training
    held_out = ParsedCorpus(
        run.corpus, model.vectors, views=CONFIG.views, config=CONFIG, part="held_out"
    )
    final = run.summary["held_out"]["final"]
    assert held_out_accuracy(model, held_out)["loss"] == pytest.approx(final["loss"], abs=1e-5)
    before = run.summary["held_out"]["untrained"]
    untrained = random_model(CONFIG, model.vectors, CONFIG.seed)
    assert held_out_accuracy(untrained, held_out)["loss"] == pytest.approx(before["loss"], abs=1e-5)


def test_raw_sentences_are_embedded_as_the_corpus_was(run: Run, encoder: Encoder) -> None:
    model = load_model(run.model)
    parsed = ParsedCorpus(run.corpus, model.vectors, views=model.config.views)
    _, expected = encoded_one_by_one(model, parsed)

    found = encoder.encode_views(SENTENCES)

    assert list(found) == ["0-DEP.last", "1-CONST.last"]
    for view, matrix in expected.items():
        np.testing.assert_allclose(found[f"{view}.last"], matrix, atol=1e-6)


def test_empty_sentences_are_named_before_any_is_parsed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = models.load(run.model)
    with pytest.raises(ValueError, match=r"^sentence 1 \(from 0\): too_long .*on_refusal='zero'"):
        strict.encode(["Fish", "cat " * 511])
    monkeypatch.setattr("treeviews.pipeline.parsers.sentence_parser.LazyParser.parse", None)

    with pytest.raises(ValueError, match=r"^sentence 1 \(from 0\): empty; sentence 3 .*: empty; "):
        strict.encode(["The cat.", "", "Fish", "\t"])
    words = words_encoder(load_model(run.model).vectors, EncoderSettings(on_refusal="error"))
    assert words.encode(["cat " * 511]).any(), "no parser is asked, so it may be longer"


def test_refused_sentences_are_zeros_and_listed(run: Run, encoder: Encoder) -> None:
    lenient = models.load(run.model, on_refusal="zero")

    found = lenient.encode(["", "The cat.", "cat " * 511])

    assert not found[[0, 2]].any()
    np.testing.assert_allclose(found[1:2], encoder.encode(["The cat."]), atol=1e-6)
    reasons = [(refusal.index, refusal.reason) for refusal in lenient.refused]
    assert reasons == [(0, "empty"), (2, "too_long")]
    lenient.encode(["The cat."])
    assert lenient.refused == []


def test_what_was_moved_is_found_by_its_argument_or_among_what_ships(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = json.loads((run.model / "model.json").read_text())
    vectors = {**recorded["vectors"], "path": "/nowhere", "nearby": ""}
    moved = run.copy_of_model(tmp_path / "m", vectors=vectors)
    parser = shutil.copytree(BUNDLED_PARSERS["dependencies"], tmp_path / "parser")
    digest = models.load(run.model, dependency_parser=parser).digest

    with pytest.raises(ValueError, match=r"/nowhere: no such word vectors; .*; give vectors=PATH"):
        models.load(moved)
    assert models.load(moved, vectors=run.folder / "vectors").digest == digest
    shipped = "treeviews.models.model.model_description.SHIPPED_VECTORS"
    monkeypatch.setattr(shipped, (run.folder / "vectors",))
    assert models.load(moved).digest == digest


def test_what_is_not_the_models_own_is_refused(run: Run, tmp_path: Path) -> None:
    parsers = json.loads((run.model / "model.json").read_text())["parsers"]
    parsers["dependencies"] |= {"checksum": "0" * 64, "path": "/nowhere"}
    changed = run.copy_of_model(tmp_path / "m", parsers=parsers)
    given = BUNDLED_PARSERS["dependencies"]
    other = write_vectors(tmp_path / "other", size=7)

    for folder, options, message in [
        (changed, {}, r"/nowhere/\S+: no such file; .*: another .*; give dep"),
        (changed, {"dependency_parser": given}, r": another \(checksum .*give dependency_pa"),
        (run.model, {"vectors": "absent"}, "absent: no such word vectors"),
        (run.model, {"vectors": other}, r"other: another .*; give vectors=PATH"),
        (run.model, {"device": "abacus"}, "unknown device .abacus."),
        (run.model, {"device": "meta"}, "unknown device .meta."),
    ]:
        with pytest.raises(ValueError, match=message):
            models.load(folder, **options)  # type: ignore[arg-type]


def test_the_digest_tells_weights_and_not_their_place(run: Run, tmp_path: Path) -> None:
    copy = run.copy_of_model(tmp_path / "copy")
    train_on(run.corpus, CONFIG.changed(batch_size=8), run.folder / "vectors", tmp_path / "other")

    digest = models.load(run.model).digest

    assert models.load(copy).digest == digest
    assert models.load(tmp_path / "other").digest != digest
