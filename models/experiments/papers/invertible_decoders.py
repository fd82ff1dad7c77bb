"""C = Tang & de Sa 2019, "Exploiting Invertible Decoders …": its tables.

``data/published/invertible-decoders.csv`` has the figures. C's ensemble of its linear decoder is
B's of its generative framework; of single views B gives no figures on BookCorpus, where C does.
"""

from __future__ import annotations

from models.experiments.columns import columns
from models.experiments.declaration import Experiment, Training
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
    random_rows,
    trained_rows,
    word_rows,
)
from models.experiments.published import models_of_others

LINEAR = Training("C-linear", "C-linear")
BIJECTIVE = Training("C-bijective", "C-bijective")

_TABLES = ("C, table 1", "C, table 2", "C, table 3")
_ENTAILMENT = "trained with labels of entailment"
_NOT_MADE = "not implemented"

INVERTIBLE_DECODERS = Experiment(
    "invertible-decoders",
    "Invertible decoders: linear, and with coupling layers before it",
    _TABLES,
    rows=(
        *trained_rows(LINEAR, group="decoders"),
        *trained_rows(BIJECTIVE, group="decoders"),
        *random_rows(LINEAR, group="decoders"),
        *random_rows(BIJECTIVE, group="decoders"),
        *word_rows("word vectors"),
        *models_of_others(
            _TABLES,
            {
                **dict.fromkeys(
                    ("GloVe, tf-idf", "GloVe, WR", "GloVe, proc.", "word2vec, bow"),
                    "other word vectors than the run's",
                ),
                "word2vec, proc.": "other word vectors than the run's",
                **dict.fromkeys(
                    ("PSL, average", "PSL, WR"), "word vectors trained on labelled paraphrases"
                ),
                "InferSent": _ENTAILMENT,
                "ParaNMT (concat.)": "trained on the output of a translation system",
                **dict.fromkeys(("AdaSent", "TF-KLD"), "trained for each task by itself"),
                **dict.fromkeys(
                    (
                        *("FastSent", "FastSent+AE", "Skip-thought", "Skip-thought+LN"),
                        *("CNN-LSTM", "DiscSent", "DisSent"),
                    ),
                    _NOT_MADE,
                ),
                "MC-QT": "no decoder of this paper; the preset quickthoughts trains it",
            },
            group="models of others",
        ),
    ),
    columns=columns(*ALL_TASKS, "hours"),
    scales=SCALES,
    notes=(HOW_SIMILAR, LEARNT, PARTS, COMPONENT, TUNED),
    representation=REPRESENTATION,
    grid_scale=GRID_SCALE,
)
"""Tables 1 to 3."""

EXPERIMENTS = (INVERTIBLE_DECODERS,)
