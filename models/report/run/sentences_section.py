"""Sentences as each view sees them: nearest neighbours, and maps of tasks' sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models.evaluation.derived.declarations import TASKS
from models.report.html.point_map import Point, PointMap, point_map
from models.report.html.sections import (
    Cell,
    Figure,
    Folded,
    Paragraph,
    Part,
    Section,
    Subheading,
    Table,
)
from models.report.markdown import count
from models.report.sentences.maps import Panel, SentenceMap
from models.report.sentences.neighbours import Neighbourhood, of_json
from pipeline.base.json_files import read_object

_READ = ("queries", "num_searched", "neighbourhoods", "maps", "absent")
MOST_LISTED = 36
"""Sentences of a map that are listed, as many of each class."""
_NO_VECTOR = "no vector of this sentence: its parser refused it, or no word of it is known"
_PLACES = ("nearest", "second", "third", "fourth", "fifth")


def sentences_sections(path: Path) -> list[Section]:
    """Returns the sections of what `models.show_sentences` wrote.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is damaged.
    """
    value = read_object(path, _READ, remedy="delete the folder and run ShowSentences again")
    return [neighbours_section(value), maps_section(value)]


def neighbours_section(value: Mapping[str, Any]) -> Section:
    """Returns a table a query: each view's nearest sentences."""
    views = [of_json(one) for one in value["neighbourhoods"]]
    parts: list[Part] = [
        Paragraph.of(
            f"For a few sentences, what stands nearest to them by cosine among "
            f"{count(value['num_searched'])} held-out ones, by each view. What a view takes for "
            "alike shows here: words, length, or the form of the tree. Sentences stand as their "
            "tokens. Searched are those that the probing tasks are built of, a text that comes "
            "more than once only once; so they may be fewer than were held out and measured."
        )
    ]
    for place, query in enumerate(value["queries"]):
        parts += [Subheading(f"“{query}”"), _neighbours_of(place, views)]
    return Section("Nearest neighbours", tuple(parts))


def _neighbours_of(place: int, views: Sequence[Neighbourhood]) -> Table:
    width = max([1, *(len(one.found[place]) for one in views)])
    rows: list[list[str | Cell]] = []
    for one in views:
        cells: list[str | Cell] = [
            Cell(hit.sentence, small=f"{hit.cosine:.2f}") for hit in one.found[place]
        ] or [_NO_VECTOR]
        rows.append([one.view, *cells, *[""] * (width - len(cells))])
    names = [_PLACES[i] if i < len(_PLACES) else f"{i + 1}th" for i in range(width)]
    caption = "What each view finds, with its cosine"
    return Table.of(caption, ("view", *names), rows, width + 1)


def maps_section(value: Mapping[str, Any]) -> Section:
    """Returns the maps, a drawing a view."""
    parts: list[Part] = [
        Paragraph.of(
            "Each point is a sentence of a probing task, where its vector lies in the plane in "
            "which the view's vectors differ most (principal components). Rest a pointer on a "
            "point to read its sentence; the list below each map has some of each class. Classes "
            "that lie apart are what a view puts first; ones that lie mixed may still be told "
            "apart in further dimensions, as the accuracies say."
        )
    ]
    for one in value["maps"]:
        found = SentenceMap.of_json(one)
        parts += [Subheading(_title(found.task)), _figure(found), _listed(found)]
    for name in value["absent"]:
        parts.append(Paragraph.of(f"{_title(name)}: the corpus was too small for this task."))
    return Section("Map of sentences", tuple(parts))


def _listed(found: SentenceMap) -> Folded:
    """Returns sentences of each class, for who cannot rest a pointer on a point."""
    of_class = [
        [s for s, number in zip(found.sentences, found.classes, strict=True) if number == place]
        for place in range(len(found.class_names))
    ]
    each = max(1, MOST_LISTED // max(1, len(of_class)))
    rows = [
        [name, sentence]
        for name, sentences in zip(found.class_names, of_class, strict=True)
        for sentence in sentences[:each]
    ][:MOST_LISTED]
    caption = f"{count(len(rows))} of the {count(len(found.sentences))} sentences that are drawn"
    return Folded(
        f"Sentences of the map, by class: {_title(found.task)}",
        (Table.of(caption, ("class", "sentence"), rows, 2),),
    )


def _title(task: str) -> str:
    """Returns what the tables call a task, with a capital."""
    words = next((one.name for one in TASKS if one.evaluation_task == task), task)
    words = words.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"


def _figure(found: SentenceMap) -> Figure:
    drawings = tuple(
        point_map(_map(found, panel, place)) for place, panel in enumerate(found.panels)
    )
    return Figure(
        f"{count(len(found.sentences))} sentences drawn by chance out of "
        f"{count(found.num_sentences)}, from all of which the planes are computed; axes are "
        "stretched to fill the frame.",
        drawings,
    )


def _map(found: SentenceMap, panel: Panel, place: int) -> PointMap:
    shares = " and ".join(f"{100 * share:.0f} %" for share in panel.shares)
    return PointMap(
        f"map_{found.task.lower()}_{place}",
        panel.view,
        f"axes: {shares} of the variance",
        f"{_title(found.task)}: {len(found.sentences)} sentences in the principal plane of "
        f"{panel.view}, by class: {', '.join(found.class_names)}.",
        found.class_names,
        found.is_ordered,
        tuple(
            Point(x, y, number, sentence)
            for (x, y), number, sentence in zip(
                panel.points, found.classes, found.sentences, strict=True
            )
        ),
    )
