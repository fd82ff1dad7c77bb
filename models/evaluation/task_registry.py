"""Every evaluation task and its dataset, declared: names, protocols, citations, files, readers.

SentEval's tasks (Conneau & Kiela 2018, Conneau et al. 2018), and the one of DiscoEval that is
derived from any text (Chen et al. 2019). Where published data come from stands in
``pipeline/downloads/senteval_files.tsv``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from treeviews.models.evaluation.evaluation_task import EvaluationTask, Features, Protocol
from treeviews.models.evaluation.senteval_format import (
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
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.downloads.senteval_data import SENTEVAL_SETS

TASKS_VERSION = 1
"""Raised when the same files would give other sentences, items or answers."""

_CITATIONS = """
Pang 2004: Pang and Lee 2004, A sentimental education: sentiment analysis using subjectivity
    summarization based on minimum cuts, ACL
Pang 2005: Pang and Lee 2005, Seeing stars: exploiting class relationships for sentiment
    categorization with respect to rating scales, ACL
Hu 2004: Hu and Liu 2004, Mining and summarizing customer reviews, KDD
Wiebe 2005: Wiebe, Wilson and Cardie 2005, Annotating expressions of opinions and emotions in
    language, Language Resources and Evaluation
Socher 2013: Socher et al. 2013, Recursive deep models for semantic compositionality over a
    sentiment treebank, EMNLP
Li 2002: Li and Roth 2002, Learning question classifiers, COLING
Dolan 2004: Dolan, Quirk and Brockett 2004, Unsupervised construction of large paraphrase corpora:
    exploiting massively parallel news sources, COLING
Marelli 2014: Marelli et al. 2014, A SICK cure for the evaluation of compositional distributional
    semantic models, LREC
Agirre 2012: Agirre et al. 2012, SemEval-2012 task 6: a pilot on semantic textual similarity, *SEM
Agirre 2013: Agirre et al. 2013, *SEM 2013 shared task: semantic textual similarity, *SEM
Agirre 2014: Agirre et al. 2014, SemEval-2014 task 10: multilingual semantic textual similarity,
    SemEval
Agirre 2015: Agirre et al. 2015, SemEval-2015 task 2: semantic textual similarity, English,
    Spanish and pilot on interpretability, SemEval
Agirre 2016: Agirre et al. 2016, SemEval-2016 task 1: semantic textual similarity, monolingual and
    cross-lingual evaluation, SemEval
Cer 2017: Cer et al. 2017, SemEval-2017 task 1: semantic textual similarity multilingual and
    crosslingual focused evaluation, SemEval
Conneau 2018: Conneau, Kruszewski, Lample, Barrault and Baroni 2018, What you can cram into a
    single $&!#* vector: Probing sentence embeddings for linguistic properties, ACL
Chen 2019: Chen, Chu and Gimpel 2019, Evaluation benchmarks and learning criteria for
    discourse-aware sentence representations, EMNLP
"""

_DECLARED = """
MR: MR, nested_folds, sentence, Pang 2005, negative/positive
    Sentiment of sentences from film reviews
CR: CR, nested_folds, sentence, Hu 2004, negative/positive
    Sentiment of sentences from customers' product reviews
SUBJ: SUBJ, nested_folds, sentence, Pang 2004, subjective/objective
    Sentences of reviews (subjective) or of plot summaries (objective)
MPQA: MPQA, nested_folds, sentence, Wiebe 2005, negative/positive
    Polarity of opinions in news, mostly short phrases
SST2: SST2, split, sentence, Socher 2013, negative/positive
    Sentiment of film reviews, neutral ones left out; train holds phrases
SST5: SST5, split, sentence, Socher 2013, very negative/negative/neutral/positive/very positive
    Sentiment of film reviews in five grades
TREC: TREC, folds, sentence, Li 2002, ABBR/DESC/ENTY/HUM/LOC/NUM
    Questions by the kind of their answer
MRPC: MRPC, folds, pair, Dolan 2004, no paraphrase/paraphrase
    Whether two sentences from news are paraphrases
SICK-R (SICKRelatedness): SICK, relatedness, pair, Marelli 2014
    How related two descriptions of scenes are, from 1 to 5
SICK-E (SICKEntailment): SICK, split, pair, Marelli 2014, CONTRADICTION/NEUTRAL/ENTAILMENT
    Whether one description of a scene entails or contradicts another
STS-B (STSBenchmark): STSBenchmark, relatedness, pair, Cer 2017
    How similar two sentences are, from 0 to 5, learnt
STS12: STS12, similarity, pair, Agirre 2012
    Similarity by cosine: paraphrases, video descriptions, machine translation, glosses
STS13: STS13, similarity, pair, Agirre 2013
    Similarity by cosine: headlines and glosses, without SMT as in SentEval
