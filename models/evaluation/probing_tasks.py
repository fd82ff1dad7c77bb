"""The derived tasks, declared: what is asked, how classes form; and those whose items are passages.

Discourse coherence (Chen et al. 2019, section 3) asks for text alone. A passage is some successive
sentences of one document, or of one held-out block of it. Every sentence that enough others follow
begins one, so passages overlap; whole documents go to one split, so none does so across splits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from treeviews.models.evaluation.probing_labels import (
    Candidate,
    by_rule,
    common_top_constituents,
    length_bins,
    object_number,
    subject_number,
    tense,
    tree_depths,
    word_content,
)
from treeviews.models.evaluation.probing_sentences import (
    ParsedSentence,
    ProbingConfig,
    stable_number,
)


class TooFewError(ValueError):
    """A corpus is too small for a derived task; says what there is too little of."""


Balance = Literal["equal", "even"]
SplitBy = Literal["document", "whole_document", "target_word"]
"""``document``: sentences by themselves where documents are too few for three splits;
``whole_document``: never."""


@dataclass(frozen=True, slots=True)
class DerivedTask:
    """One derived task; its behaviour stands in ``build``, once for all."""

    name: str
    evaluation_task: str
    """Name of the published task that it corresponds to, in `models.evaluation.task_registry`."""
    label_rule: str
    """How a sentence gets its label, in words."""
    candidates: Callable[[Sequence[ParsedSentence], ProbingConfig], list[Candidate]]
    """The sentences the task can use, labelled."""
    differs: str
    """How it differs from the published task; empty where it does not."""
    balance: Balance = "even"
    """``equal``: all classes cut to the rarest; ``even``: only the commonest are cut, to at most
    a fifth of a split, or one and a half equal shares where classes are few."""
    split_by: SplitBy = "document"
    any_length: bool = False
    """Whether sentences of any length are taken: a passage would break where one is left out."""
    finish: Callable[[Sequence[Candidate], str, ProbingConfig], list[Candidate]] | None = None
    """From the items of a split, and its name, to what they are written as, where that takes other
    documents of the same split; raises `TooFewError` where it has but one."""


COHERENT = 6
"""Sentences of a passage of discourse coherence; the first and the last are never replaced."""

Passage = tuple[ParsedSentence, ...]


def passages(sentences: Sequence[ParsedSentence], length: int) -> Iterator[Passage]:
    """Yields all runs of so many successive sentences of one unit of text.

    Args:
        sentences: in the order of the corpus; what is left out of it breaks a run.
    """
    run: list[ParsedSentence] = []
    for sentence in sentences:
        follows = run and (sentence.document_id, sentence.unit, sentence.sentence_index) == (
            run[-1].document_id,
            run[-1].unit,
            run[-1].sentence_index + 1,
        )
        run = [*run[1 - length :], sentence] if follows else [sentence]
        if len(run) == length:
            yield tuple(run)


def by_coherence(sentences: Sequence[ParsedSentence], config: ProbingConfig) -> list[Candidate]:
    """Labels passages of six ``coherent`` or ``incoherent``: those that are to have an intruder."""
    labels = ("coherent", "incoherent")
    return [
        Candidate(passage[0], labels[_drawn(config, "coherence", passage) % 2], further=passage[1:])
        for passage in passages(sentences, COHERENT)
    ]


def with_intruders(
    candidates: Sequence[Candidate], split: str, config: ProbingConfig
) -> list[Candidate]:
    """Returns the passages of a split, a sentence of the incoherent ones replaced.

    The second, third, fourth or fifth gives way to a sentence of another document among these
    passages, so that an intruder is no stranger to its split and nobody's elsewhere.

    Raises:
        TooFewError: the passages are of one document.
    """
    pool = sorted(
        {s.row: s for candidate in candidates for s in candidate.sentences}.values(),
        key=lambda s: (s.document_id, s.row),
    )
    places: dict[str, list[int]] = defaultdict(list)
    for place, sentence in enumerate(pool):
        places[sentence.document_id].append(place)
    if len(places) < 2:
        raise TooFewError(f"the {split} items are of one document, and two are needed")

    def finished(candidate: Candidate) -> Candidate:
        if candidate.label == "coherent":
            return candidate
        own = places[candidate.sentence.document_id]
        drawn = _drawn(config, "intruder", candidate.sentences) % (len(pool) - len(own))
        further = list(candidate.further)
        place = _drawn(config, "replaced", candidate.sentences) % (COHERENT - 2)
        further[place] = pool[drawn if drawn < own[0] else drawn + len(own)]
        return replace(candidate, further=tuple(further))

    return [finished(candidate) for candidate in candidates]


def _drawn(config: ProbingConfig, what: str, passage: Sequence[ParsedSentence]) -> int:
    texts = (" ".join(sentence.tokens) for sentence in passage)
    return stable_number(config.seed, what, *texts)


TASKS: tuple[DerivedTask, ...] = (
    DerivedTask(
        name="sentence_length",
        evaluation_task="SentLen",
        label_rule="number of tokens, in bins that are quantiles of the held-out sentences",
        candidates=length_bins,
        differs="bins are quantiles rather than fixed ranges",
    ),
    DerivedTask(
        name="word_content",
        evaluation_task="WC",
        label_rule="the only word of the set in the sentence; the set holds mid-frequency words",
        candidates=word_content,
        differs="a few dozen words rather than 1,000, as many as have enough sentences each",
    ),
    DerivedTask(
        name="tree_depth",
        evaluation_task="TreeDepth",
        label_rule="constituents on the longest path from the root to a word",
        candidates=tree_depths,
        differs="decorrelated from length by thinning cells of depth and length towards the "
        "product of their marginals, rather than by drawing from a Gaussian",
    ),
    DerivedTask(
        name="top_constituents",
        evaluation_task="TopConst",
        label_rule="sequence of labels below S: the most common ones, and one class for others",
        candidates=common_top_constituents,
        differs="classes as even as the data allows; rare sequences join the class of others",
    ),
    DerivedTask(
        name="tense",
        evaluation_task="Tense",
        label_rule="tag of the finite verb: VBD past, VBP or VBZ present; the root's first "
        "auxiliary or copula, else the root",
        candidates=by_rule(tense),
        differs="target verbs are not disjoint between splits, since auxiliaries, a handful of "
        "forms, are the target of most sentences",
        balance="equal",
    ),
    DerivedTask(
        name="subject_number",
        evaluation_task="SubjNum",
        label_rule="tag of the root's nsubj: NN, NNP singular; NNS, NNPS plural",
        candidates=by_rule(subject_number),
        differs="",
        balance="equal",
        split_by="target_word",
    ),
    DerivedTask(
        name="object_number",
        evaluation_task="ObjNum",
        label_rule="tag of the root's obj: NN, NNP singular; NNS, NNPS plural",
        candidates=by_rule(object_number),
        differs="",
        balance="equal",
        split_by="target_word",
    ),
    DerivedTask(
        name="discourse_coherence",
        evaluation_task="DC",
        label_rule="coherent, or incoherent: one of the second to the fifth of six successive "
        "sentences is of another document of the same split",
        candidates=by_coherence,
        finish=with_intruders,
        differs="documents of any text rather than Wikipedia and chats; passages may go on from "
        "one paragraph to the next; a logistic regression of |xi − xi+1| and xi ∗ xi+1, summed "
        "over neighbours, rather than a hidden layer of 2,000 over the six vectors: to a linear "
        "classifier of these no two sentences meet",
        balance="equal",
        split_by="whole_document",
        any_length=True,
    ),
)
