"""Trainings by name: those of the papers as published, and one that suits a laptop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models.config.training_config import TrainingConfig

_MULTI_VIEW = TrainingConfig(
    views=("SEQ", "LIN"),
    objective="discriminative",
    hidden_size=2048,
    bidirectional=True,
    vector_rms=None,
    batch_size=512,
    context_size=3,
    epochs=1,
    learning_rate=5e-4,
    schedule="constant",
    warmup_fraction=0.0,
    anchor="included",
    init="he",
)
_INVERTIBLE = replace(
    _MULTI_VIEW, views=("SEQ",), objective="generative", hidden_size=2400, init="orthonormal"
)

PRESETS: dict[str, TrainingConfig] = {
    "laptop": TrainingConfig(),
    "structured-views": TrainingConfig(
        hidden_size=1200,
        trained_words=50_000,
        vector_rms=None,
        epochs=1,
        learning_rate=5e-4,
        schedule="constant",
        warmup_fraction=0.0,
        gradient_clip=None,
        normalise="none",
        symmetric=False,
        targets="each",
    ),
    "quickthoughts": TrainingConfig(
        views=("SEQ", "SEQ"),
        hidden_size=1200,
        bidirectional=True,
        vector_rms=None,
        trained_word_init="uniform",
        trained_words=50_000,
        embeddings="separate",
        epochs=1,
        learning_rate=5e-4,
        schedule="constant",
        warmup_fraction=0.0,
        normalise="none",
        symmetric=False,
        critic="inner_product",
        anchor="zeroed",
    ),
    "B-G": replace(_MULTI_VIEW, views=("SEQ",), objective="generative"),
    "B-D": _MULTI_VIEW,
    "B-GD": replace(_MULTI_VIEW, objective="both"),
    "C-linear": _INVERTIBLE,
    "C-bijective": replace(_INVERTIBLE, decoder="bijective"),
}
"""``laptop`` is made for some ten thousand sentences on two cores; ``structured-views`` is A as
published, ``quickthoughts`` is Q, A's baseline, ``B-…`` are B's generative and discriminative
frameworks and both together, ``C-…`` is C with either decoder. Their values stand in the docstrings
of the fields, where A, B, C and Q are explained, too.

A says both that it uses Q's objective, whose targets are soft, and, by its formula, that a positive
stands against the negatives alone; ``structured-views`` takes the formula."""


def preset(name: str, **changes: Any) -> TrainingConfig:
    """Returns a preset with some fields changed.

    Raises:
        ValueError: no such preset or field, or a value of another type or out of range.
    """
    if name not in PRESETS:
        raise ValueError(f"unknown training preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name].changed(changes)
