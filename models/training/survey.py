"""The count of what a training reads: made once, by the first rank, and kept for a resumed run."""

from __future__ import annotations

import json
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from models.corpus.parsed_corpus import CorpusSurvey, ParsedCorpus
from models.ranks import Ranks
from models.words.word_vectors import Coverage
from pipeline.atomic_files import write_bytes_atomically, write_json_atomically

SURVEY_FILE = "survey.json"
COUNTS_FILE = "word-counts.npy"


def surveyed(corpus: ParsedCorpus, folder: Path, identity: str, ranks: Ranks) -> CorpusSurvey:
    """Returns the corpus' survey on every rank; reads it from the folder if it is there.

    Args:
        folder: where `keep_survey` has put it, or not.
        identity: digest of all that determines the result; a survey of another is not used.
    """
    survey = None
    if ranks.is_first:
        survey = _kept_survey(folder, identity) or corpus.survey()
    survey = ranks.agreed(survey)
    assert survey is not None, "the first rank has made it"
    return survey


def keep_survey(survey: CorpusSurvey, folder: Path, identity: str) -> None:
    """Writes a survey for the next run, what marks it last."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = BytesIO()
    np.save(counts, survey.word_counts, allow_pickle=False)
    write_bytes_atomically(folder / COUNTS_FILE, counts.getvalue())
    content = {
        "identity": identity,
        "rows": survey.rows,
        "skipped": survey.skipped,
        "coverage": asdict(survey.coverage),
    }
    write_json_atomically(folder / SURVEY_FILE, content)


def _kept_survey(folder: Path, identity: str) -> CorpusSurvey | None:
    path = folder / SURVEY_FILE
    if not path.is_file():
        return None
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if value["identity"] != identity:
        return None
    return CorpusSurvey(
        rows=tuple(value["rows"]),
        skipped=value["skipped"],
        coverage=Coverage(**value["coverage"]),
        word_counts=np.load(folder / COUNTS_FILE, allow_pickle=False),
    )
