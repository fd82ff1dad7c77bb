"""All tasks of SentEval, declared (Conneau & Kiela 2018, Conneau et al. 2018), and the one of
DiscoEval that is derived from any text (Chen et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from models.evaluation.tasks.task import EvaluationTask
from pipeline.base.mistakes import did_you_mean

_NEGATIVE_POSITIVE = ("negative", "positive")
_MARELLI = (
    "Marelli et al. 2014, A SICK cure for the evaluation of compositional distributional "
    "semantic models, LREC"
)
_SOCHER = (
    "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment "
    "treebank, EMNLP"
)
_CER = (
    "Cer et al. 2017, SemEval-2017 task 1: semantic textual similarity multilingual and "
    "crosslingual focused evaluation, SemEval"
)
CONNEAU_2018 = (
    "Conneau, Kruszewski, Lample, Barrault and Baroni 2018, What you can cram into a single "
    "$&!#* vector: Probing sentence embeddings for linguistic properties, ACL"
)
CHEN_2019 = (
    "Chen, Chu and Gimpel 2019, Evaluation benchmarks and learning criteria for discourse-aware "
    "sentence representations, EMNLP"
)

SINGLE_SENTENCES: tuple[EvaluationTask, ...] = (
    EvaluationTask(
        name="MR",
        dataset="MR",
        protocol="nested_folds",
        description="Sentiment of sentences from film reviews",
        citation="Pang and Lee 2005, Seeing stars: exploiting class relationships for sentiment "
        "categorization with respect to rating scales, ACL",
        classes=_NEGATIVE_POSITIVE,
    ),
    EvaluationTask(
        name="CR",
        dataset="CR",
        protocol="nested_folds",
        description="Sentiment of sentences from customers' product reviews",
        citation="Hu and Liu 2004, Mining and summarizing customer reviews, KDD",
        classes=_NEGATIVE_POSITIVE,
    ),
    EvaluationTask(
        name="SUBJ",
        dataset="SUBJ",
        protocol="nested_folds",
        description="Sentences of reviews (subjective) or of plot summaries (objective)",
        citation="Pang and Lee 2004, A sentimental education: sentiment analysis using "
        "subjectivity summarization based on minimum cuts, ACL",
        classes=("subjective", "objective"),
    ),
    EvaluationTask(
        name="MPQA",
        dataset="MPQA",
        protocol="nested_folds",
        description="Polarity of opinions in news, mostly short phrases",
        citation="Wiebe, Wilson and Cardie 2005, Annotating expressions of opinions and emotions "
        "in language, Language Resources and Evaluation",
        classes=_NEGATIVE_POSITIVE,
    ),
    EvaluationTask(
        name="SST2",
        dataset="SST2",
        protocol="split",
        description="Sentiment of film reviews, neutral ones left out; train holds phrases",
        citation=_SOCHER,
        classes=_NEGATIVE_POSITIVE,
    ),
    EvaluationTask(
        name="SST5",
        dataset="SST5",
        protocol="split",
        description="Sentiment of film reviews in five grades",
        citation=_SOCHER,
        classes=("very negative", "negative", "neutral", "positive", "very positive"),
    ),
    EvaluationTask(
        name="TREC",
        dataset="TREC",
        protocol="folds",
        description="Questions by the kind of their answer",
        citation="Li and Roth 2002, Learning question classifiers, COLING",
        classes=("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"),
    ),
)

LEARNT_PAIRS: tuple[EvaluationTask, ...] = (
    EvaluationTask(
        name="MRPC",
        dataset="MRPC",
        protocol="folds",
        description="Whether two sentences from news are paraphrases",
        citation="Dolan, Quirk and Brockett 2004, Unsupervised construction of large paraphrase "
        "corpora: exploiting massively parallel news sources, COLING",
        classes=("no paraphrase", "paraphrase"),
        features="pair",
        scores_f1=True,
    ),
    EvaluationTask(
        name="SICK-R",
        dataset="SICK",
        protocol="relatedness",
        description="How related two descriptions of scenes are, from 1 to 5",
        citation=_MARELLI,
        features="pair",
    ),
    EvaluationTask(
        name="SICK-E",
        dataset="SICK",
        protocol="split",
        description="Whether one description of a scene entails or contradicts another",
        citation=_MARELLI,
        classes=("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
        features="pair",
    ),
    EvaluationTask(
        name="STS-B",
        dataset="STSBenchmark",
        protocol="relatedness",
        description="How similar two sentences are, from 0 to 5, learnt",
        citation=_CER,
        features="pair",
    ),
)


def _similarity(name: str, dataset: str, description: str, citation: str) -> EvaluationTask:
    return EvaluationTask(name, dataset, "similarity", description, citation, features="pair")


SIMILARITIES: tuple[EvaluationTask, ...] = (
    _similarity(
        "STS12",
        "STS12",
        "Similarity by cosine: paraphrases, video descriptions, machine translation, glosses",
        "Agirre et al. 2012, SemEval-2012 task 6: a pilot on semantic textual similarity, *SEM",
    ),
    _similarity(
        "STS13",
        "STS13",
        "Similarity by cosine: headlines and glosses, without SMT as in SentEval",
        "Agirre et al. 2013, *SEM 2013 shared task: semantic textual similarity, *SEM",
    ),
    _similarity(
        "STS13-SMT",
        "STS13-SMT",
        "Similarity by cosine: headlines, glosses and machine translation, as first published",
        "Agirre et al. 2013, *SEM 2013 shared task: semantic textual similarity, *SEM",
    ),
    _similarity(
        "STS14",
        "STS14",
        "Similarity by cosine: forums, news, headlines, image descriptions, glosses, tweets",
        "Agirre et al. 2014, SemEval-2014 task 10: multilingual semantic textual similarity, "
        "SemEval",
    ),
    _similarity(
        "STS15",
        "STS15",
        "Similarity by cosine: forums, students' answers, beliefs, headlines, image descriptions",
        "Agirre et al. 2015, SemEval-2015 task 2: semantic textual similarity, English, Spanish "
        "and pilot on interpretability, SemEval",
    ),
    _similarity(
        "STS16",
        "STS16",
        "Similarity by cosine: answers, headlines, plagiarism, post-editing, questions",
        "Agirre et al. 2016, SemEval-2016 task 1: semantic textual similarity, monolingual and "
        "cross-lingual evaluation, SemEval",
    ),
    _similarity(
        "SICK14",
        "SICK",
        "Relatedness of two descriptions of scenes by cosine, on SICK's test split",
        _MARELLI,
    ),
    _similarity(
        "STS-B-cosine",
        "STSBenchmark",
        "Similarity of two sentences by cosine, on STS-B's test split",
        _CER,
    ),
)


def _probing(name: str, dataset: str, description: str) -> EvaluationTask:
    return EvaluationTask(name, dataset, "split", description, CONNEAU_2018)


PROBING: tuple[EvaluationTask, ...] = (
    _probing("SentLen", "sentence_length", "The sentence's length, in six bins"),
    _probing("WC", "word_content", "Which of 1,000 words the sentence contains"),
    _probing("TreeDepth", "tree_depth", "Depth of the constituency tree"),
    _probing("TopConst", "top_constituents", "Constituents right below the top S"),
    _probing("BShift", "bigram_shift", "Whether two adjacent words were swapped"),
    _probing("Tense", "past_present", "Tense of the main verb"),
    _probing("SubjNum", "subj_number", "Number of the main clause's subject"),
    _probing("ObjNum", "obj_number", "Number of the main clause's direct object"),
    _probing("SOMO", "odd_man_out", "Whether a noun or verb was replaced by another"),
    _probing("CoordInv", "coordination_inversion", "Whether two joined clauses were swapped"),
)


DISCOURSE: tuple[EvaluationTask, ...] = (
    EvaluationTask(
        "DC",
        "discourse_coherence",
        "split",
        "Whether one of six sentences was replaced by one of another text",
        CHEN_2019,
        features="passage",
    ),
)
"""Of DiscoEval, derived from a corpus alone: SentEval's data do not hold it."""

