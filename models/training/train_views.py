"""Trains views on a parsed corpus and leaves a folder that is complete or resumable.

The folder holds ``metrics.jsonl``; ``checkpoints/`` while training; ``model.safetensors`` and
``model.json`` when done, with ``best/``, a model folder too, of the lowest held-out loss; and at
last ``summary.json``, which marks it complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import torch
from safetensors.torch import load_file

from treeviews.models.corpus.parsed_corpus import CorpusSurvey, ParsedCorpus
from treeviews.models.model.card import CARD_FILE, licence_of, made_with, model_card
from treeviews.models.model.model_description import MODEL_FILE, WEIGHTS_FILE, read_weights
from treeviews.models.model.model_folder import num_parameters, save_model
from treeviews.models.model.ranks import ALONE, Ranks
from treeviews.models.model.sentence_model import build_model
from treeviews.models.training.batches import TrainingBatches, cut
from treeviews.models.training.checkpoints import CHECKPOINTS_FOLDER, TrainingFolder
from treeviews.models.training.numerics import peak_memory_gib, versions
from treeviews.models.training.training_job import (
    METRICS_FILE,
    SUMMARY_FILE,
    Provenance,
    TrainingJob,
    finished_summary,
    read_metrics,
)
from treeviews.models.training.training_loop import TrainingLoop
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.job import Progress
from treeviews.pipeline.base.json_files import write_sealed_json

BEST_FOLDER = "best"
_OF_EVERY_STEP = frozenset(
    {
        *("kind", "step", "epoch", "loss", "in_batch_accuracy", "chance", "gradient_norm"),
        *("learning_rate", "sentences", "sentences_per_second", "data_wait_percent"),
        *("peak_memory_gib", "seconds"),
    }
)
"""Entries of a step's record; the others are what its objective measures."""


def train(
    job: TrainingJob, *, on_progress: Progress | None = None, ranks: Ranks = ALONE
) -> dict[str, Any]:
    """Trains to the end, from the last checkpoint in the model's folder if there is one.

    Killed at any moment and called again, it ends with the same weights and metrics, bit for bit
    on a CPU with the same number of threads; only what the metrics say of time and memory
    differs. A folder that is complete is left alone, but for one whose weights are gone. It
    sets the process' random state and its way of multiplying matrices.

    Args:
        on_progress: told the share done and a line for people, after every step.
        ranks: this process among those that call this together with the same arguments; the first
            writes everything.

    Returns:
        The content of ``summary.json``.

    Raises:
        FileNotFoundError: the corpus or the word vectors are not there.
        ValueError: settings, corpus and word vectors do not go together, or the model's folder
            holds another training.
        models.training.training_loop.TrainingDivergedError: a loss or the gradient is not finite.
    """
    job.config.check_trainable()
    vectors = load_word_vectors(job.vectors, whole=True)
    provenance = job.provenance(vectors)
    summary = finished_summary(job.out, provenance.identity)
    if summary is None:
        _train(job, provenance, vectors, on_progress or (lambda share, status: None), ranks)
        ranks.wait_for_all()
        summary = finished_summary(job.out, provenance.identity)
        assert summary is not None, "the first rank has written it"
    if ranks.is_first:  # also those that a process killed right here has left
        shutil.rmtree(job.out / CHECKPOINTS_FOLDER, ignore_errors=True)
    return summary


