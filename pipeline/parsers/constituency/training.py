"""Trains benepar's chart model from bracketed treebanks, resumable at every epoch.

benepar's distribution has the model alone; the reading of treebanks, examples, loss, optimiser
and schedule are ours. Differs from the training of Kitaev & Klein 2018 in that batches hold
sentences of like length, that both losses are means over tokens (so that every sentence weighs
the same whatever its batch), that the learning rate falls along a cosine, and that the weights
kept are a moving average.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pipeline.digest import sha256_of_file
from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser
from pipeline.parsers.constituency.chart_model import ChartModelConfig, to_benepar_label
from pipeline.parsers.constituency.evaluation import evaluate_constituency_parser
from pipeline.parsers.constituency.examples import ExampleSet, build_vocabularies
from pipeline.parsers.constituency.loss import chart_losses
from pipeline.parsers.constituency.model import (
    ConstituencyModel,
    load_constituency_model,
    new_constituency_model,
    save_constituency_model,
)
from pipeline.parsers.folder_files import DESCRIPTION_NAME, WEIGHTS_NAME
from pipeline.parsers.training.checkpoint import TrainingState
from pipeline.parsers.training.initial import check_known
from pipeline.parsers.training.run import EpochOutcome, TrainingRun, training_digest
from pipeline.parsers.training.steps import OptimizerConfig, update_weights
from pipeline.treebanks.bracketed import BracketedSentence, read_bracketed

logger = logging.getLogger(__name__)

DEFAULT_OPTIMIZER = OptimizerConfig(
    num_epochs=36,
    learning_rate=1.5e-3,
    warmup_epochs=1.5,
    adam_betas=(0.9, 0.98),
    clip_norm=1.0,
    averaging=0.998,
    precision="float32",
)
"""Of the bundled parser."""


@dataclass(frozen=True)
class ConstituencyTrainingConfig:
    """What determines a trained constituency parser, beside the content of its files."""

    train_files: tuple[Path, ...]
    dev_files: tuple[Path, ...]
    """The epoch with the best bracket F1 on these together is kept."""
    train_documents: tuple[Path, ...] = ()
    """A CoNLL-U file for each train file, which tells its sentences' documents; or none at all."""
    dev_documents: tuple[Path, ...] = ()
    exclude_document_prefixes: tuple[str, ...] = ()
    """Documents left out of both, by the beginning of their id."""
    initial_parser: Path | None = None
    """Folder of a parser to go on from, or none; its vocabularies are kept."""
    model: ChartModelConfig = field(default_factory=ChartModelConfig)
    optimizer: OptimizerConfig = DEFAULT_OPTIMIZER
    min_character_count: int = 3
    """Rarer characters count as unknown. Without effect on an initial parser, whose are kept."""
    batch_tokens: int = 500
    """Bound of a batch's padded size."""
    max_sentence_tokens: int = 150
    """Longer training sentences are left out; the log counts them."""
    tag_loss_scale: float = 0.3
    """Weight of the tagging loss beside the bracket loss, both per token."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.train_files or not self.dev_files:
            raise ValueError("a training needs at least one train file and one dev file")
        for name in ("train", "dev"):
            files, documents = getattr(self, f"{name}_files"), getattr(self, f"{name}_documents")
            if documents and len(files) != len(documents):
                raise ValueError(f"{len(documents)} {name}_documents for {len(files)} {name}_files")
        for name in ("min_character_count", "batch_tokens", "max_sentence_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.max_sentence_tokens > self.model.max_length - 2:
            raise ValueError(
                f"max_sentence_tokens={self.max_sentence_tokens}, but the model takes "
                f"{self.model.max_length - 2}"
            )

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is read."""
        files = self.train_files + self.dev_files + self.train_documents + self.dev_documents
        if self.initial_parser is not None:
            files += (self.initial_parser / WEIGHTS_NAME, self.initial_parser / DESCRIPTION_NAME)
        return files

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as JSON values, files by the end of their path only."""
        values = asdict(self)
        for name in ("train_files", "dev_files", "train_documents", "dev_documents"):
            values[name] = ["/".join(path.parts[-3:]) for path in getattr(self, name)]
        if self.initial_parser is not None:
            values["initial_parser"] = self.initial_parser.name
        return values


def train_constituency_parser(
    config: ConstituencyTrainingConfig,
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
    dev = _read(config.dev_files, config.dev_documents, config)
    trainer = _Trainer(config, _read(config.train_files, config.train_documents, config))
    digests = [sha256_of_file(path) for path in config.files]
    run = TrainingRun(trainer.state, out_dir, digest=training_digest(config.as_json(), digests))
    run.train(
        partial(_train_and_score, trainer, dev),
        num_epochs=config.optimizer.num_epochs,
        on_progress=on_progress,
    )
    summary = run.finish(config.as_json(), headline=_headline)
    return summary | {"seconds": round(time.monotonic() - started, 1)}


def _train_and_score(trainer: _Trainer, dev: list[BracketedSentence]) -> EpochOutcome:
    metrics = trainer.train_epoch()
    parser = BeneparConstituencyParser(trainer.averaged_model, name="dev", checksum="")
    scores = evaluate_constituency_parser(parser, dev)
    return EpochOutcome(
        metrics=metrics,
        dev=scores.as_json(),
        score=scores.evalb.f1,
        save=partial(save_constituency_model, model=trainer.averaged_model),
        message=f"bracket loss {metrics['bracket_loss']:.3f}, dev F1 {scores.evalb.f1:.2f}",
    )


def _headline(dev: Mapping[str, Any]) -> dict[str, float]:
    return {"bracket F1 dev": dev["evalb"]["f1"], "tag accuracy dev": dev["evalb"]["tag_accuracy"]}


class _Trainer:
    """The weights in training and the sentences they learn from."""

    def __init__(
        self, config: ConstituencyTrainingConfig, sentences: list[BracketedSentence]
    ) -> None:
        self._config = config
        kept = [s for s in sentences if len(s.tokens) <= config.max_sentence_tokens]
        if not kept:
            raise ValueError(
                f"none of {len(sentences)} training sentences has at most "
                f"{config.max_sentence_tokens} tokens; raise max_sentence_tokens"
            )
        torch.manual_seed(config.seed)
        model = _start_model(config, kept)
        vocabularies = model.vocabularies
        num_dropped, num_labels = len(sentences) - len(kept), len(vocabularies.labels)
        logger.info(
            "%d sentences, %d too long left out, %d labels", len(kept), num_dropped, num_labels
        )
        self._examples = ExampleSet(kept, vocabularies)
        averaged = copy.deepcopy(model.network).eval().requires_grad_(False)
        self._module = model.network
        self.averaged_model = ConstituencyModel(config.model, vocabularies, averaged)
        self.state = TrainingState(
            model.network, averaged, config.optimizer.new_optimizer(model.network)
        )

    def train_epoch(self) -> dict[str, float]:
        """Takes the next epoch's steps and returns its means, rate and speed."""
        config, state, started = self._config, self.state, time.monotonic()
        # Seeded by the epoch, so that a resumed training draws what an uninterrupted one would.
        seed = config.seed * 100_003 + state.epoch + 1
        torch.manual_seed(seed)
        state.network.train()
        batches = list(self._examples.batches(config.batch_tokens, seed=seed))
        totals = torch.zeros(3)
        for index, batch in enumerate(batches):
            with config.optimizer.autocast():
                losses = chart_losses(self._module, batch)
            loss = losses.brackets + config.tag_loss_scale * losses.tags
            epochs = state.epoch + index / len(batches)
            norm = update_weights(state, loss, config.optimizer, epochs=epochs)
            totals += torch.tensor([losses.brackets.item(), losses.tags.item(), norm])
        seconds = time.monotonic() - started
        names = ("bracket_loss", "tag_loss", "gradient_norm")
        means = (totals / len(batches)).tolist()
        return {
            **{name: round(mean, 6) for name, mean in zip(names, means, strict=True)},
            "learning_rate": config.optimizer.rate_after(state.epoch + 1),
            "train_seconds": round(seconds, 1),
            "train_sentences_per_second": round(len(self._examples) / seconds, 1),
        }


