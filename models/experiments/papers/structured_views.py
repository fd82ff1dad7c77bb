"""The tables of A, Simoulin & Crabbé 2021, "Contrasting distinct structured views".

A gives five studies in three tables: its models beside those of others on SentEval (table 1), all
pairs of views (table 2), and in table 3 the corpus that QuickThoughts is trained on, the size of an
embedding, and training against random weights. Each is an experiment here. Loads no torch.

What no table of A has stands beside: random weights of each architecture, means of the same word
vectors, and each model with the mean of its words.
"""

from __future__ import annotations

from itertools import combinations

from models.experiments.columns import Column, columns
from models.experiments.declaration import (
    SIF_WORDS,
    WORDS,
    Encoder,
    Experiment,
    Note,
    PaperScale,
    Published,
    Row,
    Scale,
    Trained,
    Training,
    Untrained,
)
from models.experiments.published import models_of_others

TASK_TABLE, VIEW_TABLE, STUDY_TABLE = "A, table 1", "A, table 2", "A, table 3"

UMBC = PaperScale(
    "A",
    Scale(
        "UMBC 40M",
        sentences=40e6,
        vectors="GloVe, 300 wide; trained with the model, 300 wide",
        width=1200,
    ),
)
"""A, section Experiments; it leaves open how often it passes over the corpus."""
BOOKS = PaperScale("A", Scale("BookCorpus", sentences=74e6))
"""A, section Impact of the corpus choice."""
UNSAID = PaperScale("A", Scale(vectors="GloVe, 300 wide"))
"""Of what A quotes without a corpus: the random LSTM, whose words are those of Wieting & Kiela."""
SCALES = (UMBC, BOOKS, UNSAID)

# What is trained.

VIEWS = ("SEQ", "DEP", "CONST")


def structured(*views: str) -> Training:
    """Returns A's training of a pair of views."""
    return Training(",".join(views), "structured-views", views)


SINGLE_VIEWS = tuple(structured(view, view) for view in VIEWS)
PAIRS = tuple(structured(*pair) for pair in combinations(VIEWS, 2))
DEP_CONST = structured("DEP", "CONST")
WORDS_TRAINED = structured("LIN", "LIN")
"""The same objective over means of words: what it gives without any structure."""
QUICKTHOUGHTS = Training("QuickThoughts", "quickthoughts")
QUICKTHOUGHTS_ELSEWHERE = Training("QuickThoughts, second text", "quickthoughts", corpus="second")

# What is never trained. Weights start by A's scheme; the preset gives two directions and one view.
_UNTRAINED = {"init": "xavier"}
RANDOM_LSTM = Training("random LSTM", "B-D", ("SEQ",), {**_UNTRAINED, "seq_cell": "lstm"})
RANDOM_GRU = Training("random GRU", "B-D", ("SEQ",), _UNTRAINED)
RANDOM_BOW = Training("random BoW", "B-D", ("LIN",), _UNTRAINED)
"""Each word through one random matrix, as in BOREP of Wieting & Kiela 2019 (section 3.1)."""
RANDOM_VECTORS = Training(
    "random vectors",
    "B-D",
    ("BOW",),
    {"word_vectors": "trained", "trained_word_init": "uniform"},
)
"""Words that start at random and stay so, in place of trained ones."""
RANDOM_THROUGHOUT = Training(
    "DEP,CONST over random vectors",
    "structured-views",
    ("DEP", "CONST"),
    {"word_vectors": "trained"},
)

# What stands in several tables.

FIGURES = (
    *("MR", "CR", "SUBJ", "MPQA", "TREC", "MRPC", "MRPC F1"),
    *("SICK-R", "SICK-R rho", "SICK-R MSE"),
)
"""The columns of A's tables 1 and 3, in its order."""
SHORT_AVERAGE = "avg7 of accuracies and r"
RANDOM, WITH_WORDS = "random weights", "beside its words' mean"
MAX, MEAN = {"supervised_pooling": ["max"]}, {"supervised_pooling": ["mean"]}
LARGEST, AVERAGED = "largest state", "mean state"
"""How the states of a sentence's words become one vector where nothing is trained."""

