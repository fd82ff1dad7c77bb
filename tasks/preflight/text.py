"""Checks of the text's size: enough for what is asked for, and not too much for the disk."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.evaluation.derived.held_out.config import ProbingConfig
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.sources.file_list import is_compressed
from pipeline.sources.files import TextFiles
from pipeline.sources.python_docs import PythonDocs
from pipeline.sources.text_file import LONGEST_PIECES
from tasks.parameters import HeldOutParameters
from tasks.preflight.findings import Findings, as_stage
from tasks.preflight.held_out_share import (
    MOST_COMPRESSED,
    MOST_FILES,
    HeldOutShare,
    held_out_share,
    size_of,
    tell_of_uneven,
)
from tasks.preflight.parameters import TRAINING_ROOTS, builds_probing
from tasks.preflight.places import nearest_standing, opened_source
from tasks.probing_text import BuildProbing
from tasks.report import WriteReport
from tasks.sentences import SplitSentences
from tasks.training import FEW_STEPS, TrainEncoders
from tasks.workflows import RunAll

_SENTENCES_OF_DOCS = 14_000
"""Of the documentation in an interpreter, whose own files are no measure."""
_BYTES_PER_SENTENCE = 80
"""Of plain English text: the default run's has 76, news and encyclopedias have more."""
_LEAST_BYTES_PER_TOKEN = 2
"""A letter and what parts it from the next."""
_MOST_OF_EXPECTED = 2
"""How many times the expected share of a text is held out at most, as far as it matters. Each
held-out sentence is one item of a task at most."""
_USUAL_SHORTFALL = 2.5
"""How many times the least items must be held out before the first probing task can be built:
classes are balanced, repetitions, short and long sentences left out."""
_LEAST_TOLD = 2
"""Sentences below which an estimate is no number."""
_LEAST_OF_TRAINING = 2
"""Sentences of which a batch can be made."""
_SHARDS_PER_TEXT = 1.3
"""Bytes of sentences and both trees a byte of plain text: 1.0 in the default run."""
_LEAST_SHARDS_PER_TEXT = 0.05
_RUN_BYTES = 300_000_000
"""That a run needs beside: models, checkpoints, probing tasks and embeddings of the default run."""


@dataclass(frozen=True, slots=True)
class TextSize:
    """How much text there is."""

    num_bytes: int
    """As plain text; an estimate where some is compressed."""
    is_exact: bool
    """Whether no file is compressed or a table, and all were looked at."""
    limit: int
    """Sentences that are taken at most; 0 takes all."""
    num_sentences: int
    """An estimate; of finished shards their number."""
    is_counted: bool = False
    """Whether the sentences are cut already."""

    @property
    def most_sentences(self) -> float:
        """How many sentences there are at most; without end where that is not known."""
        if self.is_counted:
            return self.num_sentences
        most = float(self.limit or "inf")
        return min(most, self.num_bytes / _LEAST_BYTES_PER_TOKEN) if self.is_exact else most

    @property
    def in_words(self) -> str:
        """How much text there is, as a sentence begins with it."""
        if self.limit and self.limit <= self.num_bytes // _BYTES_PER_SENTENCE:
            return f"--limit {self.limit:,}"
        told = f"the text has {_about(self.num_sentences, is_exact=self.is_counted)} sentence"
        told += "" if self.is_counted and self.num_sentences == 1 else "s"
        return told if self.is_counted else f"{told} ({_in_words(self.num_bytes)})"

    @property
    def taken_bytes(self) -> float:
        """How many bytes of the text are taken, about; without end where all are."""
        return float(self.limit * _BYTES_PER_SENTENCE or "inf")


def text_size(root: Any) -> TextSize | None:
    """Returns how much text a run is about; None where nothing is known before it is downloaded."""
    source = opened_source(root)
    size = _size_of_source(source, int(getattr(root, "limit", 0)))
    if size is None or (counted := _counted(root)) is None:
        return size
    return replace(size, num_sentences=counted, is_counted=True)


