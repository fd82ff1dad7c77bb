"""One encoder on one task: from data and embeddings to a result with its intervals.

Sentences are represented in batches in the order of the items, as SentEval's batcher meets them,
because some representations remove what a batch has in common.

Legend: n items of a split, D width of a representation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from models.encoding.encoder import Encoder
from models.encoding.search import FloatArray
from models.evaluation.embedding_cache import EmbeddingCache, Embeddings
from models.evaluation.protocols.classes import folds_of_train, given_split, nested_folds
from models.evaluation.protocols.config import PROTOCOL_VERSION, ProtocolConfig
from models.evaluation.protocols.outcome import Outcome
from models.evaluation.protocols.pair_scores import (
    RelatednessConfig,
    cosine_similarity,
    relatedness,
)
from models.evaluation.representations.representation import Components, Representation
from models.evaluation.statistics.resampling import Resampling, clusters_of
from models.evaluation.task_result import (
    COSINE,
    AbsentResult,
    DataRecord,
    EncoderIdentity,
    Result,
    Setup,
    scored,
)
from models.evaluation.tasks.load import AbsentDataError, load_task
from models.evaluation.tasks.task import EvaluationTask, Features, Items, TaskData

IntArray = npt.NDArray[np.int64]

MAX_REFUSED = 0.1
"""Above this share, scores say little of an encoder, and a wrong language or parser is likely."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How an encoder is evaluated; one for all tasks of a run."""

    encoder: Encoder
    identity: EncoderIdentity
    data_folder: Path
    """SentEval's ``data`` folder, the one that holds ``downstream`` and ``probing``."""
    representation: Representation = field(default_factory=Representation)
    protocol: ProtocolConfig = field(default_factory=ProtocolConfig)
    cache: EmbeddingCache = field(default_factory=EmbeddingCache)
    is_versioned: bool = True
    """Whether the identity's digest changes when the encoder does, so that results may stand."""
    words: Encoder | None = None
    """The bag of words that is joined, where the representation asks for one."""
    resampling: Resampling = field(default_factory=Resampling)
    max_refused: float = MAX_REFUSED
    """Share of a dataset's distinct sentences that the encoder may refuse, giving zeros."""
    device: str = "cpu"
    """Where classifiers are fitted."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """What else the result says of where it was made."""

    def setup(self, task: EvaluationTask) -> Setup:
        """Returns what a result says of how it came about."""
        learns = task.protocol != "similarity"
        cosine = {"classifier": COSINE, "batch_items": self.protocol.batch_items}
        classifier = self.protocol.to_dict() if learns else cosine
        return Setup(
            encoder=self.identity,
            representation=self.representation.to_dict(),
            classifier=classifier | {"protocol_version": PROTOCOL_VERSION},
            run=dict(self.run),
        )


def evaluate_task(task: EvaluationTask, evaluation: Evaluation) -> Result:
    """Returns the result, or that the task's data is absent.

    Raises:
        ValueError: malformed data or embeddings, or too many sentences that the encoder refuses;
            names file and row, or encoder and view.
    """
    started = time.perf_counter()
    try:
        data = load_task(task, evaluation.data_folder)
    except AbsentDataError as error:
        return AbsentResult(task, evaluation.setup(task), str(error))
    loaded = time.perf_counter()
    views = _views(task, data, evaluation)
    embedded = time.perf_counter()
    featuriser = Featuriser.of(
        views.views, task, data, evaluation.representation, evaluation.protocol.batch_items
    )
    protocol = evaluation.protocol.on_data(data.protocol)
    outcome = run_protocol(task, data, featuriser, protocol, evaluation.device)
    fitted = time.perf_counter()
    return scored(
        task,
        evaluation.setup(task),
        replace(DataRecord.of(data), num_refused=views.num_refused),
        outcome,
        seconds={
            "load": round(loaded - started, 3),
            "embed": round(embedded - loaded, 3),
            "embed_when_computed": round(views.seconds, 3),
            "fit": round(fitted - embedded, 3),
        },
        resampling=evaluation.resampling,
    )


def _views(task: EvaluationTask, data: TaskData, evaluation: Evaluation) -> Embeddings:
    """Returns the embeddings of all the dataset's sentences, shared with its other tasks.

    Raises:
        ValueError: of too many sentences there are none.
    """
    found = _found(task, data, evaluation)
    num_sentences = len(data.sentences)
    if found.num_refused > evaluation.max_refused * num_sentences:
        raise ValueError(
            f"{task.name}: the encoder refuses {found.num_refused:,} of {num_sentences:,} distinct "
            f"sentences, more than {evaluation.max_refused:.0%}, such as {found.refused[0]}; see "
            "that it is made for such text, or ask for zeros in their place by --on-refusal zero"
        )
    return found


def _found(task: EvaluationTask, data: TaskData, evaluation: Evaluation) -> Embeddings:
    representation = evaluation.representation
    found = evaluation.cache.embeddings(
        evaluation.encoder,
        data.sentences,
        representation.poolings(task.protocol),
    )
    if not representation.join_words:
        return found
    if evaluation.words is None:
        raise ValueError("join_words needs a bag of words beside the encoder")
    words = evaluation.cache.embeddings(
        evaluation.words, data.sentences, representation.word_poolings()
    )
    return Embeddings(
        {**found.views, **words.views},
        found.seconds + words.seconds,
        max(found.refused, words.refused, key=len),
    )


def run_protocol(
    task: EvaluationTask,
    data: TaskData,
    featuriser: Featuriser,
    config: ProtocolConfig,
    device: str = "cpu",
) -> Outcome:
    """Returns what the task's protocol finds."""
    if task.protocol == "similarity":
        return _similarity(data, featuriser)
    by_inner_products = config.classifier == "logistic_regression" and not config.standardise
    featuriser = replace(featuriser, in_place=by_inner_products and task.features == "sentence")
    features = features_by_split(data, featuriser)
    on_device = {name: matrix.to(device) for name, matrix in features.items()}
    outcome = learn(task, data, on_device, config)
    if featuriser.in_place:
        outcome = replace(outcome, width=featuriser.width)
    if data.units is None or "test" not in data.splits:
        return outcome
    # What the bootstrap draws as one, where the data know documents.
    sentences = data.splits["test"].first
    clusters = clusters_of(sentences, data.units[sentences])
    return replace(outcome, predictions=replace(outcome.predictions, clusters=clusters))


