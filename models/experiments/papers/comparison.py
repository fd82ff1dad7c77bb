"""What `CompareFrameworks` compares, declared from its parameters: B's and C's frameworks at once.

Another view may stand in the place of f; frameworks with one have no published figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.config.training_presets import PRESETS
from models.experiments.columns import MEANS, columns
from models.experiments.declaration import Experiment, Joined, Row, Training
from models.experiments.papers.framework_rows import (
    ALL_TASKS,
    COMPONENT,
    GRID_SCALE,
    HOW_SIMILAR,
    LEARNT,
    PARTS,
    REPRESENTATION,
    SCALES,
    TUNED,
    F,
    Kept,
    random_rows,
    rows_of,
    together,
    trained_rows,
    word_rows,
)
from models.experiments.papers.multi_view_frameworks import JOINED, VARIANTS

PUBLISHED_PRESETS = tuple(name for name in PRESETS if name.startswith(("B-", "C-")))


@dataclass(frozen=True, slots=True)
class Compared:
    """A framework that is compared."""

    training: Training
    is_published: bool = True
    is_variant: bool = False
    """Whether it stands beside the framework that it is a variant of."""


def compared(presets: Sequence[str], *, variants: bool = False, f: str = F) -> tuple[Compared, ...]:
    """Returns the frameworks to compare.

    Args:
        presets: names of `PUBLISHED_PRESETS`.
        variants: whether B's table 6 is wanted, too, as far as it departs from these presets.
        f: the view in f's place.

    Raises:
        ValueError: no preset, or one that no paper gives; lists those there are.
    """
    unknown = [name for name in presets if name not in PUBLISHED_PRESETS]
    if unknown or not presets:
        raise ValueError(
            f"frameworks must be one or several of {', '.join(PUBLISHED_PRESETS)}, not "
            f"{', '.join(unknown) or 'none'}"
        )
    if variants and not {"B-G", "B-D"} & set(presets):
        raise ValueError(
            f"variants are those of B-G and B-D, not of {', '.join(presets)}; compare one of these "
            "as well"
        )
    own = [with_f(Training(name, name), f) for name in dict.fromkeys(presets)]
    further = [one for one in VARIANTS if variants and one.preset in presets]
    return (
        *(Compared(one, one.name in presets) for one in own),
        *(
            Compared(made, made == one, is_variant=True)
            for one, made in ((one, with_f(one, f)) for one in further)
        ),
    )


def with_f(training: Training, f: str) -> Training:
    """Returns a training with this view in f's place, under the name that says so."""
    views = training.views or PRESETS[training.preset].views
    if f == F or F not in views:
        return training
    changed = tuple(f if view == F else view for view in views)
    return replace(training, name=f"{training.name}, f = {f}", views=changed)


def joined_rows(found: Sequence[Compared], kept: Kept, f: str = F) -> tuple[Row, ...]:
    """Returns the ensembles of views trained apart whose trainings are all among these."""
    trainings = [one.training for one in found]
    rows: list[Row] = []
    for name, declared in JOINED:
        parts = tuple((with_f(one, f), view.replace(F, f)) for one, view in declared)
        if all(training in trainings for training, _ in parts):
            title = name if f == F else f"{name}, f = {f}"
            published = name if f == F else ""
            rows += rows_of(title, together(kept), Joined(parts), published=published)
    return tuple(rows)


def comparison(
    presets: Sequence[str], *, variants: bool = False, f: str = F, kept: Kept = "ensemble"
) -> Experiment:
    """Returns the table of these frameworks, their baselines and all figures of B and C.

    Raises:
        ValueError: see `compared`.
    """
    found = compared(presets, variants=variants, f=f)
    trained = [
        row for one in found for row in trained_rows(one.training, kept, published=one.is_published)
    ]
    random = [row for one in found if not one.is_variant for row in random_rows(one.training, kept)]
    return Experiment(
        "frameworks",
        "Multi-view frameworks and invertible decoders beside their papers",
        (),
        rows=(*trained, *joined_rows(found, kept, f), *random, *word_rows(kept)),
        columns=columns("parameters", *ALL_TASKS, "STS-B", *MEANS),
        scales=SCALES,
        notes=(HOW_SIMILAR, LEARNT, PARTS, COMPONENT, TUNED),
        representation=REPRESENTATION,
        grid_scale=GRID_SCALE,
    )
