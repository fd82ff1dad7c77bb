"""One encoder on one task: from data and embeddings to a result with its intervals.

Sentences are represented in batches in the order of the items, as SentEval's batcher meets them,
because some representations remove what a batch has in common.

Legend: n items of a split, D width of a representation, H width of a view.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from treeviews.models.config.views import Pooling
from treeviews.models.encoding.encoder import Encoder
from treeviews.models.encoding.encoder_names import OPAQUE_VIEW, key_of
from treeviews.models.encoding.search import FloatArray
from treeviews.models.evaluation.class_protocols import learn_classes
from treeviews.models.evaluation.evaluation_settings import (
    PROTOCOL_VERSION,
    EvaluationSettings,
    ProtocolConfig,
)
from treeviews.models.evaluation.pair_protocols import cosine_similarity, learn_relatedness
from treeviews.models.evaluation.representation import WORD_POOLING, Representation
from treeviews.models.evaluation.resampling import IntArray, clusters_of
from treeviews.models.evaluation.scores import Outcome
from treeviews.models.evaluation.task_data import AbsentDataError, load_task
from treeviews.models.evaluation.task_registry import EvaluationTask, Features, TaskData
from treeviews.models.evaluation.task_result import (
    COSINE,
    AbsentResult,
    DataRecord,
    EncoderIdentity,
    Result,
    Setup,
    scored,
)
from treeviews.pipeline.base.refusal import RefusedSentence


class Embeddings(NamedTuple):
    """What an encoder makes of sentences."""

    views: dict[str, FloatArray]
    """[n, H] by view and pooling."""
    refused: tuple[RefusedSentence, ...]
    """Sentences that the encoder could not take and gave zeros for."""


Kept = dict[tuple[tuple[str, ...], Encoder, tuple[Pooling, ...]], Embeddings]
"""Embeddings by sentences, encoder and pooling."""


def embeddings_of(
    kept: Kept, encoder: Encoder, sentences: Sequence[str], pooling: Sequence[Pooling] = ("last",)
) -> Embeddings:
    """Returns the embeddings, which are kept until another list of sentences is asked for.

    Tasks of one dataset follow one another. Nothing is kept on disk: parses are, and what is made
    of them is quick.

    Args:
        encoder: one that knows no views gives the view ``0-encoder.last``, whatever the pooling.
        pooling: how a view's states become one vector.

    Raises:
        ValueError: what the encoder says of its input.
    """
    key = (tuple(sentences), encoder, tuple(pooling) if encoder.has_views else ())
    if any(of != key[0] for of, *_ in kept):
        kept.clear()  # frees the memory before more is taken
    if key not in kept:
        kept[key] = _embedded(encoder, sentences, pooling)
    return kept[key]


def _embedded(encoder: Encoder, sentences: Sequence[str], pooling: Sequence[Pooling]) -> Embeddings:
    if encoder.has_views:
        views = encoder.encode_views(sentences, pooling)
    else:
        views = {key_of(OPAQUE_VIEW, "last"): np.asarray(encoder.encode(sentences), np.float32)}
    for key, matrix in views.items():
        if matrix.ndim != 2 or len(matrix) != len(sentences) or not np.isfinite(matrix).all():
            raise ValueError(
                f"the encoder's {key} has shape {list(matrix.shape)} for {len(sentences)} "
                "sentences, or values that are not finite"
            )
    by_view = sorted(views, key=lambda key: key.rpartition(".")[0])
    return Embeddings({key: views[key] for key in by_view}, tuple(getattr(encoder, "refused", ())))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An encoder and how it is evaluated; one for all tasks of a run."""

    settings: EvaluationSettings
    encoder: Encoder
    identity: EncoderIdentity
    words: Encoder | None = None
    """The bag of words that is joined, where the representation asks for one."""
    run: Mapping[str, Any] = field(default_factory=dict)
    """What else the result says of where it was made."""
    kept: Kept = field(default_factory=dict)

    @property
    def is_versioned(self) -> bool:
        """Whether the identity's digest changes when the encoder does, so that results may stand.

        That is known only of encoders whose digest covers what they do, or whose version the user
        gives.
        """
        return self.encoder.has_views or self.settings.encoder_version is not None

    def setup(self, task: EvaluationTask) -> Setup:
        """Returns what a result says of how it came about."""
        classifier = self.settings.protocol.to_dict()
        if task.protocol == "similarity":
            classifier = {"classifier": COSINE, "batch_items": classifier["batch_items"]}
        return Setup(
            encoder=self.identity,
            representation=self.settings.representation.to_dict(),
            classifier=classifier | {"protocol_version": PROTOCOL_VERSION},
            run=dict(self.run),
        )


def evaluate_task(task: EvaluationTask, evaluation: Evaluation) -> Result:
    """Returns the result, or that the task's data is absent.

    Raises:
        ValueError: malformed data or embeddings, or too many sentences that the encoder refuses;
            names file and row, or encoder and view.
    """
    settings = evaluation.settings
    started = time.perf_counter()
    try:
        data = load_task(task, settings.data)
    except AbsentDataError as error:
        return AbsentResult(task, evaluation.setup(task), str(error))
    loaded = time.perf_counter()
    embeddings = _embeddings(task, data, evaluation)
    embedded = time.perf_counter()
    batch_items = settings.protocol.batch_items
    vectors = vectors_of(embeddings.views, task, data, settings.representation, batch_items)
    protocol = settings.protocol.on_data(data.protocol)
    outcome = run_protocol(task, data, vectors, protocol, settings.device)
    fitted = time.perf_counter()
    return scored(
        task,
        evaluation.setup(task),
        DataRecord.of(data, num_refused=len(embeddings.refused)),
        outcome,
        seconds={
            "load": round(loaded - started, 3),
            "embed": round(embedded - loaded, 3),
            "fit": round(fitted - embedded, 3),
        },
    )


