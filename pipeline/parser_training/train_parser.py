"""The training of a parser of any kind, resumable at every epoch.

A kind says what it is made of as a `ParserTraining`; the loop, the moving average, the choice of
the epoch and what stays on disk are the same for all.
"""

from __future__ import annotations

import copy
import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor, nn

from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.digest import digest_of, sha256_of_file
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.base.settings import Count, Natural, Settings, Share
from treeviews.pipeline.parser_training.training_state import (
    OptimizerConfig,
    ParameterGroup,
    TrainingState,
)
from treeviews.pipeline.parsers.batched_parser import BatchedParser
from treeviews.pipeline.parsers.evaluate_parser import evaluate_parser, rounded
from treeviews.pipeline.parsers.parser_files import (
    CHECKSUMS_NAME,
    DESCRIPTION_NAME,
    PARSER_FILES,
    SCORES_NAME,
    TRANSFORMER_FOLDER,
    WEIGHTS_NAME,
    ParsedStage,
    checksum_of_parser_folder,
)
from treeviews.pipeline.parsers.parser_folder import ParserModel, save_model
from treeviews.pipeline.trees.treebanks import BracketedSentence, TreebankSentence, read_trees

logger = logging.getLogger(__name__)

CHECKPOINT_NAME, METRICS_NAME, BEST_NAME = "checkpoint.safetensors", "metrics.jsonl", "best"
RECORD_NAME = "training.json"
FINAL_MARKS = frozenset(".!?;:")


class ParserTrainingConfig(Settings):
    """What determines a trained parser of either kind, beside the content of its files."""

    called: ClassVar[str] = "parser training setting"
    sizes_name: ClassVar[str] = "sizes"
    """Of the field that has the network's sizes."""
    naming_files: ClassVar[tuple[str, ...]] = (
        *("train_files", "dev_files", "word_vectors", "transformer", "initial_parser"),
    )
    """Fields of either kind that say where files lie, which does not matter."""

    train_files: tuple[Path, ...]
    """CoNLL-U, or bracketed trees for a constituency parser."""
    dev_files: tuple[Path, ...]
    """The epoch with the best score on these together is kept."""
    exclude_document_prefixes: tuple[str, ...] = ()
    """Documents left out of both, by the beginning of their id."""
    initial_parser: Path | None = None
    """A parser to go on from, by its folder or the name of one that ships; its sizes and
    vocabularies are kept, whatever the least counts of words or characters say."""
    optimizer: OptimizerConfig = OptimizerConfig()
    batch_tokens: Count = 1500
    """Bound of a batch's padded size."""
    max_sentence_tokens: Count = 150
    """Longer training sentences are left out; the log counts them."""
    altered_share: Share = 0.0
    """Of the training sentences, drawn anew in each epoch, that are altered: they lose their
    capitals and lose their final mark, each in half of the cases (`alterations`)."""
    seed: Natural = 1

    def _check_together(self) -> None:
        if not self.train_files or not self.dev_files:
            raise ValueError("a training needs at least one train file and one dev file")

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is read."""
        initial = self.initial_parser
        of_initial = () if initial is None else tuple(initial / name for name in PARSER_FILES)
        return self.train_files + self.dev_files + self.further_files + of_initial

    @property
    def further_files(self) -> tuple[Path, ...]:
        """Files that one kind of parser reads."""
        return ()

    def digest(self) -> str:
        """Returns the digest of a training: its settings and what its files hold.

        Where the files lie does not matter, so a training goes on after its treebank was moved.
        """
        settings = {n: v for n, v in self.to_dict().items() if n not in self.naming_files}
        return digest_of({"config": settings, "files": [sha256_of_file(f) for f in self.files]})

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as JSON values, files by the end of their path only."""

        def named(value: Any) -> Any:
            if isinstance(value, tuple):
                return [named(path) for path in value]
            return value and "/".join(value.parts[-3:])

        files = {n: named(v) for n, v in self.values().items() if n in self.naming_files}
        initial = self.initial_parser and self.initial_parser.name
        return {**self.to_dict(), **files, "initial_parser": initial}


ConfigT = TypeVar("ConfigT", bound=ParserTrainingConfig)
SentenceT = TypeVar("SentenceT", bound=TreebankSentence | BracketedSentence)


