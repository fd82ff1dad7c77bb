"""Trains benepar's chart model from bracketed treebanks, resumable at every epoch.

benepar's distribution has the model alone; the reading of treebanks, examples, loss, optimiser
and schedule are ours. Differs from the training of Kitaev & Klein 2018 in that batches hold
sentences of like length, that both losses are means over tokens (so that every sentence weighs
the same whatever its batch), that the learning rate falls along a cosine, and that the weights
kept are a moving average.
"""

from __future__ import annotations

import copy
import json
import logging
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pipeline.digest import digest_of, sha256_of_file
from pipeline.parsers.benepar_adapter import BeneparConstituencyParser
from pipeline.parsers.chart_loss import margin_loss
from pipeline.parsers.chart_model import ChartModelConfig, encode_sentences, encode_words
from pipeline.parsers.constituency_evaluation import evaluate_constituency_parser
from pipeline.parsers.constituency_examples import (
    IGNORED_TAG,
    ChartBatch,
    ExampleSet,
    build_vocabularies,
)
from pipeline.parsers.constituency_model import (
    ConstituencyModel,
    new_constituency_model,
    save_constituency_model,
)
from pipeline.parsers.parser_folder import (
    DESCRIPTION_NAME,
    WEIGHTS_NAME,
    checksum_of_parser_folder,
)
from pipeline.parsers.training_checkpoint import (
    TrainingState,
    read_checkpoint,
    update_average,
    write_checkpoint,
)
from pipeline.treebanks.bracketed import BracketedSentence, read_bracketed

logger = logging.getLogger(__name__)

PRECISIONS = ("bfloat16", "float32")
CHECKPOINT_NAME, METRICS_NAME, BEST_NAME = "checkpoint.safetensors", "metrics.jsonl", "best"
RECORD_NAME = "training.json"


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
    model: ChartModelConfig = field(default_factory=ChartModelConfig)
    min_character_count: int = 3
    """Rarer characters count as unknown."""
    num_epochs: int = 30
    batch_tokens: int = 500
    """Bound of a batch's padded size."""
    max_sentence_tokens: int = 150
    """Longer training sentences are left out; the log counts them."""
    learning_rate: float = 1.5e-3
    warmup_epochs: float = 1.5
    """The learning rate first rises from zero for so many epochs."""
    adam_betas: tuple[float, float] = (0.9, 0.98)
    clip_norm: float = 1.0
    tag_loss_scale: float = 0.3
    """Weight of the tagging loss beside the bracket loss, both per token."""
    averaging: float = 0.998
    """Share that the moving average of the weights keeps at each step."""
    precision: str = "float32"
    """Of matrix products in training (``bfloat16`` or ``float32``); parsing is always float32."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.train_files or not self.dev_files:
            raise ValueError("a training needs at least one train file and one dev file")
        for name in ("train", "dev"):
            files, documents = getattr(self, f"{name}_files"), getattr(self, f"{name}_documents")
            if documents and len(files) != len(documents):
                raise ValueError(f"{len(documents)} {name}_documents for {len(files)} {name}_files")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        for name in ("min_character_count", "num_epochs", "batch_tokens", "max_sentence_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as JSON values, files by the end of their path only."""
        values = asdict(self)
        for name in ("train_files", "dev_files", "train_documents", "dev_documents"):
            values[name] = ["/".join(path.parts[-3:]) for path in getattr(self, name)]
        return values


