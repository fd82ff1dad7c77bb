"""The job that embeds the probing sentences, from trained, random and bag-of-words encoders."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.embed import execute
from models.encode_corpus import encode_corpus
from models.evaluation.probing.build import build_probing
from models.evaluation.probing.data import read_probing
from models.model_folder import random_model
from models.sentence_views import SentenceViews
from models.training.job import TrainingJob
from models.training.settings import RunSettings
from models.training.train_views import train
from models.training_config import TrainingConfig
from models.training_presets import preset
from models.words.vector_files import load_word_vectors
from tests.probing_examples import CONFIG, altered_corpus, corpus_rows, tokens_of, write_rows

WORD_SIZE = 6


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("embed")
    rows = corpus_rows()
    corpus = write_rows(folder / "corpus", rows)
    altered = altered_corpus(folder / "altered", corpus, rows)
    build_probing(corpus, altered, folder / "probing", CONFIG)
    words = sorted({word for row in rows for word in row["tokens"]})
    vectors = np.random.default_rng(3).normal(size=(len(words), WORD_SIZE)).astype(np.float16)
    (folder / "vectors").mkdir()
    save_file({"vectors": vectors}, folder / "vectors" / "vectors.safetensors")
    (folder / "vectors" / "words.json").write_text(json.dumps(words))
    config = preset(
        "laptop", hidden_size=5, epochs=1, batch_size=64, held_out_fraction=CONFIG.held_out_fraction
    )
    folders = CorpusFolders(**{name: getattr(corpus, name) for name in asdict(corpus)})
    settings = RunSettings(gemm="default", tensorboard=False)
    training = TrainingJob(config, folders, folder / "vectors", folder / "model", settings=settings)
    train(training)
    parts = {"corpus": corpus, "altered": altered}
    paths = {part: {k: str(v) for k, v in asdict(f).items()} for part, f in parts.items()}
    return {"probing": str(folder / "probing"), "out": str(folder / "out"), **paths}


def embed(job: dict[str, Any], name: str, **encoder: Any) -> dict[str, np.ndarray[Any, Any]]:
    out = Path(job["out"]) / name
    execute({**job, "out": str(out), "encoder": encoder}, lambda *_: None)
    assert (out / "embed.json").exists()
    return {path.stem: np.load(path) for path in sorted(out.glob("*.npy"))}


def config_of(job: dict[str, Any]) -> dict[str, Any]:
    description = json.loads(Path(place(job, "model"), "model.json").read_text())
    config: dict[str, Any] = description["config"]
    return config


def place(job: dict[str, Any], name: str) -> str:
    return str(Path(job["probing"]).parent / name)


def test_trained_and_random_encoders_give_one_file_a_view(job: dict[str, Any]) -> None:
    data = read_probing(Path(job["probing"]))
    trained = embed(job, "trained", kind="trained", model=place(job, "model"))
    assert list(trained) == ["0-DEP", "1-CONST"]
    used = data.used_rows()
    for matrix in trained.values():
        assert matrix.shape == (data.num_rows, 5) and matrix.dtype == np.float32
        assert np.isfinite(matrix[used]).all()
        unused = np.setdiff1d(np.arange(data.num_rows), used)
        assert np.isnan(matrix[unused]).all()
    described = {"config": config_of(job), "vectors": place(job, "vectors")}
    seeds = [
        embed(job, f"random-{seed}", kind="random", **described, seed=seed)["0-DEP"]
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(seeds[0], seeds[1], equal_nan=True)
    assert not np.array_equal(seeds[0], seeds[2], equal_nan=True)
    assert not np.array_equal(seeds[0], trained["0-DEP"], equal_nan=True)


def test_a_random_encoder_needs_no_trained_model(job: dict[str, Any]) -> None:
    vectors = place(job, "vectors")
    found = embed(job, "random-3", kind="random", config=config_of(job), vectors=vectors, seed=3)
    data = read_probing(Path(job["probing"]))
    used = data.used_rows()
    used = used[used < len(data.dataset_rows["corpus"])]
    loaded = load_word_vectors(Path(vectors))
    model = random_model(TrainingConfig.from_dict(config_of(job)), loaded, 3)
    folders = CorpusFolders(**{name: Path(path) for name, path in job["corpus"].items()})
    corpus = ParsedCorpus(folders, loaded, views=model.config.views)
    expected = encode_corpus(SentenceViews(model), corpus, rows=data.dataset_rows["corpus"][used])
    assert list(found) == list(expected) == ["0-DEP", "1-CONST"]
    for name, matrix in expected.items():
        np.testing.assert_allclose(found[name][used], matrix, rtol=1e-5, atol=1e-6)


def test_word_vectors_may_have_moved_since_the_training(
    job: dict[str, Any], tmp_path: Path
) -> None:
    shutil.copytree(place(job, "model"), tmp_path / "model")
    shutil.copytree(place(job, "vectors"), tmp_path / "moved")
    description = json.loads((tmp_path / "model" / "model.json").read_text())
    description["vectors"]["path"] = str(tmp_path / "gone")
    (tmp_path / "model" / "model.json").write_text(json.dumps(description))
    model = str(tmp_path / "model")
    with pytest.raises(ValueError, match=r"gone: no such word vectors.*give vectors=PATH"):
        embed(job, "moved", kind="trained", model=model)
    found = embed(job, "moved", kind="trained", model=model, vectors=str(tmp_path / "moved"))
    known = embed(job, "stayed", kind="trained", model=place(job, "model"))
    assert np.array_equal(found["0-DEP"], known["0-DEP"], equal_nan=True)


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ({"kind": "trained"}, r"an encoder of kind trained needs 'model', got \['kind'\]"),
        ({"kind": "random", "vectors": "v", "seed": 0}, "kind random needs 'config'"),
        ({"kind": "random", "config": {}, "seed": 0}, "kind random needs 'vectors'"),
        ({"kind": "bag_of_words"}, "kind bag_of_words needs 'vectors'"),
    ],
)
def test_an_encoder_that_lacks_a_key_is_refused(
    job: dict[str, Any], encoder: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        embed(job, "lacking", **encoder)


def test_bag_of_words_is_the_mean_of_the_rows_own_words(job: dict[str, Any]) -> None:
    data = read_probing(Path(job["probing"]))
    found = embed(job, "words", kind="bag_of_words", vectors=place(job, "vectors"))["0-BOW"]
    vectors = load_word_vectors(Path(place(job, "vectors")))
    place_of = {word: i for i, word in enumerate(vectors.words)}
    num_corpus = len(data.dataset_rows["corpus"])
    altered = tokens_of(Path(job["altered"]["sentences"]))
    tokens = [row["tokens"] for row in corpus_rows()]
    for row in (data.used_rows()[3], data.used_rows()[-1]):
        part = "corpus" if row < num_corpus else "altered"
        number = data.dataset_rows[part][row - (0 if part == "corpus" else num_corpus)]
        words = tokens[number] if part == "corpus" else altered[number]
        expected = vectors.matrix[[place_of[word] for word in words]].mean(axis=0)
        np.testing.assert_allclose(found[row], expected, rtol=1e-4, atol=1e-5)


def test_an_unknown_kind_of_encoder_is_refused(job: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="unknown kind of encoder 'magic'; known: trained, random"):
        embed(job, "magic", kind="magic")
