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
from pipeline.parsers.dependency.batches import shuffled_length_batches
from pipeline.parsers.dependency.evaluation import evaluate_dependency_parser
from pipeline.parsers.dependency.loss import GoldTreebank, dependency_loss
from pipeline.parsers.dependency.model import DependencyModel, save_dependency_model
from pipeline.parsers.dependency.network import Dropouts, NetworkSizes, build_network
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary
from pipeline.parsers.training.checkpoint import TrainingState
from pipeline.parsers.training.run import TrainingRun, training_digest
from pipeline.parsers.training.steps import OptimizerConfig, update_weights
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
    sizes: NetworkSizes = field(default_factory=NetworkSizes)
    dropouts: Dropouts = field(default_factory=Dropouts)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    min_word_frequency: int = 2
    """Rarer words share the unknown word's vector; their spelling is still read."""
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

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as JSON values, files by the end of their path only."""
        values = asdict(self)
        for name in ("train_files", "dev_files"):
            values[name] = ["/".join(path.parts[-3:]) for path in getattr(self, name)]
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
    digests = [sha256_of_file(path) for path in (*config.train_files, *config.dev_files)]
    run = TrainingRun(trainer.state, out_dir, digest=training_digest(config.as_json(), digests))
    while trainer.state.epoch < config.optimizer.num_epochs:
        metrics = trainer.train_epoch()
        model = trainer.averaged_model()
        scores = evaluate_dependency_parser(SuparDependencyParser(model, name="dev"), dev)
        run.end_epoch(
            {**metrics, "dev": asdict(scores)},
            score=scores.las,
            save=partial(save_dependency_model, model),
        )
        message = f"loss {metrics['loss']:.3f}, dev LAS {scores.las:.2f}"
        logger.info("epoch %d: %s, %s s", run.state.epoch, message, metrics["train_seconds"])
        if on_progress is not None:
            on_progress(run.state.epoch / config.optimizer.num_epochs, message)
    summary = run.finish(config.as_json(), headline=_headline)
    return summary | {"seconds": round(time.monotonic() - started, 1)}


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
        vocabulary = DependencyVocabulary.build(kept, min_word_frequency=config.min_word_frequency)
        self._treebank = GoldTreebank(
            kept, vocabulary, unknown_word_alpha=config.unknown_word_alpha
        )
        num_dropped, num_words = len(sentences) - len(kept), len(vocabulary.words)
        logger.info(
            "%d sentences, %d too long left out, %d words", len(kept), num_dropped, num_words
        )
        torch.manual_seed(config.seed)
        network = build_network(config.sizes, vocabulary, config.dropouts)
        averaged = copy.deepcopy(network).eval().requires_grad_(False)
        self.state = TrainingState(network, averaged, config.optimizer.new_optimizer(network))

    def averaged_model(self) -> DependencyModel:
        """Returns the moving average of the weights, without a copy."""
        return DependencyModel(self.state.averaged, self._config.sizes, self._treebank.vocabulary)

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


def _read(files: tuple[Path, ...], config: DependencyTrainingConfig) -> list[TreebankSentence]:
    return read_treebank(files, exclude_document_prefixes=config.exclude_document_prefixes)
