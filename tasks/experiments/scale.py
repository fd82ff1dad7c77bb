"""On what, and how large, the run's own trainings are, in numbers and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.experiments.declaration import Scale
from models.experiments.scored_rows import Summary, TrainingText, num_words
from tasks.training import TrainEncoders
from tasks.word_vectors import OF_THE_CORPUS

if TYPE_CHECKING:
    from tasks.experiments.table_stages import TableStages


def scale_of(training: TrainEncoders, summary: Summary | None) -> Scale:
    """Returns the scale of a model.

    Args:
        summary: of the training; None of random weights, which have no text.
    """
    widths = training.config.view_widths(training.word_vectors.size)
    vectors = _vectors(training, is_trained=summary is not None)
    if summary is None:
        return Scale(vectors=vectors, width=widths[0])
    return Scale(
        training.corpus_in_words(),
        summary["train_sentences"],
        num_words(summary),
        vectors,
        widths[0],
        summary["epochs"],
    )


def text_of(table: TableStages, training: TrainEncoders | None) -> TrainingText:
    """Returns in words what all of a table were trained on.

    Args:
        training: one of them; None where nothing is trained.
    """
    task: TrainEncoders = training or table.clone(TrainEncoders, **table.own(None))
    vectors = f"{_called(task)}, {task.word_vectors.size} wide"
    if training is None:
        return TrainingText("", vectors, "")
    units = "documents" if table.held_out_unit == "document" else "blocks of sentences"
    return TrainingText(
        corpus=table.corpus_in_words(),
        vectors=vectors,
        held_out=f"{100 * table.held_out_fraction:g} % of the {units}",
    )


def _vectors(training: TrainEncoders, *, is_trained: bool) -> str:
    """Returns which word vectors a model reads, trained or not."""
    config = training.config
    if config.word_vectors == "frozen" or config.trained_word_init == "given":
        given = f"{_called(training)}, {training.word_vectors.size} wide"
        return f"{given}, trained on" if config.word_vectors == "trained" and is_trained else given
    how = "trained with the model" if is_trained else "drawn at random"
    return f"{how}, {config.trained_word_size} wide"


def _called(training: TrainEncoders) -> str:
    """Returns what word vectors are called: trained here, or their file."""
    used = training.word_vectors
    return "of the corpus" if training.vectors == OF_THE_CORPUS else used.path.name