def _counted(root: Any) -> int | None:
    """Returns how many sentences the finished shards of the text have; None where none are."""
    sentences = as_stage(root, SplitSentences)
    try:
        return read_dataset_manifest(sentences.folder).rows
    except (OSError, ValueError):  # its run says what is damaged
        return None


def _size_of_source(source: object, limit: int) -> TextSize | None:
    if isinstance(source, PythonDocs):
        count = min(_SENTENCES_OF_DOCS, limit or _SENTENCES_OF_DOCS)
        return TextSize(_SENTENCES_OF_DOCS * _BYTES_PER_SENTENCE, False, limit, count)
    if not isinstance(source, TextFiles):
        return None
    paths = source.paths
    plain = packed = 0
    for path in paths[:MOST_FILES]:
        size = size_of(path)
        if is_compressed(path) or path.suffix.lower() in {".parquet", ".pq", ".arrow", ".feather"}:
            packed += size
        else:
            plain += size
    num_bytes = round(plain + MOST_COMPRESSED * packed)
    seen = min(len(paths), MOST_FILES)
    num_bytes = num_bytes * len(paths) // max(seen, 1)
    count = num_bytes // _BYTES_PER_SENTENCE
    is_exact = not packed and seen == len(paths)
    return TextSize(num_bytes, is_exact, limit, min(count, limit) if limit else count)


def check_enough(root: Any, findings: Findings) -> None:
    """Checks that the text has the sentences that probing tasks and a training need."""
    size = text_size(root)
    if size is None or _is_empty(root, size, findings) or not isinstance(root, HeldOutParameters):
        return
    if builds_probing(root):
        try:
            config = as_stage(root, BuildProbing).config
        except ValueError:  # told by the check of parameters
            return
        if _lacks_sides(root, config, size, findings):
            return
        share = held_out_share(root, config.hold_out, size.taken_bytes)
        if _lacks_probing(config, size, share, findings):
            return
    if isinstance(root, TRAINING_ROOTS):
        _check_training(as_stage(root, TrainEncoders), size, findings)


def _is_empty(root: Any, size: TextSize, findings: Findings) -> bool:
    """Tells of a text without a byte; returns whether it is one."""
    source = opened_source(root)
    if size.num_bytes or not size.is_exact or not isinstance(source, TextFiles):
        return False
    first, num_others = source.paths[0], len(source.paths) - 1
    others = f" and {num_others:,} more" if num_others else ""
    findings.refuse(f"{first}{others}: empty, so there is no text; give files that hold some")
    return True


def _lacks_sides(root: Any, config: ProbingConfig, size: TextSize, findings: Findings) -> bool:
    """Tells of a text of one document, all of which is held out or none; returns whether it is."""
    source = opened_source(root)
    is_whole = config.held_out_unit == "document" and isinstance(root, WriteReport | RunAll)
    if not is_whole or not isinstance(source, TextFiles) or len(source.paths) != 1:
        return False
    streams = source.streams()
    if len(streams) != 1 or not streams[0].is_one_document or size.num_bytes > LONGEST_PIECES:
        return False
    findings.refuse(
        f"{source.paths[0]}: the text is one document, so nothing would be held out of the "
        "training, or all of it; give --held-out-unit block, or more documents"
    )
    return True


def _lacks_probing(
    config: ProbingConfig, size: TextSize, share: HeldOutShare, findings: Findings
) -> bool:
    """Tells of too little held-out text for any probing task; returns whether that is certain.

    An upper bound of what a text can give says what is certain, its usual yield what is likely.
    """
    least = sum(config.minimal_sizes.values())
    held_out = size.num_sentences * share.share
    wanted = round(_USUAL_SHORTFALL * least)
    needed = (
        f"{wanted:,} held-out sentences or so, where there are "
        f"{_about(held_out, is_exact=share.is_counted)}"
    )
    if _most_held_out(config, size, share) < least:
        findings.refuse(
            f"{size.in_words}: too few for any probing task, the first of which need {needed}; "
            f"give more text, {config.hold_out.remedy}, or give another --held-out-seed"
        )
        return True
    tell_of_uneven(share, config.hold_out, findings)
    if held_out < wanted:
        findings.warn(
            f"{size.in_words}: the first probing tasks need {needed}, and without any the run may "
            f"fail when all is parsed; give more text, {config.hold_out.remedy}, or smaller tasks "
            "by --probing-changes"
        )
    return False