def _embeddings(task: EvaluationTask, data: TaskData, evaluation: Evaluation) -> Embeddings:
    """Returns the embeddings of all the dataset's sentences, shared with its other tasks.

    Raises:
        ValueError: of too many sentences there are none.
    """
    representation, settings = evaluation.settings.representation, evaluation.settings
    parts = [(evaluation.encoder, representation.poolings(task.protocol))]
    if representation.join_words:
        assert evaluation.words is not None, "join_words needs a bag of words"
        parts.append((evaluation.words, WORD_POOLING))
    made = [embeddings_of(evaluation.kept, part, data.sentences, pools) for part, pools in parts]
    refused = max((each.refused for each in made), key=len)
    num_sentences = len(data.sentences)
    if len(refused) > settings.max_refused * num_sentences:
        raise ValueError(
            f"{task.name}: the encoder refuses {len(refused):,} of {num_sentences:,} distinct "
            f"sentences, more than {settings.max_refused:.0%}, such as {refused[0]}; see "
            "that it is made for such text, or ask for zeros in their place by --on-refusal zero"
        )
    views = {key: matrix for each in made for key, matrix in each.views.items()}
    return Embeddings(views, refused)


def run_protocol(
    task: EvaluationTask, data: TaskData, vectors: Vectors, config: ProtocolConfig, device: str
) -> Outcome:
    """Returns the outcome of the task's protocol, computed on a device."""
    if task.protocol == "similarity":
        pairs = {name: list(map(vectors, items.sentences)) for name, items in data.splits.items()}
        return cosine_similarity(pairs, _gold(data))
    by_inner_products = config.classifier == "logistic_regression" and not config.standardise
    in_place = by_inner_products and task.features == "sentence"
    features = features_by_split(task, data, partial(vectors, in_place=in_place))
    on_device = {name: matrix.to(device) for name, matrix in features.items()}
    outcome = learn(task, data, on_device, config)
    if in_place:  # the width that was asked for
        outcome = replace(outcome, width=vectors(np.zeros(1, np.int64)).shape[1])
    if data.units is None or "test" not in data.splits:
        return outcome
    # What the bootstrap draws as one, where the data know documents.
    sentences = data.splits["test"].sentences[0]
    clusters = clusters_of(sentences, data.units[sentences])
    return replace(outcome, predictions=replace(outcome.predictions, clusters=clusters))


def features_by_split(
    task: EvaluationTask, data: TaskData, vectors: Vectors
) -> dict[str, torch.Tensor]:
    """Returns what is learnt from, float32 [n, F] a split as `Features` has it, on the CPU."""
    parts = {
        name: FEATURES[task.features](list(map(vectors, items.sentences)))
        for name, items in data.splits.items()
    }
    return {name: torch.from_numpy(np.concatenate(of, axis=1)) for name, of in parts.items()}


def learn(
    task: EvaluationTask,
    data: TaskData,
    features: Mapping[str, torch.Tensor],
    config: ProtocolConfig,
) -> Outcome:
    """Returns the outcome of a protocol that learns, computed where the features lie.

    Args:
        task: of any protocol but ``similarity``.
        features: [n, D] a split, the items in the task's order.
    """
    if task.protocol == "relatedness":
        return learn_relatedness(features, _gold(data), config)
    labels = {name: items.labels.astype(np.int64) for name, items in data.splits.items()}
    return learn_classes(task.protocol, features, labels, len(data.class_names), config)


def _gold(data: TaskData) -> dict[str, npt.NDArray[np.float64]]:
    return {name: items.labels.astype(np.float64) for name, items in data.splits.items()}


Vectors = Callable[..., FloatArray]
"""From numbers of sentences, [n], to what represents them in this order, float32 [n, D]; by
``in_place`` as `Representation.apply` has it, for what learns from inner products alone."""


def vectors_of(
    views: Mapping[str, FloatArray],
    task: EvaluationTask,
    data: TaskData,
    representation: Representation,
    batch_items: int,
) -> Vectors:
    """Returns what represents a task's sentences, fitted on those of train if it asks to be.

    Where a task has no training split, all its sentences take its place: none has a label.

    Args:
        views: [sentences, d_v] by view and pooling.
        batch_items: sentences that are represented at once.
    """
    components = None
    if representation.needs_fit:
        fitted = [data.splits["train"]] if "train" in data.splits else data.splits.values()
        chosen = np.concatenate([rows for items in fitted for rows in items.sentences])
        of_train = {key: matrix[chosen] for key, matrix in views.items()}
        components = representation.fit(of_train, task.protocol)

    def vectors(rows: IntArray, *, in_place: bool = False) -> FloatArray:
        batches = (
            {key: matrix[batch] for key, matrix in views.items()}
            for batch in np.split(rows, range(batch_items, len(rows), batch_items))
        )
        how: dict[str, Any] = {"components": components, "in_place": in_place}
        return np.concatenate([representation.apply(b, task.protocol, **how) for b in batches])

    return vectors


FEATURES: Mapping[Features, Callable[[Sequence[FloatArray]], Sequence[FloatArray]]] = {
    "sentence": lambda x: x,
    "pair": lambda x: [np.abs(x[0] - x[1]), x[0] * x[1]],
    "passage": lambda x: [
        np.sum([np.abs(a - b) for a, b in pairwise(x)], axis=0),
        np.sum([a * b for a, b in pairwise(x)], axis=0),
    ],
}
"""From the vectors of an item's sentences, [n, D] each, to the parts that are put side by side."""
