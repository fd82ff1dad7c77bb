"""Checks of files and folders: whether they are there and may be read, or written to."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from models.config.views import needed_stages
from models.model.model_description import OPTION_OF_STAGE
from pipeline.downloads.evaluation_data import check_data_folder
from pipeline.sources.files import TextFiles
from pipeline.vectors.folder import files_of
from tasks.parameters import (
    CorpusParameters,
    EvaluationDataParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.parsers import used_parser
from tasks.parsing import ParseStage
from tasks.preflight.findings import Findings, as_stage
from tasks.preflight.parameters import TRAINING_ROOTS, builds_probing, declared, is_chosen
from tasks.sentences import SplitSentences
from tasks.training import TrainEncoders
from tasks.word_vectors import OF_THE_CORPUS

_MOST_ASKED = 5_000
"""Files of a text that are asked whether they may be read."""


def check_work_folder(root: Any, findings: Findings) -> None:
    """Checks that the work folder can be made or written to."""
    folder = getattr(root, "work_folder", None)
    if folder is None:
        return
    standing = nearest_standing(Path(folder))
    if not standing.is_dir():
        findings.refuse(f"{standing}: a file, so no work folder can be there; give --work-folder")
    elif not os.access(standing, os.W_OK | os.X_OK) or _is_of_kernel(standing):
        findings.refuse(
            f"{standing}: not writable, and the work folder {folder} is to be there; ask for "
            "access, or give another --work-folder"
        )


def _is_of_kernel(folder: Path) -> bool:
    """Returns whether a folder is one in which nobody makes files, though root is told so."""
    return any(folder.is_relative_to(place) for place in ("/proc", "/sys"))


def nearest_standing(path: Path) -> Path:
    """Returns the path, or the nearest one above it that is there."""
    path = path.absolute()
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def check_readable_text(root: Any, findings: Findings) -> None:
    """Tells of files of the text that cannot be read, which are refused when their turn comes."""
    source = opened_source(root)
    if not isinstance(source, TextFiles):
        return
    closed = [path for path in source.paths[:_MOST_ASKED] if not os.access(path, os.R_OK)]
    if closed and len(closed) == len(source.paths):
        findings.refuse(f"{closed[0]}: no file of the text may be read; ask for access")
    elif closed:
        findings.warn(
            f"{closed[0]}{f' and {len(closed) - 1:,} more' if len(closed) > 1 else ''}: not "
            "readable, so left out of the text; ask for access first if they are to be in it"
        )


def opened_source(root: Any) -> object:
    """Returns the source of the text, whose files are listed; None where it is not known yet."""
    if not isinstance(root, CorpusParameters):
        return None
    sentences = as_stage(root, SplitSentences)
    if sentences.url or sentences.source == "hf":
        return None
    try:
        return sentences.opened_source
    except (OSError, ValueError):  # told by the check of parameters
        return None


def check_parsers(root: Any, findings: Findings) -> None:
    """Checks that parsers are there and of the right kind: those that are used, or chosen."""
    if not isinstance(root, ParserParameters):
        return
    for stage, option in OPTION_OF_STAGE.items():
        if stage in _stages_of(root) or is_chosen(root, option):
            with findings.refusing():
                used_parser(root, stage)


def _stages_of(root: Any) -> Collection[str]:
    """Returns the stages that parse for certain."""
    if isinstance(root, ParseStage):
        return [root.stage]
    if builds_probing(root):
        return list(OPTION_OF_STAGE)
    if not isinstance(root, TRAINING_ROOTS):
        return []
    try:
        return list(needed_stages(as_stage(root, TrainEncoders).config.views))
    except ValueError:  # told by the check of parameters
        return []


def check_vectors(root: Any, findings: Findings) -> None:
    """Checks that word vectors are there and may be read."""
    if not declared(root, TrainingParameters, "vectors"):
        return
    vectors = Path(root.vectors)
    is_used = isinstance(root, TRAINING_ROOTS) or is_chosen(root, "vectors")
    if vectors == OF_THE_CORPUS or not is_used:
        return
    needed = [vectors / name for name in files_of(vectors)] if vectors.is_dir() else [vectors]
    missing = [path.name for path in needed if not path.is_file()]
    if missing:
        what = f"lacks {', '.join(missing)}" if vectors.is_dir() else "not a file"
        findings.refuse(f"{vectors}: {what}; check the path")
        return
    closed = next((path for path in needed if not os.access(path, os.R_OK)), None)
    if closed is not None:
        findings.refuse(f"{closed}: these word vectors may not be read; ask for access")


def check_evaluation_data(root: Any, findings: Findings) -> None:
    """Checks that the user's own evaluation data are laid out as such."""
    if isinstance(root, EvaluationDataParameters) and root.senteval_data:
        folder = Path(root.senteval_data)
        with findings.refusing():
            check_data_folder(folder)
        if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
            findings.refuse(f"{folder}: may not be read; ask for access")
