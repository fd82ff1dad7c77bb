"""What MTEB answered to a task's items, as predictions that can be scored and resampled here.

MTEB gives a score; beside it, it can save what the encoder answered. Of these answers, by the kind
of the task, the items of the bootstrap are

- STS: pairs, each with its cosine, as SentEval's;
- pair classification: pairs, each with the likeness by the one of MTEB's five functions whose
  average precision is the highest, which is what its ``max_ap`` is;
- classification: test texts, each with the share of MTEB's ten experiments (classifiers fitted on
  a few examples a class) that answer it rightly. The interval is about other test texts, as that
  of our own classifiers, not about other examples to learn from;
- retrieval and reranking: queries, each with its own figure;
- clustering: MTEB's sets, or the ten samples that it draws of newer tasks' texts;
- anything else, and other scores than these: experiments where MTEB repeats them, else subsets.

Groups are the subsets and splits of a task, over which MTEB takes the mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.evaluation.protocols.outcome import Predictions
from models.evaluation.statistics.weighted_scores import RankedPairs
from models.evaluation.tasks.task import Protocol

FloatArray = npt.NDArray[np.float64]

_LIKENESS: Mapping[str, float] = {
    "cosine_scores": 1.0,
    "similarity_scores": 1.0,
    "dot_scores": 1.0,
    "euclidean_distances": -1.0,
    "manhattan_distances": -1.0,
}
"""What MTEB calls the values of its functions of two vectors; of a distance less is likelier."""
_OF_QUERIES = {
    "ndcg_at_": "ndcg_cut_",
    "map_at_": "map_cut_",
    "recall_at_": "recall_",
    "precision_at_": "P_",
    "hit_rate_at_": "success_",
}
"""What MTEB calls a score -> what its evaluator calls it of one query."""


@dataclass(frozen=True, slots=True)
class Group:
    """One split of one subset, as MTEB scored it."""

    name: str
    split: str
    scores: Mapping[str, Any]
    """MTEB's, by its names; ``main_score`` is one of them."""
    answers: Any
    """What it saved; its form is that of the kind of task."""
    data: Any
    """The split's items, as MTEB loaded them."""
    of_queries: Mapping[str, Mapping[str, float]]
    """Figures of each query, where the task has queries."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """The items of a group, their answers and what is right."""

    predicted: FloatArray
    gold: FloatArray
    drawn: str
    """What the items are, in words."""


def recording_queries(task: Any) -> dict[tuple[str, str], Mapping[str, Mapping[str, float]]]:
    """Lets a task of retrieval or reranking keep what it finds out of each query.

    Returns:
        What it will have kept, by subset and split; empty of other tasks.
    """
    kept: dict[tuple[str, str], Mapping[str, Mapping[str, float]]] = {}
    own: Callable[..., dict[str, float]] | None = getattr(task, "task_specific_scores", None)
    if own is not None:

        def keep(scores: Any, *given: Any, hf_split: str, hf_subset: str) -> dict[str, float]:
            kept[hf_subset, hf_split] = scores
            return own(scores, *given, hf_split=hf_split, hf_subset=hf_subset)

        task.task_specific_scores = keep
    return kept


def groups_of(
    task: Any,
    scores: Mapping[str, Sequence[Mapping[str, Any]]],
    saved: Path,
    of_queries: Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]],
) -> list[Group]:
    """Returns the subsets and splits of a task that MTEB has scored, in its order.

    Args:
        scores: MTEB's, by split.
        saved: the file of its predictions.
        of_queries: what `recording_queries` has kept.
    """
    answers = json.loads(saved.read_text(encoding="utf-8")) if saved.is_file() else {}
    several = len(scores) > 1
    found = []
    for split, entries in scores.items():
        for entry in entries:
            subset = entry["hf_subset"]
            kept = answers.get(subset, {}).get(split)
            name = f"{subset} {split}" if several else str(subset)
            queries = of_queries.get((subset, split), {})
            data = split_of(task, subset, split)
            found.append(Group(name, split, entry, kept, data, queries))
    return found


def split_of(task: Any, subset: str, split: str) -> Any:
    """Returns the items of a split as MTEB loaded them."""
    return task.dataset.get(subset, task.dataset)[split]


def protocol_of(task: Any) -> Protocol:
    """Returns how the answers to a task are scored here."""
    kind, score = task.metadata.type, task.metadata.main_score
    if kind == "STS" and score == "cosine_spearman":
        return "similarity"
    return "ranked_pairs" if kind == "PairClassification" and score == "max_ap" else "figures"


def score_of(task: Any) -> str:
    """Returns what the main score is called here."""
    return "spearman_mean" if protocol_of(task) == "similarity" else str(task.metadata.main_score)


def predictions_of(task: Any, groups: Sequence[Group]) -> tuple[Predictions, str]:
    """Returns the answers to all items and what these are, in words.

    Raises:
        ValueError: MTEB's answers are not of the form that its task should have; names it.
    """
    try:
        found = [_answered(task, group) for group in groups]
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(
            f"{task.metadata.name}: MTEB's answers are not of the expected form "
            f"({type(error).__name__}: {error}); see that its version is a supported one"
        ) from error
    sizes = [len(one.predicted) for one in found]
    predictions = Predictions(
        predicted=np.concatenate([one.predicted for one in found]),
        gold=np.concatenate([one.gold for one in found]),
        groups=np.repeat(np.arange(len(found)), sizes),
        group_names=tuple(group.name for group in groups),
    )
    return predictions, found[0].drawn


def _answered(task: Any, group: Group) -> Answered:
    kind, score = task.metadata.type, task.metadata.main_score
    if protocol_of(task) == "similarity":
        gold = np.array(group.data["score"], dtype=np.float64)
        return Answered(np.array(group.answers["cosine_scores"]), gold, "pairs")
    if protocol_of(task) == "ranked_pairs":
        return _ranked(task, group)
    if group.of_queries and (figures := _figures_of_queries(group, score)) is not None:
        return _figures(figures, "queries")
    if kind == "Classification" and score == "accuracy" and not task.is_cross_validation:
        return _figures(_share_right(task, group), "test texts")
    if kind == "Clustering" and score == "v_measure":
        return _figures(_v_measures(group), "sets of texts")
    experiments = group.scores.get("scores_per_experiment")
    figures = [one[score] for one in experiments or (group.scores,)]
    return _figures(figures, "experiments" if experiments else "subsets")


def _figures(values: Iterable[float], drawn: str) -> Answered:
    found = np.array(list(values), dtype=np.float64)
    return Answered(found, np.ones(len(found)), drawn)


def _ranked(task: Any, group: Group) -> Answered:
    """Returns the pairs with the likeness that ranks them best."""
    labels: Any = group.data[task.label_column_name]
    if len(labels) == 1 and not np.isscalar(labels[0]):  # older sets have all pairs in one row
        labels = labels[0]
    gold = np.array(labels, dtype=np.float64)
    weights = np.ones((1, len(gold)))
    found: dict[float, FloatArray] = {}
    for name, sign in _LIKENESS.items():
        scores = sign * np.array(group.answers[name], dtype=np.float64)
        precision = RankedPairs.of(scores, gold).average_precisions(weights)
        found.setdefault(float(precision[0]), scores)
    return Answered(found[max(found)], gold, "pairs")


def _figures_of_queries(group: Group, score: str) -> list[float] | None:
    """Returns the figure of each query; None where MTEB's evaluator has none of this name."""
    for name, own in _OF_QUERIES.items():
        if score.startswith(name):
            key = f"{own}{score.removeprefix(name)}"
            return [figures[key] for _, figures in sorted(group.of_queries.items())]
    return None


def _share_right(task: Any, group: Group) -> FloatArray:
    """Returns the share of the experiments that answer each text rightly, [n]."""
    gold = np.array(group.data[task.label_column_name])
    right: FloatArray = np.mean([np.array(one) == gold for one in group.answers], axis=0)
    return right


def _v_measures(group: Group) -> list[float]:
    """Returns the figure of each set, those of all levels of a hierarchy one after the other."""
    found = group.scores["v_measures"]
    return list(chain.from_iterable(found.values()) if isinstance(found, Mapping) else found)
