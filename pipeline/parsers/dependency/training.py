"""Trains a biaffine dependency parser from CoNLL-U treebanks, resumable at every epoch.

Differs from supar's own trainer, which breaks on current torch: the epoch loop is ours, the
weights that are kept are a moving average, the learning rate falls to zero along a cosine, and
rare words are replaced by the unknown word at random (Kiperwasser & Goldberg 2016, section 4).
"""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pipeline.digest import sha256_of_file
from pipeline.parsers.batches import shuffled_length_batches
from pipeline.parsers.dependency.evaluation import evaluate_dependency_parser
from pipeline.parsers.dependency.loss import GoldTreebank, dependency_loss
from pipeline.parsers.dependency.model import (
    DependencyModel,
    load_dependency_model,
    save_dependency_model,
)
from pipeline.parsers.dependency.network import (
    BiaffineNetwork,
    Dropouts,
    NetworkSizes,
    build_network,
)
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary
from pipeline.parsers.dependency.word_embedding import (
    add_pretrained_vectors,
    extended_by_vectors,
    with_plain_embedding,
)
from pipeline.parsers.folder_files import DESCRIPTION_NAME, WEIGHTS_NAME
from pipeline.parsers.training.checkpoint import TrainingState
from pipeline.parsers.training.initial import check_known
from pipeline.parsers.training.run import EpochOutcome, TrainingRun, training_digest
from pipeline.parsers.training.steps import OptimizerConfig, update_weights
from pipeline.parsers.training.word_vectors import (
    PretrainedVectors,
    read_pretrained_vectors,
    vector_files,
)
from pipeline.treebanks.conllu import TreebankSentence, read_treebank

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DependencyTrainingConfig:
    """What determines a trained dependency parser, beside the content of its files."""

    train_files: tuple[Path, ...]
    dev_files: tuple[Path, ...]
    """The epoch with the best labelled attachment score on these together is kept."""
    exclude_document_prefixes: tuple[str, ...] = ()
    """Documents left out of both, by the beginning of their id."""
    word_vectors: Path | None = None
    """Folder of pretrained vectors that are added to the learned ones, or none."""
    num_word_vectors: int = 0
    """How many of them, most frequent words first; 0 for all. A parser's file holds each."""
    initial_parser: Path | None = None
    """Folder of a parser to go on from, or none; its sizes and words are kept."""
    sizes: NetworkSizes = field(default_factory=NetworkSizes)
    dropouts: Dropouts = field(default_factory=Dropouts)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    min_word_frequency: int = 2
    """Rarer words share the unknown word's vector; their spelling is still read. Without effect on
    an initial parser, whose words are kept."""
    unknown_word_alpha: float = 0.25
    """A word seen f times becomes the unknown word with probability alpha / (alpha + f)."""
    batch_tokens: int = 1500
    """Bound of a batch's padded size."""
    max_sentence_tokens: int = 150
    """Longer training sentences are left out; the log counts them."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.train_files or not self.dev_files:
            raise ValueError("a training needs at least one train file and one dev file")
        for name in ("min_word_frequency", "batch_tokens", "max_sentence_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.num_word_vectors < 0:
            raise ValueError(f"num_word_vectors must be >= 0, got {self.num_word_vectors}")
        if self.num_word_vectors and self.word_vectors is None:
            raise ValueError("num_word_vectors bounds word vectors, of which none are given")

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is read."""
        files = self.train_files + self.dev_files
        if self.word_vectors is not None:
            files += vector_files(self.word_vectors)
        if self.initial_parser is not None:
            files += (self.initial_parser / WEIGHTS_NAME, self.initial_parser / DESCRIPTION_NAME)
        return files

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as JSON values, files by the end of their path only."""
        values = asdict(self)
        for name in ("train_files", "dev_files"):
            values[name] = ["/".join(path.parts[-3:]) for path in getattr(self, name)]
        if self.word_vectors is not None:
            values["word_vectors"] = "/".join(self.word_vectors.parts[-3:])
        if self.initial_parser is not None:
            values["initial_parser"] = self.initial_parser.name
        return values


def train_dependency_parser(
    config: DependencyTrainingConfig,
    out_dir: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Trains a parser and returns its summary; ``out_dir`` is then a parser folder.

    A call that finds an earlier one's checkpoint in ``out_dir`` goes on from its last epoch and
    ends with the same weights. ``metrics.jsonl``, ``training.json`` and ``scores.json`` stay beside
    the parser.

    Args:
        config: what to train, and on what.
        out_dir: made where missing; holds ``parser.json`` only once training is complete.
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Returns:
        ``checksum``, ``best_epoch``, ``num_parameters``, ``dev`` (scores of the kept epoch on the
        dev files), ``seconds``.

    Raises:
        ValueError: a file is missing or malformed, or ``out_dir`` holds a finished parser or
            another training's checkpoint.
    """
    started = time.monotonic()
    train, dev = _read(config.train_files, config), _read(config.dev_files, config)
    trainer = _Trainer(config, train)
    digests = [sha256_of_file(path) for path in config.files]
    run = TrainingRun(trainer.state, out_dir, digest=training_digest(config.as_json(), digests))
    run.train(
        partial(_train_and_score, trainer, dev),
        num_epochs=config.optimizer.num_epochs,
        on_progress=on_progress,
    )
    summary = run.finish(config.as_json(), headline=_headline)
    return summary | {"seconds": round(time.monotonic() - started, 1)}