def features_by_split(data: TaskData, featuriser: Featuriser) -> dict[str, torch.Tensor]:
    """Returns what is learnt from, float32 [n, D] a split, on the CPU."""
    return {
        name: torch.from_numpy(featuriser.features(items)) for name, items in data.splits.items()
    }


def learn(
    task: EvaluationTask,
    data: TaskData,
    features: Mapping[str, torch.Tensor],
    config: ProtocolConfig,
) -> Outcome:
    """Returns what the protocol of a task that learns finds, computed where the features lie.

    Args:
        task: of any protocol but ``similarity``.
        features: [n, D] a split, the items in the task's order.
    """
    if task.protocol == "relatedness":
        gold = {name: items.labels.astype(np.float64) for name, items in data.splits.items()}
        return relatedness(features, gold, RelatednessConfig.of(config))
    labels = {name: items.labels.astype(np.int64) for name, items in data.splits.items()}
    num_classes = len(data.class_names)
    if task.protocol == "nested_folds":
        return nested_folds(features["all"], labels["all"], num_classes=num_classes, config=config)
    protocol = folds_of_train if task.protocol == "folds" else given_split
    return protocol(features, labels, num_classes=num_classes, config=config)


def _similarity(data: TaskData, featuriser: Featuriser) -> Outcome:
    pairs = {}
    for name, items in data.splits.items():
        first, second = map(featuriser.vectors, items.sentences)
        pairs[name] = (first, second)
    gold = {name: items.labels.astype(np.float64) for name, items in data.splits.items()}
    return cosine_similarity(pairs, gold)


@dataclass(frozen=True, slots=True, eq=False)
class Featuriser:
    """A task's views and how they become vectors."""

    views: Mapping[str, FloatArray]
    """[sentences, d_v] by view and pooling."""
    task: EvaluationTask
    representation: Representation
    batch_items: int
    components: Components | None = None
    """What is removed, where it is fitted on the training split."""
    in_place: bool = False
    """See `Representation.apply`; for what learns from inner products of vectors alone."""

    @classmethod
    def of(
        cls,
        views: Mapping[str, FloatArray],
        task: EvaluationTask,
        data: TaskData,
        representation: Representation,
        batch_items: int,
    ) -> Featuriser:
        """Returns the featuriser, fitted on the sentences of train if it asks to be.

        Where a task has no training split, all its sentences take its place: none has a label.
        """
        components = None
        if representation.needs_fit:
            fitted = {"train": data.splits["train"]} if "train" in data.splits else data.splits
            rows = np.concatenate([rows for items in fitted.values() for rows in items.sentences])
            chosen = {key: matrix[rows] for key, matrix in views.items()}
            components = representation.fit(chosen, task.protocol)
        return cls(views, task, representation, batch_items, components)

    @property
    def width(self) -> int:
        """D, whatever `in_place` is."""
        return int(replace(self, in_place=False).vectors(np.zeros(1, np.int64)).shape[1])

    def vectors(self, rows: IntArray) -> FloatArray:
        """Returns the representation, float32 [n, D], of sentences [n] in this order."""
        parts = [
            self.representation.apply(
                {key: matrix[batch] for key, matrix in self.views.items()},
                self.task.protocol,
                components=self.components,
                in_place=self.in_place,
            )
            for batch in np.split(rows, range(self.batch_items, len(rows), self.batch_items))
        ]
        return np.concatenate(parts)

    def features(self, items: Items) -> FloatArray:
        """Returns what a classifier reads of items, [n, F], as `Features` has it."""
        vectors = [self.vectors(rows) for rows in items.sentences]
        return np.concatenate(FEATURES[self.task.features](vectors), axis=1)


FEATURES: Mapping[Features, Callable[[Sequence[FloatArray]], Sequence[FloatArray]]] = {
    "sentence": lambda x: x,
    "pair": lambda x: [np.abs(x[0] - x[1]), x[0] * x[1]],
    "passage": lambda x: [
        np.sum([np.abs(one - other) for one, other in pairwise(x)], axis=0),
        np.sum([one * other for one, other in pairwise(x)], axis=0),
    ],
}
"""From the vectors of an item's sentences, [n, D] each, to the parts that are put side by side."""
