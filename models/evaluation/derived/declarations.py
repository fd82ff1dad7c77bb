"""The derived tasks, declared: what is asked, how classes form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from models.evaluation.derived import classes, passages
from models.evaluation.derived.classes import Candidate
from models.evaluation.derived.held_out.config import ProbingConfig
from models.evaluation.derived.held_out.held_out_rows import ParsedSentence

Balance = Literal["equal", "even"]
SplitBy = Literal["document", "whole_document", "target_word"]
"""``document``: sentences by themselves where documents are too few for three splits;
``whole_document``: never."""


@dataclass(frozen=True, slots=True)
class DerivedTask:
    """One derived task; its behaviour stands in ``build``, once for all."""

    name: str
    evaluation_task: str
    """Name of the published task that it corresponds to, in ``models.evaluation.tasks``."""
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
    finish: Callable[[Sequence[Candidate], ProbingConfig], list[Candidate] | None] | None = None
    """From the items of a split to what they are written as, where that takes other documents of
    the same split; gives None where it has but one."""


TASKS: tuple[DerivedTask, ...] = (
    DerivedTask(
        name="sentence_length",
        evaluation_task="SentLen",
        label_rule="number of tokens, in bins that are quantiles of the held-out sentences",
        candidates=classes.length_bins,
        differs="bins are quantiles rather than fixed ranges",
    ),
    DerivedTask(
        name="word_content",
        evaluation_task="WC",
        label_rule="the only word of the set in the sentence; the set holds mid-frequency words",
        candidates=classes.word_content,
        differs="a few dozen words rather than 1,000, as many as have enough sentences each",
    ),
    DerivedTask(
        name="tree_depth",
        evaluation_task="TreeDepth",
        label_rule="constituents on the longest path from the root to a word",
        candidates=classes.tree_depths,
        differs="decorrelated from length by thinning cells of depth and length towards the "
        "product of their marginals, rather than by drawing from a Gaussian",
    ),
    DerivedTask(
        name="top_constituents",
        evaluation_task="TopConst",
        label_rule="sequence of labels below S: the most common ones, and one class for others",
        candidates=classes.common_top_constituents,
        differs="classes as even as the data allows; rare sequences join the class of others",
    ),
    DerivedTask(
        name="tense",
        evaluation_task="Tense",
        label_rule="tag of the finite verb: VBD past, VBP or VBZ present; the root's first "
        "auxiliary or copula, else the root",
        candidates=classes.by_rule(classes.tense),
        differs="target verbs are not disjoint between splits, since auxiliaries, a handful of "
        "forms, are the target of most sentences",
        balance="equal",
    ),
    DerivedTask(
        name="subject_number",
        evaluation_task="SubjNum",
        label_rule="tag of the root's nsubj: NN, NNP singular; NNS, NNPS plural",
        candidates=classes.by_rule(classes.subject_number),
        differs="",
        balance="equal",
        split_by="target_word",
    ),
    DerivedTask(
        name="object_number",
        evaluation_task="ObjNum",
        label_rule="tag of the root's obj: NN, NNP singular; NNS, NNPS plural",
        candidates=classes.by_rule(classes.object_number),
        differs="",
        balance="equal",
        split_by="target_word",
    ),
    DerivedTask(
        name="discourse_coherence",
        evaluation_task="DC",
        label_rule="coherent, or incoherent: one of the second to the fifth of six successive "
        "sentences is of another document of the same split",
        candidates=passages.by_coherence,
        finish=passages.with_intruders,
        differs="documents of any text rather than Wikipedia and chats; passages may go on from "
        "one paragraph to the next; a logistic regression of |xi − xi+1| and xi ∗ xi+1, summed "
        "over neighbours, rather than a hidden layer of 2,000 over the six vectors: to a linear "
        "classifier of these no two sentences meet",
        balance="equal",
        split_by="whole_document",
        any_length=True,
    ),
)


def in_declared_order(names: Iterable[str]) -> list[str]:
    """Returns task names in the order of their declarations, unknown ones last."""
    declared = [task.name for task in TASKS]
    found = set(names)
    return [*(name for name in declared if name in found), *sorted(found - set(declared))]
