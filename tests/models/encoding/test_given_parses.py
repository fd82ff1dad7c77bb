"""Derived tasks bring tokens and parses: encoders read these and parse nothing anew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.support.encoders import torch_encoder, words_encoder
from tests.support.probing_examples import CONFIG, corpus_rows, tokens_of, write_rows
from tests.support.saved_models import encoded_one_by_one, random_model
from treeviews.models.config.training_presets import preset
from treeviews.models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from treeviews.models.encoding.encoder import EncoderSettings
from treeviews.models.evaluate_tasks import keep_parses_of_data
from treeviews.models.evaluation.build_probing import SENTEVAL_FOLDER, build_probing
from treeviews.models.evaluation.task_data import DerivedSentences, derived_note, read_sentences
from treeviews.models.evaluation.task_registry import PROBING
from treeviews.models.model.sentence_model import SentenceModel
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors

CHECKSUMS = {"dependencies": "d" * 64, "constituents": "c" * 64}


class CountingParser:
    """A parser that can parse nothing, and counts what it is asked."""

    name = "counting"

    def __init__(self, checksum: str) -> None:
        self.checksum = checksum
        self.num_asked = 0

    def parse(self, sentences: Sequence[Sequence[str]]) -> Any:
        self.num_asked += len(sentences)
        raise RuntimeError("asked to parse")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with a word that the tokenizer would cut, its probing tasks, and word vectors."""
    folder = tmp_path_factory.mktemp("given")
    rows = corpus_rows()
    for row in rows:
        row["tokens"] = ["can't" if word == "today" else word for word in row["tokens"]]
    corpus = write_rows(folder / "corpus", rows)
    build_probing(corpus, folder / "probing", CONFIG, parsers=CHECKSUMS)
    words = sorted({word for row in rows for word in row["tokens"]})
    vectors = np.random.default_rng(3).normal(size=(len(words), 6)).astype(np.float16)
    (folder / "vectors").mkdir()
    save_file({"vectors": vectors}, folder / "vectors" / "vectors.safetensors")
    (folder / "vectors" / "words.json").write_text(json.dumps(words))
    return folder


@pytest.fixture(scope="module")
def vectors(folder: Path) -> WordVectors:
    return load_word_vectors(folder / "vectors")


@pytest.fixture(scope="module")
def model(vectors: WordVectors) -> SentenceModel:
    return random_model(preset("laptop", hidden_size=5), vectors, 3)


@pytest.fixture(scope="module")
def sentences(folder: Path) -> DerivedSentences:
    place = folder / "probing" / SENTEVAL_FOLDER
    note = derived_note(PROBING[0], place)
    assert note is not None
    return read_sentences(place / "probing", note)


def given(folder: Path, parses: Path) -> EncoderSettings:
    """Returns settings that find what the tasks bring."""
    keep_parses_of_data(PROBING, folder / "probing" / SENTEVAL_FOLDER, parses)
    return EncoderSettings(parses=parses)


def parsers(checksums: Mapping[str, str] = CHECKSUMS) -> dict[str, CountingParser]:
    return {stage: CountingParser(checksum) for stage, checksum in checksums.items()}


def test_views_are_those_of_the_parsed_corpus(
    folder: Path, tmp_path: Path, model: SentenceModel, sentences: DerivedSentences
) -> None:
    found = torch_encoder(model, parsers(), given(folder, tmp_path)).encode_views(sentences.texts)

    stages = ("sentences", "dependencies", "constituents")
    folders = CorpusFolders(**{stage: folder / "corpus" / stage for stage in stages})
    wanted = sentences.table.column("dataset_row").to_numpy()
    corpus = ParsedCorpus(folders, model.vectors, views=model.config.views)
    encoded, expected = encoded_one_by_one(model, corpus)
    places = [encoded.index(row) for row in wanted]
    assert len(wanted) > 50
    for view, matrix in expected.items():
        np.testing.assert_allclose(found[f"{view}.last"], matrix[places], rtol=1e-5, atol=1e-6)


def test_words_are_the_tokens_of_the_corpus_however_they_would_be_cut_anew(
    folder: Path, tmp_path: Path, vectors: WordVectors, sentences: DerivedSentences
) -> None:
    read = words_encoder(vectors, given(folder, tmp_path)).encode(sentences.texts)
    anew = words_encoder(vectors).encode(sentences.texts)

    tokens = tokens_of(folder / "corpus" / "sentences")
    place_of = {word: place for place, word in enumerate(vectors.words)}
    cut = 0
    for place, row in enumerate(sentences.table.to_pylist()):
        words = tokens[row["dataset_row"]]
        assert sentences.texts[place] == " ".join(words)
        expected = vectors.matrix[[place_of[word] for word in words]].mean(axis=0)
        np.testing.assert_allclose(read[place], expected, rtol=1e-4, atol=1e-5)
        cut += "can't" in words and not np.allclose(anew[place], expected, atol=1e-4)
    assert cut > 0
