"""Maps of a task's sentences: the principal plane of each view, points named by sentence and class.

Legend: n sentences of the task, H width of a view.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.report.sentences.plane import in_unit_square, principal_plane

OTHERS = "other"
MOST_CLASSES = 7
"""Drawn by themselves; as many colours and forms are told apart."""
_NUMBER = re.compile(r"\d+(?:-\d+)?")


@dataclass(frozen=True, slots=True)
class Panel:
    """The plane of one view."""

    view: str
    """In words: ``DEP, trained``."""
    shares: tuple[float, float]
    """Of the variance of the view's vectors, along both axes."""
    points: tuple[tuple[float, float], ...]
    """Of each sentence that is drawn, between 0 and 1."""


@dataclass(frozen=True, slots=True)
class SentenceMap:
    """A task's sentences in the planes of several views."""

    task: str
    """As an evaluation calls it: ``TreeDepth``."""
    num_sentences: int
    """From which the planes are computed; of them some are drawn."""
    sentences: tuple[str, ...]
    """Those that are drawn."""
    classes: tuple[int, ...]
    """Of each of them, a place in the names."""
    class_names: tuple[str, ...]
    is_ordered: bool
    """Whether the classes are numbers, in their order."""
    panels: tuple[Panel, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns it as values of JSON."""
        return asdict(self)

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> SentenceMap:
        """Returns it from what `to_json` gave."""
        panels = tuple(
            Panel(one["view"], tuple(one["shares"]), tuple(map(tuple, one["points"])))
            for one in value["panels"]
        )
        lists = ("sentences", "classes", "class_names")
        return cls(**{**value, **{name: tuple(value[name]) for name in lists}, "panels": panels})


def sentence_map(
    task: str,
    labelled: Sequence[tuple[str, str]],
    views: Mapping[str, npt.NDArray[np.floating]],
    num_points: int,
    seed: int,
) -> SentenceMap:
    """Returns a task's sentences in the plane of each view; some, drawn by chance, as points.

    Args:
        task: its name.
        labelled: the sentences with their classes, [n].
        views: the vectors [n, H] of each view, by what it is called in words.
        num_points: how many sentences are drawn.
        seed: of their choice.
    """
    names, is_ordered = _classes([label for _, label in labelled])
    drawn = np.random.default_rng(seed).permutation(len(labelled))[:num_points]
    drawn = np.sort(drawn)
    panels = []
    for view, vectors in views.items():
        plane = principal_plane(vectors)
        points = in_unit_square(plane.points[drawn]).round(3)
        shares = (round(plane.shares[0], 3), round(plane.shares[1], 3))
        panels.append(Panel(view, shares, tuple((float(x), float(y)) for x, y in points)))
    numbers = {name: number for number, name in enumerate(names)}
    shown = [labelled[i][1] for i in drawn]
    return SentenceMap(
        task,
        len(labelled),
        tuple(labelled[i][0] for i in drawn),
        tuple(numbers.get(_shown(label), len(names) - 1) for label in shown),
        names,
        is_ordered,
        tuple(panels),
    )


def _classes(labels: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Returns the classes that are drawn by themselves, others last, and whether they are numbers.

    Numbers all stand by themselves, in their order; of others those with most sentences do.
    """
    counted = Counter(map(_shown, labels))
    if all(_NUMBER.fullmatch(label) for label in counted):
        return tuple(sorted(counted, key=lambda label: int(label.partition("-")[0]))), True
    counted.pop(OTHERS, None)
    ordered = sorted(counted, key=lambda label: (-counted[label], label))
    if len(ordered) <= MOST_CLASSES and len(counted) == len(set(labels)):
        return tuple(ordered), False
    return (*ordered[:MOST_CLASSES], OTHERS), False


def _shown(label: str) -> str:
    """Returns a class as it is read: numbers without zeros before them."""
    if _NUMBER.fullmatch(label):
        return "-".join(str(int(part)) for part in label.split("-"))
    return label