AVERAGE_NOTE = Note(
    "avg7 is A's average: percent, the mean of a task's own figures first (100 − 100 MSE for the "
    "error), then the mean over the seven tasks. A's own rows give it to the printed digit for "
    "SEQ,CONST, SEQ,DEP and DEP,CONST; of its other three pairs it gives no single figures.",
    columns=("avg7",),
)
SHORT_NOTE = Note(
    f"{SHORT_AVERAGE} takes one figure a task, since A gives no more of most rows here; it is "
    "higher than avg7 by about 0.4 and does not stand beside A's averages.",
    columns=(SHORT_AVERAGE,),
)
_SIZE = (
    "A's models are 4,800 wide: two views of 1,200 over given words beside two over trained and "
    "expanded words."
)
UNNORMALISED_NOTE = (
    "Views go to the critic as they are, as published. The root of CONST is small beside that of "
    'DEP; --changes \'{"normalise": "batch_norm"}\' gives both one scale.'
)


def _columns(*further: str) -> tuple[Column, ...]:
    return columns(*further, *FIGURES, "dimensions")


def _words(*, group: str = "") -> tuple[Row, ...]:
    """Returns the means of the run's word vectors, plain and weighted."""
    return (
        Row("word vectors", WORDS, "mean", group),
        Row("word vectors", SIF_WORDS, "mean, SIF weights", group),
    )


# Table 2.


def _pair_rows(training: Training, group: str) -> tuple[Row, ...]:
    return (
        Row(training.name, Trained(training), group=group, published=Published(training.name)),
        Row(training.name, Trained(training), WITH_WORDS, group, {"join_words": True}),
        Row(training.name, Untrained(training), RANDOM, group),
    )


VIEW_PAIRS = Experiment(
    name="view-pairs",
    title="Pairs of views",
    tables=(VIEW_TABLE, TASK_TABLE),
    rows=(
        *(row for one in SINGLE_VIEWS for row in _pair_rows(one, "Single-view models")),
        *(row for one in PAIRS for row in _pair_rows(one, "Multi-view models")),
        Row("LIN,LIN", Trained(WORDS_TRAINED), "the same training without structure", "Words"),
        *_words(group="Words"),
    ),
    columns=_columns("avg7"),
    scales=SCALES,
    notes=(
        AVERAGE_NOTE,
        f"{_SIZE} Ours here are those over given words alone.",
        UNNORMALISED_NOTE,
    ),
)


# Table 1.

_OTHERS = {
    "Context sentences prediction": (
        *("FastSent", "FastSent + AE", "Skip-thought", "Skip-thought + LN"),
        "its framework is not built here",
    ),
    "Sentence relations prediction": (
        *("InferSent", "DisSent Books 5", "DisSent Books 8"),
        "trained with labels",
    ),
    "Pre-trained transformers": (
        *("BERT-base [CLS]", "BERT-base [NLI]"),
        "a transformer that others trained: treeviews evaluate scores a copy of yours",
    ),
}
"""Heading of A's table -> its models, and at the end why they are not here."""
_OURS = "A's models: words given, and words trained and expanded"


def _others(group: str) -> tuple[Row, ...]:
    *models, reason = _OTHERS[group]
    return models_of_others((TASK_TABLE,), dict.fromkeys(models, reason), group=group)


def _ensemble_row(training: Training, group: str) -> Row:
    encoder = Trained(training, words="ensemble")
    return Row(training.name, encoder, group=group, published=Published(training.name))


SENTEVAL_TABLE = Experiment(
    name="senteval",
    title="A's models on SentEval",
    tables=(TASK_TABLE,),
    rows=(
        *_others("Context sentences prediction"),
        _ensemble_row(QUICKTHOUGHTS, "Context sentences prediction"),
        *_others("Sentence relations prediction"),
        *_others("Pre-trained transformers"),
        *(_ensemble_row(one, _OURS) for one in PAIRS),
        *(Row(one.name, Untrained(one), RANDOM, _OURS) for one in PAIRS),
        *_words(group="Words"),
    ),
    columns=columns("avg7", *FIGURES, "dimensions", "hours"),
    scales=SCALES,
    notes=(
        AVERAGE_NOTE,
        _SIZE,
        "Random weights stand over given words alone, at half of the width.",
        "A took the figures of others from their publications, but for those of BERT on SICK-R.",
        "A's hours are those of a GTX 1080 Ti; it calls them indicative. FastSent is at most "
        "500 wide.",
    ),
)


# Table 3, the corpus.

CORPUS_CHOICE = Experiment(
    name="corpus-choice",
    title="QuickThoughts on another corpus",
    tables=(STUDY_TABLE,),
    rows=(
        Row(
            "QuickThoughts",
            Trained(QUICKTHOUGHTS),
            "on the given text",
            published=Published("QuickThoughts"),
        ),
        Row("QuickThoughts", Trained(QUICKTHOUGHTS_ELSEWHERE), "on the second text"),
        Row("QuickThoughts", Untrained(QUICKTHOUGHTS), RANDOM),
        *_words(),
    ),
    columns=_columns(SHORT_AVERAGE),
    scales=SCALES,
    notes=(
        SHORT_NOTE,
        "A's QuickThoughts are 4,800 wide, over given and over trained words; ours here is "
        "over given words alone.",
        "A compares 40 million sentences of UMBC with the published figures of 74 million of "
        "BookCorpus: corpus and size change together.",
    ),
)


