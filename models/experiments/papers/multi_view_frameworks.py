"""B = Tang & de Sa 2018, "Improving Sentence Representations with Multi-view Frameworks": tables.

``data/published/multi-view-frameworks.csv`` has the figures. Figures of UMBC News and Amazon Book
Review stand on lines of their own, beside our one corpus.
"""

from __future__ import annotations

from models.experiments.columns import (
    MEAN_BINARY,
    MEAN_RELATEDNESS,
    MEAN_SIMILARITY,
    SIMILARITY,
    columns,
)
from models.experiments.declaration import Experiment, Joined, Training
from models.experiments.papers.framework_rows import (
    ALL_OF_TABLE_2,
    COMPONENT,
    GRID_SCALE,
    HOW_SIMILAR,
    LEARNT,
    PARTS,
    REPRESENTATION,
    SCALES,
    TUNED,
    F,
    G,
    ensemble_rows,
    random_rows,
    rows_of,
    together,
    trained_rows,
    word_rows,
)
from models.experiments.published import models_of_others

GENERATIVE = Training("B-G", "B-G")
DISCRIMINATIVE = Training("B-D", "B-D")
BOTH = Training("B-GD", "B-GD")
FREE_DECODER = Training("B-G, free decoder", "B-G", (F,), {"orthonormal_rate": 0.0})
TWO_RECURRENT = Training("B-D, f1 and f2", "B-D", (F, F))
TWO_LINEAR = Training("B-D, g1 and g2", "B-D", (G, G))
RECURRENT_ALONE = Training("B-D, f alone", "B-D", (F,))
LINEAR_ALONE = Training("B-D, g alone", "B-D", (G,))
JOINED = (
    ("B-D, f1 beside g1", ((TWO_RECURRENT, f"0-{F}"), (TWO_LINEAR, f"0-{G}"))),
    ("B-D, f and g apart", ((RECURRENT_ALONE, f"0-{F}"), (LINEAR_ALONE, f"0-{G}"))),
)
"""Table 6: ensembles of the first views of frameworks that were trained apart."""

_OURS, _WORDS, _OTHERS = "frameworks", "word vectors", "models of others"
_ENTAILMENT = "trained with labels of entailment"
_ONE_TASK = "trained for each task by itself"
_NOT_MADE = "not implemented"
_QUICKTHOUGHTS = "no framework of this paper; the preset quickthoughts trains it"
_MEANS = (MEAN_SIMILARITY, MEAN_RELATEDNESS, MEAN_BINARY, "MRPC", "MRPC F1", "hours")


def _experiment(name: str, title: str, tables: tuple[str, ...], **given: object) -> Experiment:
    return Experiment(
        name,
        title,
        tables,
        scales=SCALES,
        representation=REPRESENTATION,
        grid_scale=GRID_SCALE,
        **given,  # type: ignore[arg-type]
    )


MULTI_VIEW_SIMILARITY = _experiment(
    "multi-view-similarity",
    "Multi-view frameworks: similarity by cosine",
    ("B, table 3", "B, table 4"),
    rows=(
        *ensemble_rows(GENERATIVE, group=_OURS),
        *ensemble_rows(DISCRIMINATIVE, group=_OURS),
        *word_rows(_WORDS),
        *models_of_others(
            ("B, table 3", "B, table 4"),
            {
                "PSL, average": "word vectors trained on labelled paraphrases",
                "PSL, WR": "word vectors trained on labelled paraphrases",
                "InferSent": _ENTAILMENT,
                "ParaNMT (concat.)": "trained on the output of a translation system",
                "FastSent": _NOT_MADE,
                "FastSent+AE": _NOT_MADE,
                "MC-QT, RNN": _QUICKTHOUGHTS,
                "MC-QT, BOW": _QUICKTHOUGHTS,
            },
            group=_OTHERS,
        ),
    ),
    columns=columns(*SIMILARITY, MEAN_SIMILARITY),
    notes=(HOW_SIMILAR, COMPONENT, TUNED),
)
"""Tables 3 and 4."""

MULTI_VIEW_SUPERVISED = _experiment(
    "multi-view-supervised",
    "Multi-view frameworks: tasks that learn",
    ("B, table 5",),
    rows=(
        *ensemble_rows(GENERATIVE, group=_OURS),
        *ensemble_rows(DISCRIMINATIVE, group=_OURS),
        *word_rows(_WORDS),
        *models_of_others(
            ("B, table 5",),
            {
                **dict.fromkeys(("AdaSent", "TF-KLD", "SWEM-concat"), _ONE_TASK),
                "InferSent": _ENTAILMENT,
                "ParagraphVec": _NOT_MADE,
                "GloVe+WR": "other word vectors than the run's",
                **dict.fromkeys(
                    ("SDAE", "FastSent", "Skip-thought", "CNN-LSTM", "DiscSent", "DisSent"),
                    _NOT_MADE,
                ),
                "MC-QT": _QUICKTHOUGHTS,
            },
            group=_OTHERS,
        ),
    ),
    columns=columns("hours", *ALL_OF_TABLE_2),
    notes=(LEARNT, COMPONENT),
)
"""Table 5."""

MULTI_VIEW_ABLATIONS = _experiment(
    "multi-view-ablations",
    "Multi-view frameworks: what each part is good for",
    ("B, table 6",),
    rows=(
        *trained_rows(GENERATIVE, group="generative"),
        *trained_rows(FREE_DECODER, group="generative"),
        *random_rows(GENERATIVE, group="generative"),
        *(
            row
            for one in (DISCRIMINATIVE, TWO_RECURRENT, TWO_LINEAR, RECURRENT_ALONE, LINEAR_ALONE)
            for row in trained_rows(one, group="discriminative")
        ),
        *(
            row
            for name, parts in JOINED
            for row in rows_of(
                name, together(), Joined(parts), published=name, group="discriminative"
            )
        ),
        *random_rows(DISCRIMINATIVE, group="discriminative"),
        *word_rows(_WORDS, kept=False),
    ),
    columns=columns(*_MEANS),
    notes=(HOW_SIMILAR, LEARNT, PARTS, COMPONENT),
)
"""Table 6."""

MULTI_VIEW_POST_PROCESSING = _experiment(
    "multi-view-post-processing",
    "Multi-view frameworks: with and without the top principal component",
    ("B, appendix table 2",),
    rows=(
        *ensemble_rows(GENERATIVE, _OURS, kept=True),
        *ensemble_rows(DISCRIMINATIVE, _OURS, kept=True),
        *word_rows(_WORDS),
    ),
    columns=columns(*_MEANS[:-1]),
    notes=(HOW_SIMILAR, LEARNT, COMPONENT),
)
"""Appendix, table 2."""

JOINT_OBJECTIVES = _experiment(
    "joint-objectives",
    "Multi-view frameworks: both objectives together",
    ("B, appendix table 3",),
    rows=(
        *ensemble_rows(GENERATIVE, group=_OURS),
        *ensemble_rows(DISCRIMINATIVE, group=_OURS),
        *ensemble_rows(BOTH, group=_OURS),
        *word_rows(_WORDS, kept=False),
    ),
    columns=columns(*_MEANS),
    notes=(HOW_SIMILAR, LEARNT, COMPONENT),
)
"""Appendix, table 3."""

EXPERIMENTS = (
    MULTI_VIEW_SIMILARITY,
    MULTI_VIEW_SUPERVISED,
    MULTI_VIEW_ABLATIONS,
    MULTI_VIEW_POST_PROCESSING,
    JOINT_OBJECTIVES,
)
