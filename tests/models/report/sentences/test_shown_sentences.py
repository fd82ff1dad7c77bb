"""Neighbours and maps of sentences whose vectors are known."""

from __future__ import annotations

import numpy as np

from models.report.sentences.maps import OTHERS, SentenceMap, sentence_map
from models.report.sentences.neighbours import (
    Neighbour,
    as_json,
    nearest,
    of_json,
    spread_queries,
    without_zeros,
)

SENTENCES = ["a", "b", "c", "a"]
VECTORS = np.array([[1, 0], [1, 1], [0, 1], [1, 0]], np.float32)


def test_neighbours_stand_by_cosine_without_the_sentence_itself() -> None:
    found = nearest("DEP", (["a", "new"], VECTORS[[0, 2]]), (SENTENCES, VECTORS), 2)

    assert found.found[0] == (Neighbour("b", 0.707), Neighbour("c", 0.0))
    assert [one.sentence for one in found.found[1]] == ["c", "b"]
    assert of_json(as_json(found)) == found


def test_queries_are_spread_over_lengths_in_any_order() -> None:
    sentences = [" ".join(["w"] * n) for n in (9, 1, 5, 3, 7)]
    chosen = [sentences[i].count(" ") + 1 for i in spread_queries(sentences, 2)]
    assert chosen == [3, 7]
    assert len(spread_queries(sentences, 20)) == 5


def test_zeros_are_no_vectors() -> None:
    assert without_zeros(np.array([[0, 0], [0, -1]], np.float32)).tolist() == [1]


def made(labels: list[str], num_points: int = 50) -> SentenceMap:
    labelled = [(f"sentence {n}", label) for n, label in enumerate(labels)]
    views = {"DEP": np.random.default_rng(1).normal(size=(len(labels), 4))}
    return sentence_map("TreeDepth", labelled, views, num_points, 0)


def test_numbers_are_classes_in_order() -> None:
    found = made(["10-12", "05-07", "05-07", "08-09"])
    assert found.class_names == ("5-7", "8-9", "10-12")
    assert found.is_ordered
    assert found.classes == (2, 0, 0, 1)


def test_rare_classes_are_drawn_together() -> None:
    labels = [f"label {n}" for n in range(9) for _ in range(9 - n)] + ["other"] * 4
    found = made(labels, 80)
    assert found.class_names[-1] == OTHERS
    assert len(found.class_names) == 8
    shown = {labels[int(s.split()[1])]: found.class_names[c]
             for s, c in zip(found.sentences, found.classes, strict=True)}  # fmt: skip
    assert shown["label 0"] == "label 0"
    assert shown["label 8"] == shown["other"] == OTHERS


def test_points_are_drawn_by_chance_and_the_same_each_time() -> None:
    labels = ["yes", "no"] * 40
    found = made(labels, 10)
    assert found == made(labels, 10)
    assert len(found.sentences) == len(found.panels[0].points) == 10
    assert found.num_sentences == 80
    assert SentenceMap.of_json(found.to_json()) == found
