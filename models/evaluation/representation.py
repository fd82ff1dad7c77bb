"""From the views of a batch of sentences to the one vector a sentence that is evaluated.

Of the views, those that are asked for. Each by itself: its poolings side by side, components
removed, normalised. Then the views together, projected if asked, and the mean of the word vectors
beside them if asked.

Legend: b sentences of a batch, d_v width of a view, k components, D width of the result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from treeviews.models.config.views import Pooling
from treeviews.models.encoding.encoder_names import (
    OPAQUE_VIEW,
    WORDS_VIEW,
    chosen_views,
    is_bag,
    key_of,
    view_and_pooling,
)
from treeviews.models.encoding.search import FloatArray
from treeviews.models.evaluation.linear_maps import (
    Method,
    principal_components,
    projected_in_place,
    random_projection,
    remove_components,
)
from treeviews.models.evaluation.task_registry import Protocol
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Natural, Settings, at_least

Combine = Literal["concatenate", "average"]
Components = Mapping[str, FloatArray]
"""View -> the components [k, d_v] that are removed from it."""


class Representation(Settings):
    """How views become features; supervised and unsupervised (cosine) protocols may differ."""

    called: ClassVar[str] = "representation setting"

    name: str = "plain"
    """For tables."""
    views: tuple[str, ...] = ()
    """Which of the encoder's views are taken: by name, as in ``SEQ``, or with the place that tells
    two of one name apart, as in ``0-SEQ``; none named takes all. One model so gives z_en, z_de and
    their ensemble (Tang & de Sa 2018, section 2.4) from the same embeddings."""
    supervised_pooling: tuple[Pooling, ...] = ("last",)
    """Of each view, side by side, where a classifier is learnt."""
    unsupervised_pooling: tuple[Pooling, ...] = ("last",)
    """The same where the cosine of two vectors is the answer."""
    supervised_combine: Combine = "concatenate"
    """What is done with the views."""
    unsupervised_combine: Combine = "concatenate"
    remove_components: Natural = 0
    """So many principal components are removed from each view. Of a batch of so many items or fewer
    nothing is left but zeros, so data of one's own should not leave one item for the last batch."""
    components_from: Literal["batch", "train"] = "batch"
    """Those of each batch of representations, as published, or those of a set that `fit` is given,
    such as the training split."""
    components_by: Method = "exact"
    normalise: bool = False
    """Whether each view is then scaled to length 1; a vector of zeros stays as it is."""
    project_to_width: Annotated[int | None, at_least(1)] = None
    """Where given, the combined views are projected to this width at random."""
    projection_seed: int = 0
    join_words: bool = False
    """Whether the mean of the word vectors, treated like a view, stands beside the result."""

    def _check_together(self) -> None:
        """Refuses views or poolings that are named twice.

        Raises:
            ValueError: names the field.
        """
        if len(set(self.views)) < len(self.views):
            raise ValueError(f"views must differ: {list(self.views)}")
        for name in ("supervised_pooling", "unsupervised_pooling"):
            poolings = getattr(self, name)
            if not poolings or len(set(poolings)) < len(poolings):
                raise ValueError(f"{name} must name one pooling or several that differ: {poolings}")

    @property
    def needs_fit(self) -> bool:
        """Whether `apply` must be given what `fit` found."""
        return bool(self.remove_components) and self.components_from == "train"

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON knows them.

        Without ``views`` where all are taken: so results and digests that were made before views
        could be chosen are still those of the same representation.
        """
        fields = Settings.to_dict(self)
        if not self.views:
            del fields["views"]
        return fields

    def poolings(self, protocol: Protocol) -> tuple[Pooling, ...]:
        """Returns what an encoder is asked for."""
        is_cosine = protocol == "similarity"
        return self.unsupervised_pooling if is_cosine else self.supervised_pooling

    def word_poolings(self) -> tuple[Pooling, ...]:
        """Returns what a bag of words is asked for beside the encoder; () if it is not joined."""
        return ("mean",) if self.join_words else ()

    def keys(self, available: Iterable[str], protocol: Protocol) -> dict[str, tuple[str, ...]]:
        """Returns, for each view, the keys that are put side by side, in order.

        The mean of a bag stands for its last state, and the one matrix of an encoder that knows
        no states for any pooling. The joined words, if any, come last; they are no view that is
        chosen.

        Raises:
            ValueError: a view, a pooling or the words are missing, a view's name is that of
                several, or a bag of words is joined with itself.
        """
        poolings: dict[str, list[str]] = {}
        for key in available:
            view, pooling = view_and_pooling(key)
            poolings.setdefault(view, []).append(pooling)
        main = [view for view in poolings if view != WORDS_VIEW]
        if self.join_words and (not main or "mean" not in poolings.get(WORDS_VIEW, ())):
            raise ValueError(
                "join_words needs an encoder's views and words.mean, got "
                f"{sorted(available) or 'nothing'}; a bag of words cannot be joined with itself"
            )
        try:
            views = chosen_views(main or list(poolings), self.views)
        except ValueError as error:
            raise ValueError(f"{self.name}: representation setting views: {error}") from error
        if not views:
            raise ValueError("there are no embeddings to represent sentences by")
        keys = {
            view: tuple(f"{view}.{p}" for p in self._poolings_of(view, poolings[view], protocol))
            for view in views
        }
        return keys | ({WORDS_VIEW: (key_of(WORDS_VIEW, "mean"),)} if self.join_words else {})

    def _poolings_of(self, view: str, available: list[str], protocol: Protocol) -> list[str]:
        if view == OPAQUE_VIEW:
            return available[:1]
        wanted: list[str] = list(self.poolings(protocol))
        if is_bag(view):
            wanted = list(dict.fromkeys("mean" if p == "last" else p for p in wanted))
            if "mean" not in available and "last" in available:
                wanted = ["last" if p == "mean" else p for p in wanted]
        if missing := [p for p in wanted if p not in available]:
            raise ValueError(
                f"{self.name}: view {view} has no pooling {missing}, only {available}; encode with "
                f"pooling {list(self.poolings(protocol))}"
            )
        return wanted

    def check(self, widths: Mapping[str, int], protocol: Protocol) -> None:
        """Refuses an encoder that this cannot be made of, before it has encoded anything.

        Args:
            widths: of each array of an encoder, see `poolings` and `word_poolings`.

        Raises:
            ValueError: see `keys`, and views that differ in width are averaged.
        """
        keys = self.keys(widths, protocol)
        parts = {view: sum(widths[key] for key in keys[view]) for view in keys}
        if self.join_words:
            del parts[WORDS_VIEW]
        self._check_combined(parts, protocol)

    def fit(self, views: Mapping[str, FloatArray], protocol: Protocol) -> Components:
        """Returns the components [k, d_v] of each view of a set of sentences.

        Args:
            views: as in `apply`, of the whole set.

        Raises:
            ValueError: see `keys` and `principal_components`.
        """
        return {
            view: self._components(_side_by_side(views, keys))
            for view, keys in self.keys(views, protocol).items()
        }

    def apply(
        self,
        views: Mapping[str, FloatArray],
        protocol: Protocol,
        *,
        components: Components | None = None,
        in_place: bool = False,
    ) -> FloatArray:
        """Returns the features of one batch, float32 [b, D].

        Args:
            views: [b, width of the view] by view and pooling, see `key_of`.
            components: what `fit` gave, if `needs_fit`.
            in_place: whether a projection to a larger width is given by as few dimensions as there
                were, with the same inner products, see `projected_in_place`.

        Raises:
            ValueError: see `keys`, or views that differ in width are averaged.
        """
        assert components is not None or not self.needs_fit, "components are fitted first"
        fitted = components or {}
        parts: dict[str, FloatArray] = {}
        for view, keys in self.keys(views, protocol).items():
            vectors = _side_by_side(views, keys)
            if self.remove_components:
                shared = fitted[view] if self.needs_fit else self._components(vectors)
                vectors = remove_components(vectors, shared)
            if self.normalise:
                lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
                vectors = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
            parts[view] = vectors
        words = [parts.pop(WORDS_VIEW)] if self.join_words else []
        features = self._combined(parts, protocol)
        if self.project_to_width is not None:
            is_wider = self.project_to_width > features.shape[1]
            project = projected_in_place if in_place and is_wider else random_projection
            features = project(features, self.project_to_width, seed=self.projection_seed)
        return np.concatenate([features, *words], axis=1)

    def _components(self, vectors: FloatArray) -> FloatArray:
        return principal_components(vectors, self.remove_components, method=self.components_by)

    def _combined(self, parts: Mapping[str, FloatArray], protocol: Protocol) -> FloatArray:
        self._check_combined({view: part.shape[1] for view, part in parts.items()}, protocol)
        if getattr(self, _combine(protocol)) == "concatenate":
            return np.concatenate(list(parts.values()), axis=1)
        averaged: FloatArray = np.mean(list(parts.values()), axis=0, dtype=np.float32)
        return averaged

    def _check_combined(self, widths: Mapping[str, int], protocol: Protocol) -> None:
        name = _combine(protocol)
        if getattr(self, name) == "average" and len(set(widths.values())) > 1:
            raise ValueError(
                f"{self.name}: views of different widths cannot be averaged: {dict(widths)}; give "
                f"{name} concatenate, or choose views of one width"
            )


def _combine(protocol: Protocol) -> str:
    """Returns the field that says what is done with the views."""
    return "unsupervised_combine" if protocol == "similarity" else "supervised_combine"


def _side_by_side(views: Mapping[str, FloatArray], keys: tuple[str, ...]) -> FloatArray:
    return np.concatenate([views[key] for key in keys], axis=1).astype(np.float32, copy=False)


REPRESENTATIONS: dict[str, Representation] = {
    "plain": Representation(),
    "multi-view": Representation(
        name="multi-view",
        supervised_pooling=("max", "mean", "min", "last"),
        unsupervised_pooling=("mean",),
        unsupervised_combine="average",
        remove_components=1,
        normalise=True,
    ),
}
"""``plain``: each view's last state, side by side. ``multi-view``: Tang & de Sa 2018, table 2 and
section 2.4; Tang & de Sa 2019 (appendix C) is the same without ``last`` in ``supervised_pooling``.
Differs from both in what CONST pools, see `models.encoders.sentence_encoder`."""


def representation_named(name: str, /, **changes: Any) -> Representation:
    """Returns a preset with some fields changed.

    Raises:
        ValueError: no such preset or field, or a value of another type or out of range.
    """
    if name not in REPRESENTATIONS:
        raise ValueError(
            f"unknown representation {name!r}{did_you_mean(name, known=REPRESENTATIONS)}; known: "
            f"{', '.join(REPRESENTATIONS)}; options are changed by field"
        )
    return REPRESENTATIONS[name].changed(**changes)


def described(representation: Mapping[str, Any]) -> str:
    """Returns the name and what differs from the preset of that name.

    As in ``multi-view, views INV, remove_components 0``. A name that is no preset's stands by
    itself: whoever gave it said by it what is meant.

    Args:
        representation: as a result holds it, of this release or of an earlier one.
    """
    name = str(representation.get("name", ""))
    if name not in REPRESENTATIONS:
        return name
    preset = REPRESENTATIONS[name].to_dict()
    changed = {k: v for k, v in representation.items() if v != preset.get(k)}
    return ", ".join([name, *(f"{field} {_in_words(value)}" for field, value in changed.items())])


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
