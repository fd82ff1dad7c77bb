"""From the views of a batch of sentences to the one vector a sentence that is evaluated.

Of the views, those that are asked for. Each by itself: its poolings side by side, components
removed, normalised. Then the views together, projected if asked, and the mean of the word vectors
beside them if asked.

The directions that a set of vectors shares are removed as in Arora et al. 2017, algorithm 1. As
there and in Tang & de Sa 2018, the vectors are not centred: the first direction is mostly their
mean. A random projection gives the bag of words another encoder's width.

Legend: b sentences of a batch, d_v width of a view, k components, D width of the result.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from treeviews.models.config.views import Pooling
from treeviews.models.encoding.encoder_names import (
    OPAQUE_VIEW,
    WORDS_VIEW,
    chosen_views,
    is_bag,
    key_of,
)
from treeviews.models.encoding.search import FloatArray
from treeviews.models.evaluation.task_registry import Protocol
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Natural, Settings, at_least

Combine = Literal["concatenate", "average"]
WORD_POOLING: tuple[Pooling, ...] = ("mean",)
"""What a bag of words is asked for that is joined."""
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
    components_by: Literal["exact"] = "exact"
    normalise: bool = False
    """Whether each view is then scaled to length 1; a vector of zeros stays as it is."""
    project_to_width: Annotated[int | None, at_least(1)] = None
    """Where given, the combined views are projected to this width at random."""
    projection_seed: int = 0
    join_words: bool = False
    """Whether the mean of the word vectors, treated like a view, stands beside the result."""

    def _check_together(self) -> None:
        """Refuses poolings that are named twice, or none.

        Raises:
            ValueError: names the field.
        """
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
        poolings: tuple[Pooling, ...] = getattr(self, _field("pooling", protocol))
        return poolings

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
            view, _, pooling = key.rpartition(".")
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
            widths: of each array of an encoder, see `poolings` and `WORD_POOLING`.

        Raises:
            ValueError: see `keys`, and views that differ in width are averaged.
        """
        keys, combine = self.keys(widths, protocol), _field("combine", protocol)
        parts = {v: sum(widths[key] for key in keys[v]) for v in keys if v != WORDS_VIEW}
        if getattr(self, combine) == "average" and len(set(parts.values())) > 1:
            raise ValueError(
                f"{self.name}: views of different widths cannot be averaged: {parts}; give "
                f"{combine} concatenate, or choose views of one width"
            )

    def fit(self, views: Mapping[str, FloatArray], protocol: Protocol) -> Components:
        """Returns the components [k, d_v] of each view of a set of sentences.

        Args:
            views: as in `apply`, of the whole set.

        Raises:
            ValueError: see `keys` and `principal_components`.
        """
        return {
            view: principal_components(_side_by_side(views, keys), self.remove_components)
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
            ValueError: see `keys`.
        """
        assert components is not None or not self.needs_fit, "components are fitted first"
        parts: dict[str, FloatArray] = {}
        for view, keys in self.keys(views, protocol).items():
            vectors = _side_by_side(views, keys)
            if self.remove_components:
                if components is None:
                    shared = principal_components(vectors, self.remove_components)
                else:
                    shared = components[view]
                vectors = remove_components(vectors, shared)
            if self.normalise:
                lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
                vectors = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
            parts[view] = vectors
        words = [parts.pop(WORDS_VIEW)] if self.join_words else []
        features: FloatArray
        if getattr(self, _field("combine", protocol)) == "concatenate":
            features = np.concatenate(list(parts.values()), axis=1)
        else:
            features = np.mean(list(parts.values()), axis=0, dtype=np.float32)
        if self.project_to_width is not None:
            is_wider = self.project_to_width > features.shape[1]
            project = projected_in_place if in_place and is_wider else random_projection
            features = project(features, self.project_to_width, seed=self.projection_seed)
        return np.concatenate([features, *words], axis=1)


def _field(what: str, protocol: Protocol) -> str:
    """Returns the name of the field that says how views are pooled or combined."""
    return f"unsupervised_{what}" if protocol == "similarity" else f"supervised_{what}"


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
        unknown = ValueError(
            f"unknown representation {name!r}{did_you_mean(name, known=REPRESENTATIONS)}; known: "
            f"{', '.join(REPRESENTATIONS)}"
        )
        return Representation(**changes | {"name": unknown})  # refused with what else is wrong
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
    return ", ".join([name, *(f"{field} {in_words(value)}" for field, value in changed.items())])


def in_words(value: Any, between: str = "+") -> str:
    """Returns a setting's value as titles have it, what is between several given."""
    if isinstance(value, list | tuple):
        return between.join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, default=dict)


