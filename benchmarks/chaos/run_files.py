"""Small files of every kind that a run makes, by the code that makes them, and their readers.

Parsers answer by rule in place of a network; all else is what a run does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.config.training_presets import preset
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.encoding.parse_cache import ParseCache, token_table
from models.evaluation.derived.build import SUMMARY_NAME, ParsedFolders, build_probing, read_summary
from models.evaluation.derived.held_out.altered_sentences import (
    PLAN_NAME,
    make_altered_sentences,
    read_plan,
)
from models.evaluation.derived.held_out.config import ProbingConfig
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
from models.model.model_description import MODEL_FILE, WEIGHTS_FILE
from models.model.model_folder import load_model
from models.model.ranks import ALONE
from models.report.run.report import _read_metrics
from models.training.checkpoints import checkpoint_folders
from models.training.folder import open_checkpoint, surveyed
from models.training.job import RunSettings, TrainingJob
from models.training.logs import METRICS_FILE
from models.training.train_views import BEST_FOLDER, train
from models.words.vector_files import load_word_vectors
from models.words.word_vectors import WordVectors
from pipeline.base.digest import sha256_of_file
from pipeline.inspect.check import faults_of
from pipeline.inspect.dataset import select
from pipeline.parsers.adapters.base import Sentence
from pipeline.parsers.adapters.folder_files import CHECKSUMS_NAME, PARSER_FILES
from pipeline.parsers.adapters.parser_folder import read_parser_folder, write_parser_folder
from pipeline.parsing.parse_shard import ParseJob, parse_shard
from pipeline.shards.manifests import quarantine_path, write_dataset_manifest
from pipeline.shards.shards import read_shard
from pipeline.sources.files import TextFiles
from pipeline.text.split_corpus import split_sentences
from pipeline.text.tokenization import SentenceConfig
from pipeline.trees.parses import ConstituencyParse, DependencyParse, Parse
from pipeline.vectors.folder import FACTS_FILE, VECTORS_FILE, WORDS_FILE
from pipeline.vectors.write_folder import write_vectors

_WORDS = ("rain", "stone", "river", "cloud", "apple", "bread", "horse", "tower", "candle", "garden")
SENTENCES = tuple(f"The {a} saw the {b} and left ." for a in _WORDS for b in _WORDS)
VIEWS = ("DEP", "CONST")
PARSED = ("dependencies", "constituents")


@dataclass(frozen=True, slots=True)
class Kind:
    """Files of a kind, and what a user reads of them."""

    name: str
    files: tuple[Path, ...]
    read: Callable[[], Any]
    """Returns the content in a form that can be compared; what it makes anew, it makes alike."""
    folder: Path | None = None
    """What reading may change beside the files."""
    before: Any = None
    """What is right, too, where a warning names the file's folder: an earlier checkpoint."""


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
            tuple(vectors / name for name in (VECTORS_FILE, WORDS_FILE, FACTS_FILE)),
            lambda: _content_of(load_word_vectors(vectors)),
        ),
        *_training_kinds(folder / "models", folders, vectors),
        *_evaluation_kinds(folder, folders),
        _parser_kind(folder / "parser"),
    ]


def _content_of(vectors: WordVectors) -> tuple[tuple[str, ...], bytes]:
    return vectors.words, vectors.matrix.tobytes()


def _write_corpus(folder: Path, text: Path) -> CorpusFolders:
    text.mkdir(parents=True)
    for number in range(10):  # documents, of which some are held out
        part = SENTENCES[number::10]
        (text / f"{number}.txt").write_text("\n\n".join(part) + "\n\n\x07\n", encoding="utf-8")
    folders = CorpusFolders(folder / "sentences", folder / "dependencies", folder / "constituents")
    split_sentences(TextFiles([text]), SentenceConfig(), folders.sentences)
    _parse(folders.sentences)
    return folders