class ParserTraining(ABC, Generic[ConfigT, SentenceT]):
    """The weights in training, the sentences they learn from, and what one kind does with them."""

    stage: ClassVar[ParsedStage]
    """What the parser gives."""
    loss_names: ClassVar[tuple[str, ...]]
    """Of the losses whose means stand in ``metrics.jsonl``."""
    metrics_dtype: ClassVar[DTypeLike] = np.float64
    """What these means are taken in."""
    settings: ClassVar[Any]
    """Its configuration's class, which also knows the sizes of a parser to go on from."""
    adapter: ClassVar[type[BatchedParser[Any]]]
    """What parses the development sentences with the averaged weights."""

    def __init__(self, config: ConfigT) -> None:
        """Reads the treebanks and builds the network before the first step.

        Raises:
            ValueError: a file is missing or malformed, or no sentence is left to train on.
        """
        self.config = config
        excluded = config.exclude_document_prefixes
        self.dev: list[SentenceT] = read_trees(self.stage, config.dev_files, excluded)
        train: list[SentenceT] = read_trees(self.stage, config.train_files, excluded)
        kept = [
            sentence for sentence in train if len(sentence.tokens) <= config.max_sentence_tokens
        ]
        if not kept:
            raise ValueError(
                f"none of {len(train)} training sentences has at most "
                f"{config.max_sentence_tokens} tokens; raise max_sentence_tokens"
            )
        self.num_sentences = len(kept)
        torch.manual_seed(config.seed)
        self._model = self._start(kept)
        network = self._model.network
        logger.info("%d sentences, %d too long left out", len(kept), len(train) - len(kept))
        averaged = copy.deepcopy(network).eval().requires_grad_(False)
        rate, betas = config.optimizer.learning_rate, config.optimizer.adam_betas
        optimizer = torch.optim.Adam(self._groups(network), lr=rate, betas=betas, fused=True)
        self.state = TrainingState(network, averaged, optimizer)

    @abstractmethod
    def _start(self, sentences: list[SentenceT]) -> ParserModel[Any]:
        """Takes the training sentences; returns the model before the first step."""

    def _check_initial(
        self, sizes: Settings, **names: tuple[Iterable[str], Collection[str]]
    ) -> None:
        """Checks that a training can go on from its initial parser.

        Args:
            sizes: of the parser.
            names: what the training set asks for, and what of it the parser knows, of whose scores
                there are as many; by what they are, such as ``relations``.

        Raises:
            ValueError: it cannot; names the parser, what differs and the remedy.
        """
        parser, given = self.config.initial_parser, getattr(self.config, self.config.sizes_name)
        if sizes != given:
            raise ValueError(f"{parser}: has other sizes than the training; leave sizes out")
        for kind, (needed, known) in names.items():
            if unknown := sorted(set(needed) - set(known)):
                raise ValueError(
                    f"{parser}: knows {len(known)} {kind}, not these {len(unknown)} of the "
                    f"training files: {shortened(unknown)}; rename them in the "
                    f"files, leave their sentences out, or train from the start"
                )

    def _groups(self, network: nn.Module) -> list[ParameterGroup]:
        """Returns the weights by how fast they learn."""
        return [{"params": list(network.parameters())}]

    @abstractmethod
    def _batches(self, seed: int) -> Sequence[Any]:
        """Returns the training sentences in the batches of the next epoch."""

    @abstractmethod
    def _losses(self, batch: Any) -> tuple[Tensor, Sequence[Tensor]]:
        """Returns what is to fall, and the losses of `loss_names`."""

    def averaged_model(self) -> ParserModel[Any]:
        """Returns the model with the averaged weights, as it is kept."""
        return replace(self._model, network=self.state.averaged)

    def save(self, folder: Path) -> str:
        """Writes the averaged weights as a parser folder and returns its checksum."""
        return save_model(self.averaged_model(), folder)

    @staticmethod
    @abstractmethod
    def headline(dev: Mapping[str, Any]) -> dict[str, float]:
        """Returns those development scores that name a parser's quality, as they are reported.

        The first one chooses the epoch.
        """

    def train_epoch(self) -> dict[str, Any]:
        """Takes the next epoch's steps and returns its means, rate and speed."""
        config, state, started = self.config, self.state, time.monotonic()
        # Seeded by the epoch, so that a resumed training draws what an uninterrupted one would.
        seed = config.seed * 100_003 + state.epoch + 1
        torch.manual_seed(seed)
        state.network.train()
        batches = self._batches(seed)
        rows = []
        for index, batch in enumerate(batches):
            with config.optimizer.autocast():
                loss, parts = self._losses(batch)
            # A step's middle: at its start the first rate would be 0, at its end the last.
            epochs = state.epoch + (index + 0.5) / len(batches)
            norm = state.update(loss, config.optimizer, epochs=epochs)
            rows.append([*(part.item() for part in parts), norm])
        seconds = time.monotonic() - started
        names = (*self.loss_names, "gradient_norm")
        means = (np.cumsum(np.array(rows, self.metrics_dtype), 0)[-1] / len(batches)).tolist()
        return {
            **{name: round(mean, 6) for name, mean in zip(names, means, strict=True)},
            "learning_rate": config.optimizer.rate_after(state.epoch + 1),
            "products": config.optimizer.products,
            "train_seconds": round(seconds, 1),
            "train_sentences_per_second": round(self.num_sentences / seconds, 1),
        }