def _train_and_score(trainer: _Trainer, dev: list[TreebankSentence]) -> EpochOutcome:
    metrics = trainer.train_epoch()
    model = trainer.averaged_model()
    scores = evaluate_dependency_parser(SuparDependencyParser(model, name="dev"), dev)
    return EpochOutcome(
        metrics=metrics,
        dev=asdict(scores),
        score=scores.las,
        save=partial(save_dependency_model, model),
        message=f"loss {metrics['loss']:.3f}, dev LAS {scores.las:.2f}",
    )


def _headline(dev: Mapping[str, Any]) -> dict[str, float]:
    return {"LAS dev": dev["las"], "UAS dev": dev["uas"]}


class _Trainer:
    """The weights in training and the sentences they learn from."""

    def __init__(self, config: DependencyTrainingConfig, sentences: list[TreebankSentence]) -> None:
        self._config = config
        kept = [s for s in sentences if len(s.tokens) <= config.max_sentence_tokens]
        if not kept:
            raise ValueError(
                f"none of {len(sentences)} training sentences has at most "
                f"{config.max_sentence_tokens} tokens; raise max_sentence_tokens"
            )
        torch.manual_seed(config.seed)
        network, vocabulary = _start_network(config, kept)
        self._treebank = GoldTreebank(
            kept,
            vocabulary,
            unknown_word_alpha=config.unknown_word_alpha,
            has_vectors=config.word_vectors is not None,
        )
        num_dropped, num_words = len(sentences) - len(kept), len(vocabulary.words)
        logger.info(
            "%d sentences, %d too long left out, %d words", len(kept), num_dropped, num_words
        )
        averaged = copy.deepcopy(network).eval().requires_grad_(False)
        self.state = TrainingState(network, averaged, config.optimizer.new_optimizer(network))

    def averaged_model(self) -> DependencyModel:
        """Returns the moving average of the weights as a model to parse with."""
        network = with_plain_embedding(self.state.averaged)
        return DependencyModel(network, self._config.sizes, self._treebank.vocabulary)

    def train_epoch(self) -> dict[str, float]:
        """Takes the next epoch's steps and returns its means, rate and speed."""
        config, state, started = self._config, self.state, time.monotonic()
        # Seeded by the epoch, so that a resumed training draws what an uninterrupted one would.
        torch.manual_seed(config.seed * 100_003 + state.epoch + 1)
        random = np.random.default_rng((config.seed, state.epoch + 1, 1))
        state.network.train()
        losses, norms = [], []
        batches = shuffled_length_batches(
            self._treebank.lengths, max_tokens=config.batch_tokens, random=random
        )
        for index, members in enumerate(batches):
            batch = self._treebank.batch(members, random)
            with config.optimizer.autocast():
                loss = dependency_loss(
                    state.network,
                    batch,
                    self._treebank.vocabulary,
                    recurrent_weight_dropout=config.dropouts.recurrent_weight,
                )
            epochs = state.epoch + index / len(batches)
            norms.append(update_weights(state, loss, config.optimizer, epochs=epochs))
            losses.append(loss.item())
        seconds = time.monotonic() - started
        return {
            "loss": round(math.fsum(losses) / len(losses), 6),
            "gradient_norm": round(math.fsum(norms) / len(norms), 6),
            "learning_rate": config.optimizer.rate_after(state.epoch + 1),
            "train_seconds": round(seconds, 1),
            "train_sentences_per_second": round(len(self._treebank.lengths) / seconds, 1),
        }


def _start_network(
    config: DependencyTrainingConfig, sentences: list[TreebankSentence]
) -> tuple[BiaffineNetwork, DependencyVocabulary]:
    """Returns the network before the first step, and its vocabulary."""
    vectors = None
    if config.word_vectors is not None:
        vectors = read_pretrained_vectors(config.word_vectors, config.num_word_vectors)
        vectors = vectors.lower_cased()
    if config.initial_parser is not None:
        return _go_on_from(config.initial_parser, config, vectors, sentences)
    learned = DependencyVocabulary.build(sentences, min_word_frequency=config.min_word_frequency)
    if vectors is None:
        return build_network(config.sizes, learned, config.dropouts), learned
    vocabulary = learned.extended(vectors.words)
    network = build_network(config.sizes, vocabulary, config.dropouts)
    add_pretrained_vectors(network, vocabulary, vectors, num_learned=len(learned.words))
    return network, vocabulary


def _go_on_from(
    folder: Path,
    config: DependencyTrainingConfig,
    vectors: PretrainedVectors | None,
    sentences: list[TreebankSentence],
) -> tuple[BiaffineNetwork, DependencyVocabulary]:
    model, _ = load_dependency_model(folder)
    if model.sizes != config.sizes:
        raise ValueError(
            f"{folder}: has the sizes {asdict(model.sizes)}, the training {asdict(config.sizes)}; "
            f"give the training those of the parser"
        )
    relations = (name for sentence in sentences for name in sentence.deprels)
    check_known(folder, "relations", relations, model.vocabulary.relations)
    if vectors is not None:
        return extended_by_vectors(model, vectors, config.dropouts)
    network = build_network(model.sizes, model.vocabulary, config.dropouts)
    network.load_state_dict(model.network.state_dict())
    return network, model.vocabulary


def _read(files: tuple[Path, ...], config: DependencyTrainingConfig) -> list[TreebankSentence]:
    return read_treebank(files, exclude_document_prefixes=config.exclude_document_prefixes)