def _parse(sentences: Path) -> None:
    """Parses the first shard by rule, into folders beside it."""
    for stage in PARSED:
        out = sentences.parent / stage
        fields = {"stage": stage, "sentences": sentences, "output": out, "number": 0}
        parse_shard(ParseJob.from_dict(fields), RuleParser(stage))
        write_dataset_manifest(out, stage, config={})


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
    stages = [folders.sentences, *(folders.sentences.parent / stage for stage in PARSED)]
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

    def survey() -> Any:
        return _plain(asdict(surveyed(corpus, checkpoints, identity, ALONE)))

    def model(out: Path) -> Any:
        found = load_model(out, vectors_path=vectors)
        return found.config.to_dict(), _plain(found.state_dict())

    def resumed() -> Any:
        train(killed)
        return model(killed.out), model(killed.out / BEST_FOLDER)

    def metrics() -> Any:
        return _read_metrics(whole.out / METRICS_FILE, train(whole))

    def kind_of_model(name: str, out: Path) -> Kind:
        return Kind(name, (out / WEIGHTS_FILE, out / MODEL_FILE), lambda: model(out))

    checkpoint = _checkpoint_kind(killed.out, identity)
    return [
        checkpoint,
        replace(checkpoint, name="checkpoint of a resumed training", read=resumed, before=None),
        Kind("survey", (checkpoints / "survey.json", checkpoints / "word-counts.npy"), survey),
        kind_of_model("model", whole.out),
        kind_of_model("best model", whole.out / BEST_FOLDER),
        Kind("summary of a training", (whole.out / "summary.json",), lambda: train(whole)),
        Kind("metrics of a training", (whole.out / METRICS_FILE,), metrics),
    ]


def _checkpoint_kind(out: Path, identity: str) -> Kind:
    """Returns the last checkpoint of a training that was killed, opened as a resume does."""
    *_, last = checkpoint_folders(out / "checkpoints")

    def checkpoint() -> Any:
        found = open_checkpoint(out, identity, ALONE)
        return found and (found.step, found.state, _plain(found.tensors))

    aside = last.rename(out / last.name)
    before = checkpoint()
    aside.rename(last)
    assert before is not None, "the training has two checkpoints"
    files = (last / "tensors.safetensors", last / "state.json")
    return Kind("checkpoint", files, checkpoint, folder=out, before=before)


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
    parses, tokens = ParseCache(folder / "parses"), [text.split() for text in SENTENCES]
    result, probing = folder / "results" / "MR.json", folder / "probing"
    altered = folder / "altered" / "sentences"
    summary = folder / "built"

    def piece() -> Any:
        def make() -> Any:
            return token_table(tokens, [None] * len(tokens))

        return parses.table("tokens", {"by": "rule"}, SENTENCES, make).to_pylist()

    def sentences() -> Any:
        note = read_note(probing)
        assert note is not None
        return asdict(note), read_sentences(probing, note).table.to_pylist()

    piece()
    write_result(result, _result())
    _write_probing(probing)
    constituents = folders.constituents
    assert constituents is not None
    half = ProbingConfig(
        held_out_fraction=0.5, min_train=6, min_dev=2, min_test=2, min_class_train=1
    )
    make_altered_sentences(folders.sentences, constituents, altered, half)
    _parse(altered)
    corpus, changed = (
        ParsedFolders(*(near.parent / stage for stage in ("sentences", *PARSED)))
        for near in (folders.sentences, altered)
    )
    build_probing(corpus, changed, summary, half)
    return [
        Kind("parses of raw sentences", _files(folder / "parses", "tokens-*/*"), piece),
        Kind("result", (result,), lambda: _shown(read_result(result))),
        Kind("probing sentences", (probing / SENTENCES_NAME, probing / NOTE_NAME), sentences),
        Kind("probing summary", (summary / SUMMARY_NAME,), lambda: read_summary(summary)),
        Kind("alterations", (altered / PLAN_NAME,), lambda: read_plan(altered)),
    ]


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

    files = (folder / name for name in (*PARSER_FILES, CHECKSUMS_NAME))
    return Kind("parser", tuple(files), parser)


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