def train_parser(
    training: ParserTraining[Any, Any],
    out_dir: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Trains a parser and returns its summary; ``out_dir`` is then a parser folder.

    Between two epochs it holds ``best/``, a parser folder that is usable at once, ``metrics.jsonl``
    with a line for each epoch, and ``checkpoint.safetensors``, which is written last: a call that
    finds an earlier one's goes on from its last epoch and ends with the same weights. At the end
    the metrics, ``training.json`` (what was trained) and ``scores.json`` (how well the parser does
    on the development sentences) stay beside the parser.

    Args:
        training: freshly built.
        out_dir: made where missing; holds ``parser.json`` only once training is complete.
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Returns:
        ``checksum``, ``best_epoch``, ``num_parameters``, ``dev`` (scores of the kept epoch on the
        dev files), ``seconds``.

    Raises:
        ValueError: ``out_dir`` holds a finished parser or another training's checkpoint.
    """
    started, optimizer, state = time.monotonic(), training.config.optimizer, training.state
    digest, checkpoint = training.config.digest(), out_dir / CHECKPOINT_NAME
    out_dir.mkdir(parents=True, exist_ok=True)
    if checkpoint.exists():
        state.read(checkpoint, digest)
        logger.info("going on after epoch %d", state.epoch)
    elif any((out_dir / name).exists() for name in (DESCRIPTION_NAME, TRANSFORMER_FOLDER)):
        raise ValueError(f"{out_dir}: holds a parser or a part of one; give another folder")
    if optimizer.products != optimizer.precision:
        logger.warning(
            "matrix products are taken in %s: this processor does not take %s",
            optimizer.products,
            optimizer.precision,
        )
    # An epoch whose metrics were written but not its checkpoint is trained again.
    metrics = out_dir / METRICS_NAME
    lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
    del lines[state.epoch :]
    while state.epoch < optimizer.num_epochs:
        means = training.train_epoch()
        parser = training.adapter(training.averaged_model(), name="dev")
        scores = evaluate_parser(parser, training.dev)
        (score_name, score), *_ = training.headline(scores).items()
        state.epoch += 1
        if score > state.best_score:
            state.best_epoch, state.best_score = state.epoch, score
            training.save(out_dir / BEST_NAME)
        lines.append(json.dumps({"epoch": state.epoch, **means, "dev": rounded(scores)}))
        write_text_atomically(metrics, "".join(f"{line}\n" for line in lines))
        state.write(checkpoint, digest)
        loss = training.loss_names[0]
        message = f"{loss.replace('_', ' ')} {means[loss]:.3f}, {score_name} {score:.2f}"
        logger.info("epoch %d: %s", state.epoch, message)
        if on_progress is not None:
            on_progress(state.epoch / optimizer.num_epochs, message)
    summary = {
        "best_epoch": state.best_epoch,
        "num_parameters": sum(p.numel() for p in state.network.parameters()),
        "dev": json.loads(lines[state.best_epoch - 1])["dev"],
    }
    record = {"config": training.config.as_json(), "digest": digest, **summary}
    scores = {name: round(score, 2) for name, score in training.headline(summary["dev"]).items()}
    _finish(out_dir, {RECORD_NAME: record, SCORES_NAME: scores})
    seconds = round(time.monotonic() - started, 1)
    return {"checksum": checksum_of_parser_folder(out_dir), **summary, "seconds": seconds}


def _finish(folder: Path, records: Mapping[str, Any]) -> None:
    """Makes the best epoch's parser the folder's own and removes what only a training needs."""
    best = folder / BEST_NAME
    for name, value in records.items():
        (folder / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    for name in (TRANSFORMER_FOLDER, WEIGHTS_NAME, CHECKSUMS_NAME, DESCRIPTION_NAME):
        if (best / name).exists():  # not so when an earlier call was killed just here
            (best / name).replace(folder / name)
    if best.exists():
        best.rmdir()
    (folder / CHECKPOINT_NAME).unlink()


def alter(
    sentence: SentenceT,
    share: float,
    random: np.random.Generator,
    without_final_mark: Callable[[SentenceT], SentenceT],
) -> SentenceT:
    """Returns the sentence, or in a share of the cases altered.

    It loses its final mark and its capitals, each in half of these cases.

    Args:
        sentence: with its tree.
        share: of the sentences, see `ParserTrainingConfig.altered_share`.
        random: draws; nothing is drawn where the share is 0.
        without_final_mark: returns the sentence so, or as it is where its tree does not allow it.
    """
    if not share or random.random() >= share:
        return sentence
    loses_mark, loses_capitals = random.random(2) < 0.5
    if loses_mark:
        sentence = without_final_mark(sentence)
    if loses_capitals:
        sentence = in_lower_case(sentence)
    return sentence


def in_lower_case(sentence: SentenceT) -> SentenceT:
    """Returns the sentence without capitals."""
    return replace(sentence, tokens=[token.lower() for token in sentence.tokens])