# Table 3, the size.

WIDTHS = (768, 2048, 4096)
"""A goes from 768, the width of BERT-base, to 4,096."""
_SIZED: tuple[tuple[str, Encoder, str], ...] = (
    ("DEP,CONST", Trained(DEP_CONST), ""),
    ("DEP,CONST", Untrained(DEP_CONST), RANDOM),
    ("word vectors", WORDS, "mean"),
)
_BERT = ("BERT-base [CLS], trained again", "BERT-base [CLS], projected to 4096")


def _sized_rows(title: str, encoder: Encoder, taken: str) -> tuple[Row, ...]:
    """Returns an encoder as wide as it is, and projected to each of `WIDTHS`."""
    own = Row(title, encoder, taken, "As wide as it is")
    projected = (
        Row(
            title,
            encoder,
            ", ".join(filter(None, (taken, f"projected to {width:,}"))),
            f"{width:,} wide",
            {"project_to_width": width},
            seeded=("projection_seed",),
        )
        for width in WIDTHS
    )
    return (own, *projected)


_SIZED_ROWS = tuple(row for one in _SIZED for row in _sized_rows(*one))
_SIZED_GROUPS = dict.fromkeys(row.group for row in _SIZED_ROWS)

EMBEDDING_SIZE = Experiment(
    name="embedding-size",
    title="Size of an embedding, by random projection",
    tables=(STUDY_TABLE,),
    rows=(
        *(row for group in _SIZED_GROUPS for row in _SIZED_ROWS if row.group == group),
        *models_of_others(
            (STUDY_TABLE,),
            dict.fromkeys(_BERT, "a transformer that others trained"),
            group="A, from 768 to 4,096",
        ),
    ),
    columns=_columns(SHORT_AVERAGE),
    scales=SCALES,
    notes=(
        SHORT_NOTE,
        "A projection adds width and no information; below the encoder's own width it also loses "
        "information. Its entries are Glorot-uniform, after Wieting & Kiela 2019. Within a width "
        "the encoders are compared; down the widths the size's effect shows.",
        "Where there is an entry ± another, the second is over seeds of the model and of the "
        "projection together.",
    ),
)


# Table 3, training.


def _pooled(title: str, training: Training, *, published: Published | None = None) -> list[Row]:
    encoder, group = Untrained(training), "Random weights"
    return [
        Row(title, encoder, LARGEST, group, MAX, published=published),
        Row(title, encoder, AVERAGED, group, MEAN),
    ]


RANDOM_BASELINES = Experiment(
    name="random-baselines",
    title="Training against random weights",
    tables=(STUDY_TABLE,),
    rows=(
        Row(
            "DEP,CONST",
            Trained(DEP_CONST),
            group="Trained",
            published=Published("DEP,CONST"),
        ),
        Row("DEP,CONST", Untrained(DEP_CONST), RANDOM, "Random weights"),
        *_pooled("LSTM", RANDOM_LSTM, published=Published("random LSTM")),
        *_pooled("GRU", RANDOM_GRU),
        *_pooled("BoW", RANDOM_BOW),
        Row("vectors", Untrained(RANDOM_VECTORS), "mean", "Random words"),
        Row("DEP,CONST", Untrained(RANDOM_THROUGHOUT), "random weights and words", "Random words"),
        *_words(group="Given words"),
    ),
    columns=_columns(SHORT_AVERAGE),
    scales=SCALES,
    notes=(
        SHORT_NOTE,
        "A quotes its random LSTM from Wieting & Kiela 2019: two directions, 4,096 wide together, "
        "over GloVe's vectors. It has no figures of random BoW and random vectors.",
        "LSTM and GRU read both ways with weights that stay as they start (Xavier; Wieting & Kiela "
        "draw uniformly within 1/√H). BoW maps each word by one random matrix. Vectors is the mean "
        "of words whose own vectors were drawn at random.",
        "Where trained models are ensembles of two vocabularies in A, ours is over given words.",
    ),
)

EXPERIMENTS = (VIEW_PAIRS, SENTEVAL_TABLE, CORPUS_CHOICE, EMBEDDING_SIZE, RANDOM_BASELINES)
"""In the order of A's text."""
