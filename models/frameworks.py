"""Which trainings and which of their views are compared with what Tang & de Sa publish.

B = Tang & de Sa 2018 (multi-view frameworks), C = Tang & de Sa 2019 (invertible decoders). f is the
view that reads words in order, a bi-GRU in both papers; g is the linear one. Loads no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from models.report.published import (
    FREE_DECODER,
    JOINED_ALONE,
    JOINED_PAIRS,
    LINEAR_ALONE,
    RECURRENT_ALONE,
    TWO_LINEAR,
    TWO_RECURRENT,
    Part,
)
from models.training_presets import PRESETS
from models.views import UNORDERED_VIEWS

Kept = Literal["none", "ensemble", "all"]
"""For what the top component is also kept; it is removed once for everything."""

F, G = "SEQ", "LIN"
PUBLISHED_PRESETS = tuple(
    name for name, config in PRESETS.items() if config.objective != "contrastive"
)

WITHOUT_LAST_STATE: Mapping[str, Any] = {"supervised_pooling": ["max", "mean", "min"]}
"""What C's classifiers see of either encoder (appendix C); B's see f's last state as well."""


@dataclass(frozen=True, slots=True)
class Framework:
    """A training that is compared."""

    name: str
    preset: str
    views: tuple[str, ...]
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the preset that make it the variant."""
    represented: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the representation ``multi-view`` that its paper has otherwise."""
    published: str | None = None
    """What `models.report.published` calls it; None where no paper has it."""
    is_variant: bool = False
    """Whether it stands beside the framework that it is a variant of."""


@dataclass(frozen=True, slots=True)
class JoinedFrameworks:
    """Views of frameworks that were trained apart, put together."""

    name: str
    parts: tuple[tuple[str, str], ...]
    """Framework and view, the view with its place."""
    published: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """Which views of a model make one row, and whether the top component is removed."""

    title: str
    views: tuple[str, ...]
    """With their places; () takes all."""
    component_removed: bool
    part: Part | None
    """What the papers call it; None where they give no such row."""

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from the representation ``multi-view``, which removes one component.

        B removes that of "a batch of representations" (section 2.4), of "a set of learnt vectors"
        (appendix 4). Here the set is the sentences of train, or of the whole task where it has no
        such split. SentEval's batches of MR are sorted by length and label, so that each has mostly
        one label: to remove each one's own component removes the label (measured: from 72 to 46 %).
        """
        views = {"views": list(self.views)} if self.views else {}
        removed = (
            {"components_from": "train"} if self.component_removed else {"remove_components": 0}
        )
        return views | removed


_VARIANTS = (
    Framework(FREE_DECODER, "B-G", (F,), {"orthonormal_rate": 0.0}, is_variant=True),
    Framework(TWO_RECURRENT, "B-D", (F, F), is_variant=True),
    Framework(TWO_LINEAR, "B-D", (G, G), is_variant=True),
    Framework(RECURRENT_ALONE, "B-D", (F,), is_variant=True),
    Framework(LINEAR_ALONE, "B-D", (G,), is_variant=True),
)
"""B, table 6, beside B-G and B-D themselves."""
_JOINED = (
    JoinedFrameworks(JOINED_PAIRS, ((TWO_RECURRENT, f"0-{F}"), (TWO_LINEAR, f"0-{G}"))),
    JoinedFrameworks(JOINED_ALONE, ((RECURRENT_ALONE, f"0-{F}"), (LINEAR_ALONE, f"0-{G}"))),
)
"""B, table 6: ensembles of views that were trained apart."""


def frameworks_named(
    presets: Sequence[str], *, variants: bool = False, f: str = F
) -> list[Framework]:
    """Returns the trainings to compare.

    Args:
        presets: names of `PUBLISHED_PRESETS`.
        variants: whether B's table 6 is wanted, too, as far as it departs from these presets.
        f: the view in f's place; of another than the papers' none has figures.

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
    own = [
        Framework(name, name, PRESETS[name].views, represented=_represented(name))
        for name in dict.fromkeys(presets)
    ]
    further = [one for one in _VARIANTS if variants and one.preset in presets]
    return [_with_f(one, f) for one in (*own, *further)]


def _represented(preset: str) -> Mapping[str, Any]:
    return WITHOUT_LAST_STATE if preset.startswith("C-") else {}


def check_distinct(
    frameworks: Sequence[Framework], trainings: Sequence[Any], changes: Mapping[str, Any]
) -> None:
    """Refuses frameworks whose trainings are the same one.

    Args:
        trainings: what identifies the training of each framework.
        changes: of every training, which made them so.

    Raises:
        ValueError: names the two frameworks, and the fields in which they differ without the
            changes.
    """
    for place, (one, training) in enumerate(zip(frameworks, trainings, strict=True)):
        for other, earlier in zip(frameworks[:place], trainings, strict=False):
            if training == earlier:
                raise ValueError(_said_of_equals(other, one, changes))


def _said_of_equals(one: Framework, other: Framework, changes: Mapping[str, Any]) -> str:
    given = [{**PRESETS[it.preset].to_dict(), **it.changes} for it in (one, other)]
    fields = ", ".join(name for name in sorted(changes) if given[0][name] != given[1][name])
    return (
        f"frameworks {one.name} and {other.name} are the same training: they differ in {fields} "
        "alone, which changes makes equal; compare one of them, or take a field out of changes"
    )


def joined_named(frameworks: Sequence[Framework], *, f: str = F) -> list[JoinedFrameworks]:
    """Returns the ensembles of views trained apart whose trainings are all among these."""
    names = {one.name for one in frameworks}
    found = []
    for joined in _JOINED:
        parts = tuple((_titled(name, f), view.replace(F, f)) for name, view in joined.parts)
        if {name for name, _ in parts} <= names:
            published = joined.name if f == F else None
            found.append(JoinedFrameworks(_titled(joined.name, f), parts, published))
    return found


def _with_f(framework: Framework, f: str) -> Framework:
    views = tuple(f if view == F else view for view in framework.views)
    published = framework.name if views == framework.views else None
    return replace(framework, name=_titled(framework.name, f), views=views, published=published)


def _titled(name: str, f: str) -> str:
    """Returns the name of a framework with this view in f's place."""
    return name if f == F or name in {TWO_LINEAR, LINEAR_ALONE} else f"{name}, f = {f}"


def taken_of(test_views: Sequence[str], kept: Kept) -> list[Taken]:
    """Returns the rows of one model: each view by itself, and all together.

    z_en is what reads words in order, z_de what does not: the linear view or the decoder's inverse.

    Args:
        test_views: see `TrainingConfig.test_views`.
    """
    alone: list[Taken] = []
    for place, view in enumerate(test_views):
        part: Part = "de" if view in UNORDERED_VIEWS else "en"
        is_first = part not in {row.part for row in alone}
        title = f"z_{part} ({place}-{view})"
        alone.append(Taken(title, (f"{place}-{view}",), True, part if is_first else None))
    if len(alone) == 1:
        return alone + ([] if kept == "none" else _kept(alone))
    return alone + (_kept(alone) if kept == "all" else []) + together(kept)


def together(kept: Kept) -> list[Taken]:
    """Returns the rows of all views of a model, or of models trained apart."""
    rows = [Taken("ensemble", (), True, "ensemble")]
    return rows + ([] if kept == "none" else _kept(rows))


def _kept(rows: Sequence[Taken]) -> list[Taken]:
    return [replace(row, component_removed=False) for row in rows]
