"""Rows that Tang & de Sa's tables share: what is taken of a framework, and the word vectors.

f is the view that reads words in order, a bi-GRU in both papers; g is the linear one, or the
inverse of a decoder. z_en is f's vector and z_de g's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.config.training_presets import preset
from models.config.views import UNORDERED_VIEWS
from models.experiments.columns import MEAN_SIMILARITY, SIMILARITY
from models.experiments.declaration import (
    SIF_WORDS,
    WORDS,
    Encoder,
    Note,
    PaperScale,
    Published,
    Ready,
    Row,
    Scale,
    Trained,
    Training,
    Untrained,
)

F, G = "SEQ", "LIN"
WORD_VECTORS = "word vectors"
"""The mean of fastText's in the papers."""
REPRESENTATION = "multi-view"
GRID_SCALE = 4.0
"""Views have length 1, for which SentEval's largest C is small."""
FASTTEXT = "fastText, 300 wide"
SENTENCES: Mapping[str, float] = {
    "BookCorpus": 74e6,
    "UMBC News": 134.5e6,
    "Amazon Book Review": 150.8e6,
}
"""Of each corpus that both papers train on (B, table 1; C, table 4)."""
WORDS_A_SENTENCE: Mapping[str, int] = {"BookCorpus": 13, "UMBC News": 25, "Amazon Book Review": 19}
"""B, table 1."""
SCALES = (
    *(
        PaperScale("B", Scale(name, number, number * WORDS_A_SENTENCE[name], FASTTEXT, 2048))
        for name, number in SENTENCES.items()
    ),
    *(
        PaperScale("C", Scale(name, number, None, FASTTEXT, 2400))
        for name, number in SENTENCES.items()
    ),
)
"""d = 1024 a direction in B (appendix 3), 1200 in C (appendix A). Epochs are open in both."""
HOW_SIMILAR = Note(
    "Similarity tasks: Pearson's r times 100 of the cosine, the plain mean over subsets; the "
    "papers do not say which mean theirs is.",
    columns=(*SIMILARITY, "STS13-SMT", MEAN_SIMILARITY),
)
LEARNT = "Tasks that learn: accuracy, SICK-R and STS-B r times 100."
PARTS = (
    "z_en: the view that reads words in order (z^f of B); z_de: the linear view or the decoder's "
    "inverse (z^g of B)."
)
COMPONENT = (
    "The top principal component of a view over the sentences of train, or of the whole task where "
    "it has no such split, is removed, but where a row says that it is kept."
)
TUNED = Note(
    "STS14: the papers chose their settings on it, with the model trained on BookCorpus.",
    columns=("STS14",),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """Which views of a model make one row, and whether the top component is removed."""

    title: str
    part: str
    """What the papers call it; empty where they give no such row."""
    views: tuple[str, ...] = ()
    """With their places; () takes all."""
    component_removed: bool = True

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

    @property
    def in_words(self) -> str:
        """What is taken, for the table."""
        return self.title if self.component_removed else f"{self.title}, component kept"

    @property
    def component(self) -> str:
        """What became of the top principal component, as ``data/published`` calls it."""
        return "removed" if self.component_removed else "kept"


def taken_of(test_views: Sequence[str]) -> list[Taken]:
    """Returns what is taken of one model: each view by itself, and all together.

    z_en is what reads words in order, z_de what does not: the linear view or the decoder's inverse.

    Args:
        test_views: see `TrainingConfig.test_views`.
    """
    alone: list[Taken] = []
    for place, view in enumerate(test_views):
        part = "de" if view in UNORDERED_VIEWS else "en"
        is_first = part not in {row.part for row in alone}
        title = f"z_{part} ({place}-{view})"
        alone.append(Taken(title, part if is_first else "", (f"{place}-{view}",)))
    return alone if len(alone) == 1 else alone + together()


def together(*, kept: bool = False, title: str = "ensemble") -> list[Taken]:
    """Returns what is taken of all views of a model, or of models trained apart.

    Args:
        kept: whether it is taken with the top component kept, too.
    """
    row = Taken(title, "ensemble")
    return [row, replace(row, component_removed=False)] if kept else [row]


def test_views(training: Training) -> tuple[str, ...]:
    """Returns the views of the finished model."""
    views = {"views": training.views} if training.views else {}
    return preset(training.preset, **views, **training.changes).test_views


def rows_of(
    title: str,
    taken: Sequence[Taken],
    encoder: Encoder,
    *,
    published: str = "",
    changes: Mapping[str, Any] | None = None,
    group: str = "",
) -> tuple[Row, ...]:
    """Returns a row for each of what is taken of an encoder, represented as its paper does.

    Args:
        published: what ``data/published`` calls it; empty where no paper has it.
        changes: further ones of the representation.
    """
    represented = {**_represented(encoder), **(changes or {})}
    return tuple(
        Row(
            title,
            encoder,
            one.in_words,
            group,
            represented | one.changes,
            Published(published, one.part, one.component) if published and one.part else None,
        )
        for one in taken
    )


def _represented(encoder: Encoder) -> dict[str, Any]:
    """Returns what a paper's representation has otherwise than ``multi-view``.

    C's classifiers see no last state of either encoder (appendix C); B's see f's.
    """
    of_c = isinstance(encoder, Trained | Untrained) and encoder.training.preset.startswith("C-")
    return {"supervised_pooling": ["max", "mean", "min"]} if of_c else {}


def trained_rows(training: Training, group: str = "") -> tuple[Row, ...]:
    """Returns a row for each view of a training, and one for all together."""
    taken = taken_of(test_views(training))
    return rows_of(training.name, taken, Trained(training), published=training.name, group=group)


def ensemble_rows(training: Training, group: str = "", *, kept: bool = False) -> tuple[Row, ...]:
    """Returns the row of all views of a training together, and of the same with random weights."""
    return (
        *rows_of(
            training.name,
            together(kept=kept),
            Trained(training),
            published=training.name,
            group=group,
        ),
        *random_rows(training, group, kept=kept),
    )


def random_rows(training: Training, group: str = "", *, kept: bool = False) -> tuple[Row, ...]:
    """Returns the rows of an architecture with random weights, all views together."""
    title = f"{training.name}, random weights"
    return rows_of(title, together(kept=kept), Untrained(training), group=group)


def word_rows(group: str = "", *, kept: bool = True) -> tuple[Row, ...]:
    """Returns the rows of the word vectors.

    They are their mean as B gives it, words pooled as g, and the mean with SIF weights, which no
    paper gives: with the top component removed it is that of Arora et al. 2017.
    """
    mean = {"supervised_pooling": ["mean"]}
    means, sif = together(kept=kept, title="mean"), f"{WORD_VECTORS}, SIF weights"
    pooled = together(kept=kept, title="pooled as g")

    def rows(title: str, taken: list[Taken], encoder: Ready, **given: Any) -> tuple[Row, ...]:
        return rows_of(title, taken, encoder, group=group, **given)

    return (
        *rows(WORD_VECTORS, means, WORDS, published=WORD_VECTORS, changes=mean),
        *rows(WORD_VECTORS, pooled, WORDS),
        *rows(sif, means, SIF_WORDS, changes=mean),
    )


ALL_OF_TABLE_2 = ("SICK-R", "SICK-E", "MRPC", "MRPC F1", "TREC", "MR", "CR", "SUBJ", "MPQA", "SST2")
"""Columns of B's table 5 and C's table 2, but for the hours."""
ALL_TASKS = (*SIMILARITY, *ALL_OF_TABLE_2)