def train_constituency_parser(
    config: ConstituencyTrainingConfig,
    out_dir: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Trains a parser and returns its summary; ``out_dir`` is then a parser folder.

    A call that finds an earlier one's checkpoint in ``out_dir`` goes on from its last epoch and
    ends with the same weights. ``metrics.jsonl`` and ``training.json`` stay beside the parser.

    Args:
        config: what to train, and on what.
        out_dir: made where missing; holds ``parser.json`` only once training is complete.
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Returns:
        ``checksum``, ``best_epoch``, ``num_parameters``, ``dev`` (scores of the kept epoch on the
        dev files), ``seconds``.

    Raises:
        ValueError: a file is missing or malformed, or ``out_dir`` holds another run's checkpoint.
    """
    started = time.monotonic()
    out_dir.mkdir(parents=True, exist_ok=True)
    run = _TrainingRun(config, out_dir)
    run.resume()
    while run.state.epoch < config.num_epochs:
        message = run.next_epoch()
        if on_progress is not None:
            on_progress(run.state.epoch / config.num_epochs, message)
    return run.finish() | {"seconds": round(time.monotonic() - started, 1)}


def learning_rate(config: ConstituencyTrainingConfig, epochs: float) -> float:
    """Returns the rate after some (fractional) epochs: a linear rise times a falling cosine."""
    rise = min(1.0, epochs / config.warmup_epochs) if config.warmup_epochs else 1.0
    return config.learning_rate * rise * (1 + math.cos(math.pi * epochs / config.num_epochs)) / 2


def training_loss(
    model: ConstituencyModel, batch: ChartBatch, *, tag_loss_scale: float
) -> tuple[Tensor, Tensor]:
    """Returns the bracket loss and the scaled tagging loss, both means over the batch's tokens."""
    vectors = encode_words(model.module, batch.words)
    encoded = encode_sentences(model.module, vectors, batch.rows, batch.mask)
    num_tokens = batch.lengths.sum()
    brackets = margin_loss(
        model.module, encoded.fenceposts, batch.lengths, batch.gold, batch.gold_labels
    )
    tagging = F.cross_entropy(
        encoded.tag_scores.float().flatten(0, 1), batch.tags.flatten(), ignore_index=IGNORED_TAG
    )
    return brackets.sum() / num_tokens, tag_loss_scale * tagging


class _TrainingRun:
    """One training: its data, its state, and what is written after each epoch."""

    def __init__(self, config: ConstituencyTrainingConfig, out_dir: Path) -> None:
        self._config, self._out_dir = config, out_dir
        train = _read(config.train_files, config.train_documents, config)
        kept = [s for s in train if len(s.tokens) <= config.max_sentence_tokens]
        self._dev = _read(config.dev_files, config.dev_documents, config)
        vocabularies = build_vocabularies(kept, min_character_count=config.min_character_count)
        logger.info(
            "training on %d sentences (%d too long left out), %d labels, %d dev sentences",
            *(len(kept), len(train) - len(kept), len(vocabularies.labels), len(self._dev)),
        )
        self._examples = ExampleSet(kept, vocabularies)
        files = (
            *config.train_files,
            *config.dev_files,
            *config.train_documents,
            *config.dev_documents,
        )
        self._digest = digest_of(
            {"config": config.as_json(), "files": [sha256_of_file(path) for path in files]}
        )
        torch.manual_seed(config.seed)
        self._model = new_constituency_model(config.model, vocabularies)
        averaged = copy.deepcopy(self._model.module).eval().requires_grad_(False)
        self._averaged = ConstituencyModel(config.model, vocabularies, averaged)
        optimizer = torch.optim.Adam(
            self._model.module.parameters(),
            lr=config.learning_rate,
            betas=config.adam_betas,
            fused=True,
        )
        self.state = TrainingState(self._model.module, averaged, optimizer)

    def resume(self) -> None:
        """Goes on from the checkpoint in the output folder, if there is one."""
        path = self._out_dir / CHECKPOINT_NAME
        if path.exists():
            read_checkpoint(self.state, path, digest=self._digest)
            logger.info("going on after epoch %d", self.state.epoch)
        elif (self._out_dir / DESCRIPTION_NAME).exists():
            raise ValueError(f"{self._out_dir}: holds a parser already; give another folder")
        # An epoch whose metrics were written but not its checkpoint is trained again.
        metrics = self._out_dir / METRICS_NAME
        lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
        metrics.write_text("".join(f"{line}\n" for line in lines[: self.state.epoch]))

    def next_epoch(self) -> str:
        """Trains and scores one epoch, then writes metrics, the best parser and a checkpoint."""
        started = time.monotonic()
        epoch = self.state.epoch + 1
        losses = self._train_epoch(epoch)
        train_seconds = time.monotonic() - started
        parser = BeneparConstituencyParser(self._averaged, name="dev", checksum="")
        scores = evaluate_constituency_parser(parser, self._dev)
        self.state.epoch = epoch
        if scores.evalb.f1 > self.state.best_score:
            self.state.best_epoch, self.state.best_score = epoch, scores.evalb.f1
            save_constituency_model(self._out_dir / BEST_NAME, self._averaged)
        metrics = {
            "epoch": epoch,
            **losses,
            "learning_rate": learning_rate(self._config, epoch),
            "dev": scores.as_json(),
            "train_seconds": round(train_seconds, 1),
            "train_sentences_per_second": round(len(self._examples) / train_seconds, 1),
            "dev_seconds": round(time.monotonic() - started - train_seconds, 1),
        }
        with (self._out_dir / METRICS_NAME).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(metrics) + "\n")
        write_checkpoint(self.state, self._out_dir / CHECKPOINT_NAME, digest=self._digest)
        message = (
            f"epoch {epoch}: bracket loss {losses['bracket_loss']:.3f}, dev F1 "
            f"{scores.evalb.f1:.2f}, tags {scores.evalb.tag_accuracy:.2f}, {train_seconds:.0f} s"
        )
        logger.info("%s", message)
        return message

    def _train_epoch(self, epoch: int) -> dict[str, float]:
        """Returns the mean losses and gradient norm of a batch."""
        config, state = self._config, self.state
        seed = config.seed * 100_003 + epoch
        torch.manual_seed(seed)
        state.network.train()
        batches = list(self._examples.batches(config.batch_tokens, seed=seed))
        totals = torch.zeros(3)
        for index, batch in enumerate(batches):
            for group in state.optimizer.param_groups:
                group["lr"] = learning_rate(config, epoch - 1 + index / len(batches))
            state.optimizer.zero_grad()
            with _autocast(config.precision):
                brackets, tagging = training_loss(
                    self._model, batch, tag_loss_scale=config.tag_loss_scale
                )
            (brackets + tagging).backward()
            norm = nn.utils.clip_grad_norm_(state.network.parameters(), config.clip_norm)
            state.optimizer.step()
            state.step += 1
            update_average(state, decay=config.averaging)
            totals += torch.stack([brackets.detach(), tagging.detach(), norm])
        names = ("bracket_loss", "tag_loss", "gradient_norm")
        means = (totals / len(batches)).tolist()
        return {name: round(mean, 5) for name, mean in zip(names, means, strict=True)}

    def finish(self) -> dict[str, Any]:
        """Makes the best epoch's parser the output folder's, removes the rest, sums up."""
        best = self._out_dir / BEST_NAME
        lines = (self._out_dir / METRICS_NAME).read_text(encoding="utf-8").splitlines()
        kept = json.loads(lines[self.state.best_epoch - 1])
        summary = {
            "best_epoch": self.state.best_epoch,
            "num_parameters": sum(p.numel() for p in self.state.network.parameters()),
            "dev": kept["dev"],
        }
        record = {"config": self._config.as_json(), "digest": self._digest, **summary}
        text = json.dumps(record, indent=1) + "\n"
        (self._out_dir / RECORD_NAME).write_text(text, encoding="utf-8")
        for name in (WEIGHTS_NAME, DESCRIPTION_NAME):
            if (best / name).exists():  # not so when an earlier call was killed just here
                (best / name).replace(self._out_dir / name)
        if best.exists():
            best.rmdir()
        (self._out_dir / CHECKPOINT_NAME).unlink()
        return {"checksum": checksum_of_parser_folder(self._out_dir), **summary}


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


def _autocast(precision: str) -> AbstractContextManager[Any]:
    if precision == "bfloat16":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return nullcontext()