def _train(
    job: TrainingJob, provenance: Provenance, vectors: WordVectors, report: Progress, ranks: Ranks
) -> None:
    """Trains and leaves the result.

    Raises:
        ValueError: there are no sentences to train on.
    """
    if ranks.is_first:  # of a result that was lost; it must not mark the next one complete
        (job.out / SUMMARY_FILE).unlink(missing_ok=True)
    config = job.config
    model = build_model(config, vectors, config.seed)
    report(0.0, "counting the sentences to train on")
    corpus = ParsedCorpus(
        job.corpus, model.vectors, views=config.views, config=config, part="train"
    )
    survey = ranks.agreed(corpus.survey() if ranks.is_first else None)
    assert survey is not None, "the first rank has made it"
    if not any(cut(count, config.batch_size) for count in survey.rows):
        reasons = ", ".join(f"{count} {reason}" for reason, count in survey.skipped.items())
        raise ValueError(
            f"{job.corpus.sentences}: no shard has two sentences to train on (skipped: "
            f"{reasons or 'none'}); use a larger corpus, a smaller held_out_fraction, or "
            "held_out_unit block where documents are few"
        )
    if ranks.is_first:
        (job.out / CHECKPOINTS_FOLDER).mkdir(parents=True, exist_ok=True)
    model.objective.set_word_counts(torch.from_numpy(survey.word_counts))
    batches = TrainingBatches(
        corpus.read,
        survey.rows,
        batch_size=config.batch_size,
        seed=config.seed,
        run_length=config.run_length,
    )
    held_out = ParsedCorpus(
        job.corpus, model.vectors, views=config.views, config=config, part="held_out"
    )
    run = TrainingLoop(model, batches, held_out, job, provenance, ranks)
    run.run(report)
    if run.folder is not None:
        _finish(run, run.folder, survey)


def _finish(run: TrainingLoop, folder: TrainingFolder, survey: CorpusSurvey) -> None:
    """Leaves the weights that are kept, the best ones beside them and, last, the summary."""
    job, out, best = run.job, run.job.out, folder.best_path
    if best is not None:
        shutil.rmtree(out / BEST_FOLDER, ignore_errors=True)
        shutil.copytree(best, out / BEST_FOLDER)
        if job.config.keep == "best":
            run.model.load_state_dict(read_weights(best, load_file))
    save_model(out, run.model, run.provenance.origin)
    parts = {"word vectors": licence_of(job.vectors)}
    parts |= {f"parser of {stage}": licence_of(path) for stage, path in job.parsers.items()}
    text = f"{survey.num_sentences:,} sentences of {job.corpus.sentences.parent.name}"
    card = model_card(out.name, job.config, made_with(), text=text, parts=parts)
    write_text_atomically(out / CARD_FILE, card)
    summary = summary_of(run, survey, read_metrics(out / METRICS_FILE), folder.best)
    files = [out / name for name in (WEIGHTS_FILE, MODEL_FILE, METRICS_FILE)]
    write_sealed_json(out / SUMMARY_FILE, {"identity": run.provenance.identity, **summary}, files)


def summary_of(
    run: TrainingLoop,
    survey: CorpusSurvey,
    metrics: Iterable[Mapping[str, Any]],
    best: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Returns the content of ``summary.json`` but for the training's identity.

    Args:
        survey: of the sentences to train on.
        metrics: all records, see `read_metrics`.
        best: the held-out record of the lowest loss; None without held-out sentences.
    """
    first: dict[str, Mapping[str, Any]] = {}
    last: dict[str, Mapping[str, Any]] = {}
    num_sentences = 0
    for record in metrics:
        first.setdefault(record["kind"], record)
        last[record["kind"]] = record
        num_sentences += record.get("sentences", 0)
    return {
        "views": list(run.config.views),
        "objective": run.config.objective,
        "seed": run.config.seed,
        "epochs": run.config.epochs,
        "steps": run.num_steps,
        "train_sentences": survey.num_sentences,
        "held_out_measured": last["held_out"]["num_sentences"],
        "skipped": survey.skipped,
        "coverage": {**asdict(survey.coverage), "known_share": survey.coverage.known_share},
        "first_loss": first["train"]["loss"],
        "final_loss": last["train"]["loss"],
        "held_out": {"untrained": first["held_out"], "final": last["held_out"], "best": best},
        "kept": run.config.keep,
        "final_measures": {k: v for k, v in last["train"].items() if k not in _OF_EVERY_STEP},
        "num_parameters": num_parameters(run.model),
        "seconds": round(run.seconds, 3),
        "sentences_per_second": round(num_sentences / run.seconds, 1),
        "peak_memory_gib": round(peak_memory_gib(run.device), 3),
        "device": str(run.device),
        "gemm": run.gemm,
        "ranks": run.ranks.size,
        "versions": versions(),
    }
