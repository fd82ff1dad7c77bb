"""Every evaluation task and its dataset, declared: names, protocols, citations, files, readers.

SentEval's tasks (Conneau & Kiela 2018, Conneau et al. 2018), and the one of DiscoEval that is
derived from any text (Chen et al. 2019). Where published data come from stands in
`pipeline.downloads.evaluation_data.sources`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.evaluation.evaluation_task import EvaluationTask, Protocol
from models.evaluation.senteval_format import (
    Encoding,
    Reader,
    benchmark_pair,
    binary_sentiment,
    graded_sentiment,
    paraphrase_pair,
    read_polarity,
    read_probing_file,
    read_sts,
    reader_of_lines,
    sick_pair,
    trec_question,
)
from pipeline.base.mistakes import did_you_mean
from pipeline.downloads.evaluation_data import SENTEVAL_SETS

TASKS_VERSION = 1
"""Raised when the same files would give other sentences, items or answers."""

_POLARITY = ("negative", "positive")
_GRADES = ("very negative", "negative", "neutral", "positive", "very positive")

_PANG_2004 = (
    "Pang and Lee 2004, A sentimental education: sentiment analysis using subjectivity "
    "summarization based on minimum cuts, ACL"
)
_PANG_2005 = (
    "Pang and Lee 2005, Seeing stars: exploiting class relationships for sentiment "
    "categorization with respect to rating scales, ACL"
)
_HU_2004 = "Hu and Liu 2004, Mining and summarizing customer reviews, KDD"
_WIEBE_2005 = (
    "Wiebe, Wilson and Cardie 2005, Annotating expressions of opinions and emotions in language, "
    "Language Resources and Evaluation"
)
_SOCHER_2013 = (
    "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment "
    "treebank, EMNLP"
)
_LI_2002 = "Li and Roth 2002, Learning question classifiers, COLING"
_DOLAN_2004 = (
    "Dolan, Quirk and Brockett 2004, Unsupervised construction of large paraphrase corpora: "
    "exploiting massively parallel news sources, COLING"
)
_MARELLI_2014 = (
    "Marelli et al. 2014, A SICK cure for the evaluation of compositional distributional "
    "semantic models, LREC"
)
_AGIRRE_2012 = (
    "Agirre et al. 2012, SemEval-2012 task 6: a pilot on semantic textual similarity, *SEM"
)
_AGIRRE_2013 = "Agirre et al. 2013, *SEM 2013 shared task: semantic textual similarity, *SEM"
_AGIRRE_2014 = (
    "Agirre et al. 2014, SemEval-2014 task 10: multilingual semantic textual similarity, SemEval"
)
_AGIRRE_2015 = (
    "Agirre et al. 2015, SemEval-2015 task 2: semantic textual similarity, English, Spanish and "
    "pilot on interpretability, SemEval"
)
_AGIRRE_2016 = (
    "Agirre et al. 2016, SemEval-2016 task 1: semantic textual similarity, monolingual and "
    "cross-lingual evaluation, SemEval"
)
_CER_2017 = (
    "Cer et al. 2017, SemEval-2017 task 1: semantic textual similarity multilingual and "
    "crosslingual focused evaluation, SemEval"
)
_CONNEAU_2018 = (
    "Conneau, Kruszewski, Lample, Barrault and Baroni 2018, What you can cram into a single "
    "$&!#* vector: Probing sentence embeddings for linguistic properties, ACL"
)
_CHEN_2019 = (
    "Chen, Chu and Gimpel 2019, Evaluation benchmarks and learning criteria for discourse-aware "
    "sentence representations, EMNLP"
)


def _sentences(
    name: str, protocol: Protocol, description: str, citation: str, classes: tuple[str, ...]
) -> EvaluationTask:
    return EvaluationTask(name, name, protocol, description, citation, classes)


SINGLE_SENTENCES = (
    _sentences(
        "MR", "nested_folds", "Sentiment of sentences from film reviews", _PANG_2005, _POLARITY
    ),
    _sentences(
        "CR",
        "nested_folds",
        "Sentiment of sentences from customers' product reviews",
        _HU_2004,
        _POLARITY,
    ),
    _sentences(
        "SUBJ",
        "nested_folds",
        "Sentences of reviews (subjective) or of plot summaries (objective)",
        _PANG_2004,
        ("subjective", "objective"),
    ),
    _sentences(
        "MPQA",
        "nested_folds",
        "Polarity of opinions in news, mostly short phrases",
        _WIEBE_2005,
        _POLARITY,
    ),
    _sentences(
        "SST2",
        "split",
        "Sentiment of film reviews, neutral ones left out; train holds phrases",
        _SOCHER_2013,
        _POLARITY,
    ),
    _sentences("SST5", "split", "Sentiment of film reviews in five grades", _SOCHER_2013, _GRADES),
    _sentences(
        "TREC",
        "folds",
        "Questions by the kind of their answer",
        _LI_2002,
        ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"),
    ),
)


def _pairs(
    name: str,
    dataset: str,
    protocol: Protocol,
    description: str,
    citation: str,
    classes: tuple[str, ...] = (),
) -> EvaluationTask:
    return EvaluationTask(name, dataset, protocol, description, citation, classes, "pair")


LEARNT_PAIRS = (
    EvaluationTask(
        "MRPC",
        "MRPC",
        "folds",
        "Whether two sentences from news are paraphrases",
        _DOLAN_2004,
        ("no paraphrase", "paraphrase"),
        "pair",
        scores_f1=True,
    ),
    _pairs(
        "SICK-R",
        "SICK",
        "relatedness",
        "How related two descriptions of scenes are, from 1 to 5",
        _MARELLI_2014,
    ),
    _pairs(
        "SICK-E",
        "SICK",
        "split",
        "Whether one description of a scene entails or contradicts another",
        _MARELLI_2014,
        ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
    ),
    _pairs(
        "STS-B",
        "STSBenchmark",
        "relatedness",
        "How similar two sentences are, from 0 to 5, learnt",
        _CER_2017,
    ),
)


def _sts(name: str, between: str, citation: str) -> EvaluationTask:
    return _pairs(name, name, "similarity", f"Similarity by cosine: {between}", citation)


SIMILARITIES = (
    _sts("STS12", "paraphrases, video descriptions, machine translation, glosses", _AGIRRE_2012),
    _sts("STS13", "headlines and glosses, without SMT as in SentEval", _AGIRRE_2013),
    _sts(
        "STS13-SMT", "headlines, glosses and machine translation, as first published", _AGIRRE_2013
    ),
    _sts("STS14", "forums, news, headlines, image descriptions, glosses, tweets", _AGIRRE_2014),
    _sts(
        "STS15", "forums, students' answers, beliefs, headlines, image descriptions", _AGIRRE_2015
    ),
    _sts("STS16", "answers, headlines, plagiarism, post-editing, questions", _AGIRRE_2016),
    _pairs(
        "SICK14",
        "SICK",
        "similarity",
        "Relatedness of two descriptions of scenes by cosine, on SICK's test split",
        _MARELLI_2014,
    ),
    _pairs(
        "STS-B-cosine",
        "STSBenchmark",
        "similarity",
        "Similarity of two sentences by cosine, on STS-B's test split",
        _CER_2017,
    ),
)


def _probing(name: str, dataset: str, description: str) -> EvaluationTask:
    return EvaluationTask(name, dataset, "split", description, _CONNEAU_2018)


PROBING = (
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

DISCOURSE = (
    EvaluationTask(
        "DC",
        "discourse_coherence",
        "split",
        "Whether one of six sentences was replaced by one of another text",
        _CHEN_2019,
        features="passage",
    ),
)
"""Of DiscoEval, derived from a corpus alone: SentEval's data do not hold it."""