TASKS_VERSION = 1
"""Raised when the same files would give other sentences, items or answers."""

_OF_ALTERED_SENTENCES = ("BShift", "SOMO", "CoordInv")
DERIVED: tuple[EvaluationTask, ...] = (
    *(task for task in PROBING if task.name not in _OF_ALTERED_SENTENCES),
    *DISCOURSE,
)
"""Those that are derived from any corpus."""
TASKS: tuple[EvaluationTask, ...] = (
    *SINGLE_SENTENCES,
    *LEARNT_PAIRS,
    *SIMILARITIES,
    *PROBING,
    *DISCOURSE,
)

SENTEVAL_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "SICKRelatedness": "SICK-R",
        "SICKEntailment": "SICK-E",
        "STSBenchmark": "STS-B",
        "Length": "SentLen",
        "WordContent": "WC",
        "Depth": "TreeDepth",
        "TopConstituents": "TopConst",
        "BigramShift": "BShift",
        "OddManOut": "SOMO",
        "CoordinationInversion": "CoordInv",
    }
)
"""What SentEval's code calls a task -> its name in papers, where these differ."""

_BY_NAME = {task.name.lower(): task for task in TASKS}
_BY_NAME |= {theirs.lower(): _BY_NAME[ours.lower()] for theirs, ours in SENTEVAL_NAMES.items()}


def task_named(name: str) -> EvaluationTask:
    """Returns a task by its name in papers or in SentEval's code, in upper or lower case.

    Raises:
        ValueError: no such task; lists the known ones.
    """
    task = _BY_NAME.get(name.strip().lower())
    if task is not None:
        return task
    names = [task.name for task in TASKS]
    raise ValueError(
        f"no evaluation task is named {name!r}{did_you_mean(name, known=names)}; known "
        f"are {', '.join(names)}"
    )


def tasks_named(names: str, *, derived: bool = False) -> tuple[EvaluationTask, ...]:
    """Returns the tasks of a comma-separated list, each once, or all of them for ``all``.

    Args:
        derived: whether the data are derived from a corpus, which have other tasks than
            SentEval's own.

    Raises:
        ValueError: a task that does not exist, or no name at all.
    """
    if names.strip().lower() == "all":
        others = set(PROBING) - set(DERIVED) if derived else set(DISCOURSE)
        return tuple(task for task in TASKS if task not in others)
    return tuple(dict.fromkeys(task_named(name) for name in names.split(",")))
