"""How compared frameworks were trained, and how that differs from the papers, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.evaluation.statistics.interval import over_seeds
from models.report.comparison_table import with_seeds
from models.report.markdown import bullets, count, duration, markdown_table, section
from models.report.published import PARAMETERS, SENTENCES
from models.report.sections import MEANING_OF_ACCURACY

NOTHING = "–"
MEASURES = {"orthonormality": "‖UUᵀ − I‖", "temperature": "temperature"}
"""What an objective measured at the last step -> the column it stands in."""
DIGITS_OF_MEASURES = 3


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """How a framework was trained."""

    framework: str
    summaries: tuple[Mapping[str, Any], ...]
    """The trainings' ``summary.json``, one a seed."""
    changed: Mapping[str, tuple[Any, Any]]
    """Fields that differ from the preset, which is the paper's: the paper's value, and ours."""


@dataclass(frozen=True, slots=True)
class TrainingText:
    """What all of them were trained on, each in words."""

    corpus: str
    vectors: str
    held_out: str
    """What of the corpus was not trained on."""


def trainings_section(trainings: Sequence[TrainingRecord]) -> str:
    """Returns a row a framework, and what its accuracy is one of."""
    header = ["framework", "views", "objective", "parameters", "paper", "sentences", "words"]
    header += ["known", "epochs", "steps", "held-out accuracy", *MEASURES.values(), "time"]
    rows = [_training_row(one) for one in trainings]
    table = markdown_table(header, rows, num_text_columns=3)
    return section("Trainings", table, bullets(_notes(trainings)))


def _training_row(record: TrainingRecord) -> list[str]:
    summary, *_ = record.summaries
    published = PARAMETERS.get(record.framework)
    return [
        record.framework,
        ", ".join(summary["views"]),
        summary["objective"],
        count(summary["num_parameters"]),
        NOTHING if published is None else f"≈ {millions(published)}",
        count(summary["train_sentences"]),
        count(_words(summary)),
        f"{100 * summary['coverage']['known_share']:.1f} %",
        str(summary["epochs"]),
        count(summary["steps"]),
        _held_out(record.summaries),
        *(_measure(record.summaries, name) for name in MEASURES),
        duration(sum(one["seconds"] for one in record.summaries)),
    ]


def _words(summary: Mapping[str, Any]) -> int:
    return sum(int(summary["coverage"][kind]) for kind in ("exact", "lower_cased", "unknown"))


def _held_out(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Returns the accuracy over seeds beside chance, in percent."""
    final = [summary["held_out"]["final"] for summary in summaries]
    if not final[0]["num_sentences"]:
        return NOTHING
    accuracy = over_seeds([100 * one["accuracy"] for one in final])
    return f"{with_seeds(accuracy)} (chance {100 * final[0]['chance']:.1f})"


def _measure(summaries: Sequence[Mapping[str, Any]], name: str) -> str:
    """Returns what was measured at the end, over seeds; summaries of earlier releases lack it."""
    found = [summary.get("final_measures", {}).get(name) for summary in summaries]
    values = [float(value) for value in found if value is not None]
    if len(values) < len(summaries):
        return NOTHING
    return with_seeds(over_seeds(values), digits=DIGITS_OF_MEASURES)


def _notes(trainings: Sequence[TrainingRecord]) -> list[str]:
    meant: dict[str, list[str]] = {}
    for record in trainings:
        meaning = MEANING_OF_ACCURACY[record.summaries[0]["objective"]]
        meant.setdefault(meaning, []).append(record.framework)
    return [
        *(f"Held-out accuracy of {'; '.join(names)}. {said}" for said, names in meant.items()),
        f"{MEASURES['orthonormality']}: how far the decoder's projection is from orthonormal rows "
        "(or columns, where they are fewer), by the Frobenius norm, after the last step; "
        "temperature: that of the agreement, then.",
    ]


def differences_of_training(trainings: Sequence[TrainingRecord], text: TrainingText) -> list[str]:
    """Returns what sets the trainings apart from the papers': text, vectors, settings."""
    notes = [f"Word vectors: {text.vectors}; the papers' are fastText's, 300 wide."]
    notes.append(f"Held out, and so not trained on: {text.held_out}; the papers name no such part.")
    if trainings:
        summary, *_ = trainings[0].summaries
        sentences, published = summary["train_sentences"], SENTENCES["BookCorpus"]
        notes.insert(
            0,
            f"Text: {count(sentences)} sentences of {count(_words(summary))} words to train on, of "
            f"{text.corpus}; the papers' BookCorpus has {millions(published)} sentences, "
            f"{published / max(1, sentences):,.0f} times as many.",
        )
    for record in trainings:
        if record.changed:
            said = (f"{name} {ours} ({paper})" for name, (paper, ours) in record.changed.items())
            notes.append(f"{record.framework}, in parentheses the preset: {', '.join(said)}.")
    return notes


def millions(value: float) -> str:
    """Returns a number in millions, with as many digits as it has."""
    return f"{value / 1e6:g} M"