def _most_held_out(config: ProbingConfig, size: TextSize, share: HeldOutShare) -> float:
    """Returns how many sentences that are long enough to be probed are held out at most."""
    if share.is_counted:
        return size.num_sentences * share.share
    of_bytes = math.inf
    if size.is_exact:
        of_bytes = size.num_bytes / (_LEAST_BYTES_PER_TOKEN * max(config.min_tokens, 1))
        if share.is_known and not size.limit:
            return of_bytes * share.share
    # Where the text is cut off at a limit is not known exactly, nor in which document.
    expected = max(share.share, config.held_out_fraction)
    return min(size.most_sentences, of_bytes) * min(1.0, _MOST_OF_EXPECTED * expected)


def _check_training(training: TrainEncoders, size: TextSize, findings: Findings) -> None:
    """Tells of a training of no steps, which is certain, or of few."""
    try:
        config = training.config
    except ValueError:  # told by the check of parameters
        return
    share = held_out_share(training, config.hold_out, size.taken_bytes)
    is_certain = share.is_counted or not size.limit
    most = size.most_sentences
    if is_certain and share.share == 1:
        most = 0
    if most < _LEAST_OF_TRAINING:
        findings.refuse(
            f"{size.in_words}: none is left to train on beside held_out_fraction "
            f"{config.held_out_fraction:g}; {config.hold_out.remedy_of_too_much}"
        )
        return
    tell_of_uneven(share, config.hold_out, findings)
    sentences = size.num_sentences * (1 - share.share)
    steps = config.epochs * math.ceil(round(sentences) / config.batch_size)
    if steps < FEW_STEPS:
        of_batch = f"{steps:,} step{'' if steps == 1 else 's'} of batch_size {config.batch_size}"
        findings.warn(
            f"{_about(sentences, is_exact=share.is_counted)} sentences to train on give "
            f"{of_batch}, which train next to nothing; give more text, more epochs or a smaller "
            "batch_size"
        )


def check_disk(root: Any, findings: Findings) -> None:
    """Checks that what is made of the text fits on the disk of the work folder."""
    size, folder = text_size(root), getattr(root, "work_folder", None)
    if size is None or folder is None:
        return
    standing = nearest_standing(Path(folder))
    try:
        free = shutil.disk_usage(standing).free
    except OSError:
        return
    of_text = min(size.num_bytes, size.num_sentences * _BYTES_PER_SENTENCE * 2)
    beside = _RUN_BYTES if isinstance(root, WriteReport | RunAll) else 0
    needed = round(_SHARDS_PER_TEXT * of_text) + beside
    told = f"{standing}: {_in_words(free)} free"
    is_new = not any(Path(folder).glob("corpora/*"))
    if is_new and size.is_exact and not size.limit and free < _LEAST_SHARDS_PER_TEXT * of_text:
        findings.refuse(
            f"{told}, and sentences of {_in_words(of_text)} of text need more; free some, or give "
            "a --work-folder elsewhere"
        )
    elif free < needed:
        findings.warn(
            f"{told}, and a run on this text may need {_in_words(needed)}; free some, or give a "
            "--work-folder elsewhere. What is there already is not made again"
        )


def _in_words(num_bytes: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if num_bytes < 1000:
            return f"{num_bytes:,.0f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:,.1f} TB"


def _about(count: float, *, is_exact: bool) -> str:
    """Returns a number of sentences as a message says it."""
    if is_exact:
        return f"{count:,.0f}"
    return f"some {count:,.0f}" if count >= _LEAST_TOLD else "hardly any"