TASKS = (*SINGLE_SENTENCES, *LEARNT_PAIRS, *SIMILARITIES, *PROBING, *DISCOURSE)
DERIVED = tuple(
    task for task in (*PROBING, *DISCOURSE) if task.name not in ("BShift", "SOMO", "CoordInv")
)
"""Those that are derived from any corpus: the others of probing alter sentences."""

SENTEVAL_NAMES: Mapping[str, str] = {
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
"""What SentEval's code calls a task -> its name in papers, where these differ."""


def task_named(name: str) -> EvaluationTask:
    """Returns a task by its name in papers or in SentEval's code, in upper or lower case.

    Raises:
        ValueError: no such task; lists the known ones.
    """
    names = {ours.lower(): ours for ours in (task.name for task in TASKS)}
    names |= {theirs.lower(): ours for theirs, ours in SENTEVAL_NAMES.items()}
    for task in TASKS:
        if task.name == names.get(name.strip().lower()):
            return task
    known = [task.name for task in TASKS]
    raise ValueError(
        f"no evaluation task is named {name!r}{did_you_mean(name, known=known)}; known "
        f"are {', '.join(known)}"
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


@dataclass(frozen=True, slots=True)
class Dataset:
    """The files of one dataset, and who reads them."""

    files: Mapping[str, str]
    """What a file is to the reader -> its path within SentEval's ``data`` folder."""
    read: Reader
    encoding: Encoding = "utf-8"


_PUBLISHED = {dataset.name: [file.path for file in dataset.files] for dataset in SENTEVAL_SETS}
_PUBLISHED["SUBJ"].reverse()  # is declared with the subjective half, here the negative one, first


def _published(name: str, read: Reader, roles: str, encoding: Encoding = "utf-8") -> Dataset:
    """Returns a dataset whose files, in the order in which they are declared, have these roles."""
    return Dataset(dict(zip(roles.split(), _PUBLISHED[name], strict=True)), read, encoding)


STS_SUBSETS: Mapping[str, tuple[str, ...]] = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS13-SMT": ("FNWN", "headlines", "OnWN", "SMT"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
"""Subsets of each year in SentEval's order. STS13's SMT is licensed by the LDC and SentEval leaves
it out; where it is at hand it stands beside the others."""


def _sts_files(name: str) -> Dataset:
    folder = f"downstream/STS/{name.removesuffix('-SMT')}-en-test"
    roles = [f"{part}.{subset}" for subset in STS_SUBSETS[name] for part in ("input", "gs")]
    return Dataset({role: f"{folder}/STS.{role}.txt" for role in roles}, read_sts)


_THREE = "train dev test"

DATASETS: Mapping[str, Dataset] = {
    **{
        name: _published(name, read_polarity, "positive negative", "latin-1")
        for name in ("MR", "CR", "SUBJ", "MPQA")
    },
    "SST2": _published("SST2", reader_of_lines(binary_sentiment), _THREE),
    "SST5": _published("SST5", reader_of_lines(graded_sentiment), _THREE),
    "TREC": _published("TREC", reader_of_lines(trec_question), "train test", "latin-1"),
    "MRPC": _published("MRPC", reader_of_lines(paraphrase_pair, "Quality"), "train test"),
    "SICK": _published("SICK", reader_of_lines(sick_pair, "pair_ID"), _THREE),
    "STSBenchmark": _published("STSBenchmark", reader_of_lines(benchmark_pair), _THREE),
    **{name: _sts_files(name) for name in STS_SUBSETS},
    # Discourse coherence stands beside SentEval's probing tasks, so that all that are derived from
    # a corpus share their sentences.
    **{
        task.dataset: Dataset({"all": f"probing/{task.dataset}.txt"}, read_probing_file)
        for task in (*PROBING, *DISCOURSE)
    },
}
"""Declared dataset, as ``EvaluationTask.dataset`` names it -> its files."""
