"""Neighbours and maps of a run's sentences, by encoders that need no training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.evaluation.derived.classes import Candidate
from models.evaluation.derived.export import write_senteval_files
from models.evaluation.derived.held_out.config import SPLITS
from models.report.markdown import markdown_section
from models.report.run.sentences_section import neighbours_section
from models.show_sentences import execute
from tests.support.probing_examples import sentence

WORDS = ("tea", "milk", "bread", "rain")


def clauses() -> list[tuple[str, str]]:
    """Returns short sentences with their tense."""
    return [
        (f"{who} {verb} {what}", label)
        for who in ("she", "he", "they")
        for verb, label in (("drank", "past"), ("likes", "present"))
        for what in WORDS
    ]


def written(folder: Path, labelled: list[tuple[str, str]]) -> Path:
    """Writes tense alone; a row of each sentence is in the table."""
    items = [
        Candidate(
            sentence(
                text, [2, 0, 2], "nsubj root obj", "PRP VBZ NN", [(0, 3, "S")],
                row=row,
            ),
            label,
        )
        for row, (text, label) in enumerate(labelled)
    ]  # fmt: skip
    chosen = {"tense": dict.fromkeys(SPLITS, items)}
    write_senteval_files(folder / "data", chosen, {}, corpus="tales-0a1b", parsers={})
    return folder / "data"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path, clauses())


def shown(data: Path, **more: Any) -> dict[str, Any]:
    out = data.parent / "sentences.json"
    job = {
        "encoders": [{"words": "the words", "encoder": "bag_of_words"}],
        "data": str(data),
        "tasks": ["Tense"],
        "out": str(out),
        **more,
    }
    execute(job, lambda _share, _words: None)
    value: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return value


def test_neighbours_and_maps_are_found(data: Path) -> None:
    value = shown(data, num_queries=2, num_points=10, tasks=["Tense", "WC"])

    assert value["num_searched"] == 24
    assert len(value["queries"]) == 2
    (found,) = value["neighbourhoods"]
    assert found["view"] == "the words"
    for query, hits in zip(value["queries"], found["found"], strict=True):
        assert len(hits) == 3
        assert query not in [text for text, _ in hits]
        assert set(query.split()) & set(hits[0][0].split())
    (tense,) = value["maps"]
    assert tense["class_names"] == ["past", "present"]
    assert len(tense["sentences"]) == 10
    assert value["absent"] == ["WC"]


def test_sentences_of_ones_own_are_asked_for(data: Path) -> None:
    value = shown(data, queries=["They drank some milk."], neighbours=1, tasks=[])

    assert value["queries"] == ["They drank some milk."]
    (((text, _cosine),),) = value["neighbourhoods"][0]["found"]
    assert "drank" in text
    assert "milk" in text


def test_a_sentence_without_a_vector_is_no_query(tmp_path: Path) -> None:
    data = written(tmp_path, [*clauses(), ("zqxv qqzx xvzq", "past")])
    value = shown(data, num_queries=100, tasks=[])
    assert sorted(value["queries"]) == sorted(text for text, _ in clauses())


def test_ones_own_sentence_without_a_vector_has_no_neighbours(data: Path) -> None:
    value = shown(data, queries=["She likes tea.", "zqxv qqzx"], neighbours=1, tasks=[])

    near, nothing = value["neighbourhoods"][0]["found"]
    assert len(near) == 1
    assert nothing == []
    section = neighbours_section(value)
    assert "no vector of this sentence" in markdown_section(section).split("zqxv")[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tasks": ["BSO"]}, "BSO: no derived task of single sentences; choose among SentLen"),
        ({"colour": 1}, "unknown keys"),
        ({"queries": "one string"}, "give a list of sentences"),
    ],
)
def test_what_cannot_be_shown_is_refused(data: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shown(data, **more)


def test_a_folder_without_derived_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no derived tasks; name the folder that a run built"):
        shown(tmp_path)
