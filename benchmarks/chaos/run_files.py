"""Small files of every kind that a run makes, by the code that makes them, and their readers.

Parsers answer by rule in place of a network; all else is what a run does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.config.training_presets import preset
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.encoding.own_encoder import CallableEncoder
from models.encoding.parse_cache import ParseCache, token_table
from models.evaluation.derived.held_out.altered_sentences import (
    PLAN_NAME,
    make_altered_sentences,
    read_plan,
)
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.embedding_cache import EmbeddingCache
from models.evaluation.protocols.outcome import Outcome, Predictions
from models.evaluation.task_result import (
    DataRecord,
    EncoderIdentity,
    Setup,
    TaskResult,
    read_result,
    scored,
    write_result,
)
from models.evaluation.tasks.declarations import task_named
from models.evaluation.tasks.load import (
    NOTE_NAME,
    SENTENCES_NAME,
    DerivedNote,
    read_note,
    read_sentences,
    sentence_file,
    write_note,
)
from models.model.model_folder import load_model
from models.model.ranks import ALONE
from models.training.checkpoints import checkpoint_folders, latest_checkpoint
from models.training.folder import surveyed
from models.training.job import RunSettings, TrainingJob
from models.training.train_views import train
from models.words.vector_files import load_word_vectors
from pipeline.base.digest import sha256_of_file
from pipeline.inspect.check import faults_of
from pipeline.inspect.dataset import select
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.parser_folder import read_parser_folder, write_parser_folder
from pipeline.parsing.parse_shard import ParseJob, parse_shard
from pipeline.shards.manifests import quarantine_path, write_dataset_manifest
from pipeline.shards.shards import read_shard
from pipeline.text.files import TextFiles
from pipeline.text.split import split_sentences
from pipeline.text.tokenization import SentenceConfig
from pipeline.trees.parses import ConstituencyParse, DependencyParse, Parse
from pipeline.vectors.train_word_vectors import write_vectors

_WORDS = ("rain", "stone", "river", "cloud", "apple", "bread", "horse", "tower", "candle", "garden")
SENTENCES = tuple(f"The {a} saw the {b} and left ." for a in _WORDS for b in _WORDS)
VIEWS = ("DEP", "CONST")


@dataclass(frozen=True, slots=True)
class Kind:
    """Files of a kind, and what a user reads of them."""

    name: str
    files: tuple[Path, ...]
    read: Callable[[], Any]
    """Returns the content in a form that can be compared; what it makes anew, it makes alike."""


class RuleParser:
    """Gives every sentence a tree of one form; the last word of a long one is the root."""

    name, checksum = "rule", "0" * 64

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def parse(self, sentences: Sequence[Sentence]) -> list[Parse]:
        """Returns a parse a sentence."""
        return [self._parsed(len(sentence)) for sentence in sentences]

    def _parsed(self, n: int) -> Parse:
        if self._stage == "dependencies":
            return DependencyParse([*range(2, n + 1), 0], ["dep"] * (n - 1) + ["root"])
        return ConstituencyParse(list(range(n - 1)) or [0], [n] * max(n - 1, 1),
                                 ["S"] * max(n - 1, 1), ["NN"] * n)  # fmt: skip


def make_kinds(folder: Path) -> list[Kind]:
    """Writes files of every kind below a folder; returns them with their readers."""
    folders = _write_corpus(folder / "corpus", folder / "text")
    vectors = folder / "vectors"
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    rows = np.random.default_rng(0).normal(size=(len(words), 12)).astype(np.float32)
    write_vectors(vectors, words, rows, {"words": len(words)})
    return [
        *_shard_kinds(folders, vectors),
        Kind(
            "word vectors",
            tuple(vectors / name for name in ("vectors.safetensors", "words.json")),
            lambda: load_word_vectors(vectors).checksum,
        ),
        *_training_kinds(folder / "models", folders, vectors),
        *_evaluation_kinds(folder, folders),
        _parser_kind(folder / "parser"),
    ]


def _write_corpus(folder: Path, text: Path) -> CorpusFolders:
    text.mkdir(parents=True)
    for number in range(10):  # documents, of which some are held out
        part = SENTENCES[number::10]
        (text / f"{number}.txt").write_text("\n\n".join(part) + "\n\n\x07\n", encoding="utf-8")
    folders = CorpusFolders(folder / "sentences", folder / "dependencies", folder / "constituents")
    split_sentences(TextFiles([text]), SentenceConfig(), folders.sentences)
    for stage in ("dependencies", "constituents"):
        parse_shard(ParseJob(stage, folders.sentences, folder / stage, 0), RuleParser(stage))
        write_dataset_manifest(folder / stage, stage, config={})
    return folders


def _shard_kinds(folders: CorpusFolders, vectors: Path) -> list[Kind]:
    def as_training_reads() -> Any:
        block = ParsedCorpus(folders, words, views=VIEWS).read(0)
        return {name: _plain(getattr(block, name)) for name in block.__slots__}

    def as_rows(folder: Path) -> Callable[[], Any]:
        return lambda: read_shard(folder, folder.name, 0).to_pylist()

    def as_check_sees() -> Any:
        if faults := list(faults_of(select(folders.sentences.parent))):
            raise ValueError("; ".join(map(str, faults)))

    words = load_word_vectors(vectors)
    stages = [folders.sentences, folders.sentences.parent / "dependencies"]
    stages.append(folders.sentences.parent / "constituents")
    parts = [
        (Kind(f"shard of {folder.name}", (folder / "00000.parquet",), as_training_reads),
         Kind(f"manifest of a shard of {folder.name}", (folder / "00000.json",), as_rows(folder)),
         Kind(f"manifest of {folder.name}", (folder / "manifest.json",), as_training_reads))
        for folder in stages
    ]  # fmt: skip
    quarantine = Kind("quarantine", (quarantine_path(folders.sentences, 0),), as_check_sees)
    return [*(kind for part in parts for kind in part), quarantine]


def _training_kinds(folder: Path, folders: CorpusFolders, vectors: Path) -> list[Kind]:
    """Trains twice: one training is killed after its checkpoint, one ends."""
    settings = RunSettings(gemm="default", tensorboard=False, checkpoint_every_steps=2)
    config = preset("laptop", hidden_size=6, epochs=2, batch_size=24, views=VIEWS)
    killed, whole = (
        TrainingJob(config, folders, vectors, folder / name, settings=settings)
        for name in ("killed", "whole")
    )
    _train_until_killed(killed)
    train(whole)
    checkpoints = killed.out / "checkpoints"
    words = load_word_vectors(vectors)
    identity = killed.provenance(words).identity
    corpus = killed.part("train", words)
    last = checkpoint_folders(checkpoints)[-1]

    def checkpoint() -> Any:
        found = latest_checkpoint(checkpoints)
        assert found is not None
        return found.step, found.state, _plain(found.tensors)

    def survey() -> Any:
        return _plain(asdict(surveyed(corpus, checkpoints, identity, ALONE)))

    def model() -> Any:
        found = load_model(whole.out, vectors_path=vectors)
        return found.config.to_dict(), _plain(found.state_dict())

    return [
        Kind("checkpoint", (last / "tensors.safetensors", last / "state.json"), checkpoint),
        Kind("survey", (checkpoints / "survey.json", checkpoints / "word-counts.npy"), survey),
        Kind("model", (whole.out / "model.safetensors", whole.out / "model.json"), model),
        Kind("summary of a training", (whole.out / "summary.json",), lambda: train(whole)),
    ]


def _train_until_killed(job: TrainingJob) -> None:
    steps = 0

    def kill(share: float, status: str) -> None:
        nonlocal steps
        steps += share > 0
        if steps == 4:
            raise KeyboardInterrupt

    try:
        train(job, on_progress=kill)
    except KeyboardInterrupt:
        return
    raise AssertionError("the training ended before it was killed")


def _evaluation_kinds(folder: Path, folders: CorpusFolders) -> list[Kind]:
    cache, encoder = EmbeddingCache(folder / "embeddings"), CallableEncoder(_encoded, "rule")
    parses, tokens = ParseCache(folder / "parses"), [text.split() for text in SENTENCES]
    result, probing = folder / "results" / "MR.json", folder / "probing"
    altered = folder / "altered" / "sentences"

    def embeddings() -> Any:
        return _plain(dict(cache.embeddings(encoder, SENTENCES, name="rule").views))

    def piece() -> Any:
        def make() -> Any:
            return token_table(tokens, [None] * len(tokens))

        return parses.table("tokens", {"by": "rule"}, SENTENCES, make).to_pylist()

    def sentences() -> Any:
        note = read_note(probing)
        assert note is not None
        return asdict(note), read_sentences(probing, note).table.to_pylist()

    embeddings(), piece()
    write_result(result, _result())
    _write_probing(probing)
    constituents = folders.constituents
    assert constituents is not None
    half = ProbingConfig(held_out_fraction=0.5)
    make_altered_sentences(folders.sentences, constituents, altered, half)
    return [
        Kind("embeddings", _files(folder / "embeddings"), embeddings),
        Kind("parses of raw sentences", _files(folder / "parses", "tokens-*/*"), piece),
        Kind("result", (result,), lambda: _shown(read_result(result))),
        Kind("probing sentences", (probing / SENTENCES_NAME, probing / NOTE_NAME), sentences),
        Kind("alterations", (altered / PLAN_NAME,), lambda: read_plan(altered)),
    ]


def _encoded(sentences: Sequence[str]) -> Any:
    lengths = [[len(text), text.count("a"), text.count("e")] for text in sentences]
    return np.array(lengths, dtype=np.float32)


def _result() -> TaskResult:
    gold = np.arange(200, dtype=np.float64) % 2
    predictions = Predictions(gold[::-1].copy(), gold, np.zeros(200, dtype=np.int64))
    setup = Setup(EncoderIdentity("rule", "0" * 12))
    outcome = Outcome(predictions, {"test": 200}, width=3)
    return scored(task_named("MR"), setup, DataRecord("0" * 12, "1" * 12), outcome, seconds={})


def _shown(result: Any) -> Any:
    assert isinstance(result, TaskResult)
    predictions = {name: _plain(getattr(result.outcome.predictions, name))
                   for name in ("predicted", "gold", "groups")}  # fmt: skip
    return repr((result.task, result.setup, result.data, result.scores)), predictions


def _write_probing(folder: Path) -> None:
    folder.mkdir(parents=True)
    rows = [{"tokens": text.split(), "unit": str(number % 5), "part": "corpus",
             "dataset_row": number, "heads": None, "binary_left": None, "binary_right": None}
            for number, text in enumerate(SENTENCES)]  # fmt: skip
    path = folder / SENTENCES_NAME
    path.write_bytes(sentence_file(rows))
    write_note(folder, DerivedNote("a corpus", {path.name: sha256_of_file(path)}))


def _parser_kind(folder: Path) -> Kind:
    tensors = {"weight": torch.linspace(-1, 1, 300)}
    write_parser_folder(folder, "rule", {"vocabulary": list(_WORDS)}, tensors)

    def parser() -> Any:
        config, weights, checksum = read_parser_folder(folder, "rule")
        return config, _plain(weights), checksum

    return Kind("parser", (folder / "weights.safetensors", folder / "parser.json"), parser)


def _files(folder: Path, pattern: str = "**/*") -> tuple[Path, ...]:
    found = (path for path in folder.glob(pattern) if path.is_file() and path.name != "config.json")
    return tuple(sorted(found))


def _plain(value: Any) -> Any:
    """Returns arrays and tensors as their type, shape and bytes."""
    if isinstance(value, torch.Tensor):
        value = value.detach().contiguous().numpy()
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value
