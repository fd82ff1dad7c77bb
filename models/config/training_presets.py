"""Trainings by name: those of the papers as published, and one that suits a laptop."""

from __future__ import annotations

from typing import Any

from treeviews.models.config.training_config import TrainingConfig
from treeviews.pipeline.base.mistakes import did_you_mean

_PUBLISHED = TrainingConfig(
    vector_rms=None, epochs=1, learning_rate=5e-4, schedule="constant", warmup_fraction=0.0
)
"""What all papers have, or leave open alike."""
_MULTI_VIEW = _PUBLISHED.changed(
    views=("SEQ", "LIN"),
    objective="discriminative",
    hidden_size=2048,
    bidirectional=True,
    batch_size=512,
    context_size=3,
    anchor="included",
    init="he",
)
_INVERTIBLE = _MULTI_VIEW.changed(
    views=("SEQ",), objective="generative", hidden_size=2400, init="orthonormal"
)
_STRUCTURED = _PUBLISHED.changed(
    hidden_size=1200,
    trained_words=50_000,
    gradient_clip=None,
    normalise="none",
    symmetric=False,
    targets="each",
)

PRESETS: dict[str, TrainingConfig] = {
    "laptop": TrainingConfig(),
    "structured-views": _STRUCTURED,
    "quickthoughts": _STRUCTURED.changed(
        views=("SEQ", "SEQ"),
        bidirectional=True,
        trained_word_init="uniform",
        embeddings="separate",
        gradient_clip=5.0,
        targets="soft",
        critic="inner_product",
        anchor="zeroed",
    ),
    "B-G": _MULTI_VIEW.changed(views=("SEQ",), objective="generative"),
    "B-D": _MULTI_VIEW,
    "B-GD": _MULTI_VIEW.changed(objective="both"),
    "C-linear": _INVERTIBLE,
    "C-bijective": _INVERTIBLE.changed(decoder="bijective"),
    "weighted-words": TrainingConfig(
        views=("BOW", "BOW"),
        word_vectors="trained",
        trained_word_init="given",
        word_weights="sif",
        unit_words=True,
        vector_rms=None,
        critic="inner_product",
        normalise="l2",
        temperature=0.05,
        temperature_trained=False,
        batch_size=2048,
        run_length=2,
        epochs=1,
        learning_rate=5e-3,
        gradient_clip=None,
        held_out_fraction=0.02,
        held_out_batches=20,
    ),
    "trees-beside-words": TrainingConfig(
        views=("DEP", "CONST"),
        hidden_size=300,
        vector_rms=None,
        read_rms=0.35,
        words_beside=1.4,
        critic="inner_product",
        normalise="l2",
        temperature=0.05,
        temperature_trained=False,
        batch_size=768,
        run_length=2,
        epochs=1,
        learning_rate=2e-3,
        held_out_fraction=0.02,
        held_out_batches=20,
    ),
}
"""``laptop`` is made for some ten thousand sentences on two cores; ``structured-views`` is A as
published, ``quickthoughts`` is Q, A's baseline, ``B-…`` are B's generative and discriminative
frameworks and both together, ``C-…`` is C with either decoder. ``weighted-words`` is no paper's: it
trains word vectors that are given, weighted by SIF, to find a sentence's neighbour by their mean.
Nor is ``trees-beside-words``, whose trees stand beside the words of a model that was made so. Their
values stand in the docstrings of the fields, where A, B, C and Q are explained, too.

A says both that it uses Q's objective, whose targets are soft, and, by its formula, that a positive
stands against the negatives alone; ``structured-views`` takes the formula."""


SIF_WORDS = TrainingConfig(
    views=("BOW",),
    objective="discriminative",
    vector_rms=None,
    word_weights="sif",
    unit_words=True,
)
"""A baseline, of which nothing is trained: the mean of word vectors of length 1, each weighted by
smooth inverse frequency (Arora et al. 2017). No component is removed: what sentences share is not
known where there is no corpus; a representation can remove it."""


def preset(name: str, /, **changes: Any) -> TrainingConfig:
    """Returns a preset with some fields changed.

    Raises:
        ValueError: no such preset or field, or a value of another type or out of range.
    """
    if name not in PRESETS:
        meant = did_you_mean(name, known=PRESETS)
        known = ", ".join(PRESETS)
        unknown = ValueError(f"unknown training preset {name!r}; known: {known}{meant}")
        return TrainingConfig(**changes | {"objective": unknown})  # refused with what else is wrong
    return PRESETS[name].changed(**changes)