Matrix = npt.NDArray[np.float64]

ROUNDING = 1e-6
"""Of a vector's length; what is shorter after a removal is an error of components in float32."""
SMALLEST_SHARE = 1e-12
"""Of the largest eigenvalue; a smaller one is rounding, and its direction no component."""


def principal_components(vectors: FloatArray, count: int) -> FloatArray:
    """Returns the first components of vectors [n, d] as orthonormal rows, [k, d].

    k is ``count``, or less where the vectors span fewer dimensions.

    Differs from Arora et al.'s code, which finds the same directions by a randomised SVD, and from
    Tang & de Sa's, which estimates them: by an eigendecomposition the result has no seed.

    Raises:
        ValueError: more components than dimensions, or vectors that are not finite.
    """
    if count > vectors.shape[1]:
        raise ValueError(
            f"{count} components cannot be removed from vectors {vectors.shape[1]} wide"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("vectors that are not finite have no principal components")
    # The smaller of the two products has the same eigenvalues (Tang & de Sa 2018, appendix, 2).
    z = vectors.astype(np.float64)
    is_wide = len(z) < z.shape[1]
    gram = z @ z.T if is_wide else z.T @ z
    values, columns = np.linalg.eigh(gram)
    smallest = SMALLEST_SHARE * max(values.max(initial=0.0), 0.0)
    kept = [i for i in range(len(values))[::-1][:count] if values[i] > smallest]
    directions: Matrix = columns[:, kept].T
    if is_wide:
        directions = directions @ z
    components: FloatArray = np.linalg.qr(directions.T)[0].T.astype(np.float32)
    return components


def remove_components(vectors: FloatArray, components: FloatArray) -> FloatArray:
    """Returns vectors [n, d] without their part along the components [k, d].

    A single vector that is its own set has nothing left. What rounding leaves of it is set to zero,
    or a normalisation would make a direction of it.
    """
    z, u = vectors.astype(np.float64), components.astype(np.float64)
    rest = z - (z @ u.T) @ u
    is_gone = np.linalg.norm(rest, axis=1) <= ROUNDING * np.linalg.norm(z, axis=1)
    rest[is_gone] = 0.0
    left: FloatArray = rest.astype(np.float32)
    return left


def random_projection(embeddings: FloatArray, width: int, *, seed: int) -> FloatArray:
    """Returns embeddings [n, width] of embeddings [n, d] through a random linear map.

    The map's entries are Glorot-uniform, in ±sqrt(6 / (d + width)), as Simoulin & Crabbé 2021
    widen an embedding to tell the effect of its size (their study of the embedding size, after
    Wieting & Kiela 2019); it adds width and no information, and below d it loses some. Over seeds
    the mean of an inner product is 2 · width / (d + width) times the vectors' own; how far one seed
    is from it falls with width.
    """
    matrix = _matrix(embeddings.shape[1], width, seed)
    projected: FloatArray = (embeddings @ matrix).astype(np.float32)
    return projected


def projected_in_place(embeddings: FloatArray, width: int, *, seed: int) -> FloatArray:
    """Returns embeddings [n, d] whose inner products are those of `random_projection`.

    A projection to a larger width fills d of its dimensions. What is learnt from inner products
    alone, as a linear model with a penalty on its length, is the same from these, at the cost of d.
    Args:
        width: larger than d.
    """
    placed: FloatArray = (embeddings @ _root(embeddings.shape[1], width, seed)).astype(np.float32)
    return placed


@functools.lru_cache(maxsize=1)
def _root(size: int, width: int, seed: int) -> Matrix:
    """Returns L [d, d], where L Lᵀ is the product of the map with itself, [d, d]."""
    matrix = _matrix(size, width, seed)
    return np.linalg.cholesky(matrix @ matrix.T).astype(np.float64)


@functools.lru_cache(maxsize=1)  # a task's batches are all projected by the same one
def _matrix(size: int, width: int, seed: int) -> Matrix:
    bound = (6.0 / (size + width)) ** 0.5
    return np.random.default_rng(seed).uniform(-bound, bound, size=(size, width))