STS13-SMT: STS13-SMT, similarity, pair, Agirre 2013
    Similarity by cosine: headlines, glosses and machine translation, as first published
STS14: STS14, similarity, pair, Agirre 2014
    Similarity by cosine: forums, news, headlines, image descriptions, glosses, tweets
STS15: STS15, similarity, pair, Agirre 2015
    Similarity by cosine: forums, students' answers, beliefs, headlines, image descriptions
STS16: STS16, similarity, pair, Agirre 2016
    Similarity by cosine: answers, headlines, plagiarism, post-editing, questions
SICK14: SICK, similarity, pair, Marelli 2014
    Relatedness of two descriptions of scenes by cosine, on SICK's test split
STS-B-cosine: STSBenchmark, similarity, pair, Cer 2017
    Similarity of two sentences by cosine, on STS-B's test split
SentLen (Length): sentence_length, split, sentence, Conneau 2018
    The sentence's length, in six bins
WC (WordContent): word_content, split, sentence, Conneau 2018
    Which of 1,000 words the sentence contains
TreeDepth (Depth): tree_depth, split, sentence, Conneau 2018
    Depth of the constituency tree
TopConst (TopConstituents): top_constituents, split, sentence, Conneau 2018
    Constituents right below the top S
BShift (BigramShift): bigram_shift, split, sentence, Conneau 2018
    Whether two adjacent words were swapped
Tense: past_present, split, sentence, Conneau 2018
    Tense of the main verb
SubjNum: subj_number, split, sentence, Conneau 2018
    Number of the main clause's subject
ObjNum: obj_number, split, sentence, Conneau 2018
    Number of the main clause's direct object
SOMO (OddManOut): odd_man_out, split, sentence, Conneau 2018
    Whether a noun or verb was replaced by another
CoordInv (CoordinationInversion): coordination_inversion, split, sentence, Conneau 2018
    Whether two joined clauses were swapped
DC: discourse_coherence, split, passage, Chen 2019
    Whether one of six sentences was replaced by one of another text
"""
"""Name (and what SentEval's code calls it, where that differs): dataset, protocol, features and
citation of each task, and its classes by their numbers where the files do not decide them; then
what it asks."""


def _declared() -> Iterator[tuple[str, EvaluationTask]]:
    """Yields each task with its name in SentEval's code, empty where that is the same."""
    entries = _CITATIONS.strip().replace("\n    ", " ").splitlines()
    citations = dict(entry.split(": ", 1) for entry in entries)
    for entry in _DECLARED.strip().replace("\n    ", ": ").splitlines():
        names, fields, description = entry.split(": ", 2)
        name, _, in_senteval = names.rstrip(")").partition(" (")
        dataset, protocol, features, citation, *classes = fields.split(", ")
        yield (
            in_senteval,
            EvaluationTask(
                name=name,
                dataset=dataset,
                protocol=cast(Protocol, protocol),
                description=description,
                citation=citations[citation],
                classes=tuple(classes[0].split("/")) if classes else (),
                features=cast(Features, features),
                scores_f1=name == "MRPC",
            ),
        )


TASKS = tuple(task for _, task in _declared())
SENTEVAL_NAMES = {in_senteval: task.name for in_senteval, task in _declared() if in_senteval}
"""What SentEval's code calls a task -> its name in papers, where these differ."""
PROBING = tuple(task for task in TASKS if task.citation.startswith("Conneau"))
DISCOURSE = tuple(task for task in TASKS if task.features == "passage")
"""Of DiscoEval, derived from a corpus alone: SentEval's data do not hold it."""
DERIVED = tuple(
    task for task in (*PROBING, *DISCOURSE) if task.name not in ("BShift", "SOMO", "CoordInv")
)
"""Those that are derived from any corpus: the others of probing alter sentences."""


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


def _sts_files(year: str, *further: str) -> Dataset:
    """Returns a year's subsets, and further ones, in SentEval's order: of their names as words."""
    folder = f"downstream/STS/{year}-en-test/STS."
    roles = [path.removeprefix(folder).removesuffix(".txt") for path in _PUBLISHED[year]]
    ordered = sorted([*roles, *further], key=lambda role: role.partition(".")[2].lower())
    return Dataset({role: f"{folder}{role}.txt" for role in ordered}, read_sts)


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
    **{f"STS{year}": _sts_files(f"STS{year}") for year in range(12, 17)},
    # SMT is licensed by the LDC, and SentEval leaves it out.
    "STS13-SMT": _sts_files("STS13", "input.SMT", "gs.SMT"),
    # Discourse coherence stands beside SentEval's probing tasks, so that all that are derived from
    # a corpus share their sentences.
    **{
        task.dataset: Dataset({"all": f"probing/{task.dataset}.txt"}, read_probing_file)
        for task in (*PROBING, *DISCOURSE)
    },
}
"""Declared dataset, as ``EvaluationTask.dataset`` names it -> its files."""