def _start_model(
    config: ConstituencyTrainingConfig, sentences: list[BracketedSentence]
) -> ConstituencyModel:
    """Returns the model before the first step."""
    if config.initial_parser is not None:
        model, _ = load_constituency_model(config.initial_parser)
        _check_vocabularies(config.initial_parser, sentences, model)
        fresh = new_constituency_model(config.model, model.vocabularies)
        try:
            fresh.network.load_state_dict(model.network.state_dict())
        except RuntimeError as error:
            raise ValueError(
                f"{config.initial_parser}: has other sizes than the training ({error}); give the "
                "training those of the parser"
            ) from error
        return fresh
    vocabularies = build_vocabularies(sentences, min_character_count=config.min_character_count)
    return new_constituency_model(config.model, vocabularies)


def _check_vocabularies(
    parser: Path, sentences: list[BracketedSentence], model: ConstituencyModel
) -> None:
    labels = (to_benepar_label(label) for s in sentences for label in s.parse.labels)
    check_known(parser, "labels", labels, model.vocabularies.labels)
    tags = (tag for s in sentences for tag in s.parse.tags)
    check_known(parser, "tags", tags, model.vocabularies.tags)


def _read(
    files: tuple[Path, ...], documents: tuple[Path, ...], config: ConstituencyTrainingConfig
) -> list[BracketedSentence]:
    sentences: list[BracketedSentence] = []
    for index, file in enumerate(files):
        sentences += read_bracketed(
            file,
            documents=documents[index] if documents else None,
            exclude_document_prefixes=config.exclude_document_prefixes,
        )
    if not sentences:
        raise ValueError(
            f"no sentence in {', '.join(map(str, files))}: name files with at least one document "
            f"that exclude_document_prefixes={list(config.exclude_document_prefixes)} leaves"
        )
    return sentences
