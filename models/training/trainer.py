"""Trains two views on a parsed corpus and leaves a folder that is complete or resumable.

The folder holds ``metrics.jsonl`` and, if wanted, ``tensorboard/``; ``checkpoints/`` while
training; ``model.safetensors`` and ``model.json`` when done, with ``best/``, a model folder too, of
the lowest held-out loss; and at last ``summary.json``, which marks it complete.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from models.contrastive_model import ContrastiveModel, build_model
from models.corpus.parsed_corpus import CorpusFolders, CorpusSurvey, ParsedCorpus, Part, Selection
from models.model_folder import load_weights, num_parameters, save_model
from models.training.batches import TrainingBatches
from models.training.config import TRAINING_VERSION, TrainingConfig
from models.training.folder import CHECKPOINTS_FOLDER, Provenance
from models.training.machine import peak_memory_gib, versions
from models.training.metrics_log import METRICS_FILE, SUMMARY_FILE, read_metrics
from models.training.ranks import ALONE, Ranks
from models.training.run import TrainingData, TrainingDivergedError, TrainingRun
from models.training.settings import RunSettings
from models.words.vector_files import load_word_vectors
from models.words.word_vectors import WordVectors
from pipeline.digest import digest_of
from pipeline.job import Progress
from pipeline.shards import read_dataset_manifest, write_json_atomically

__all__ = ["RunSettings", "TrainingDivergedError", "train"]

BEST_FOLDER = "best"


def train(
    config: TrainingConfig,
    folders: CorpusFolders,
    vectors_path: Path,
    out: Path,
    *,
    settings: RunSettings | None = None,
    on_progress: Progress | None = None,
    ranks: Ranks = ALONE,
) -> dict[str, Any]:
    """Trains to the end, from the last checkpoint in ``out`` if there is one.

    Killed at any moment and called again, it ends with the same weights and metrics, bit for bit
    on a CPU with the same number of threads; only what the metrics say of time and memory
    differs. A folder that is complete is left alone.

    Args:
        vectors_path: word vectors, see `load_word_vectors`.
        out: the model's folder.
        on_progress: told the share done and a line for people, after every step.
        ranks: this process among those that call this together with the same arguments; the first
            writes everything.

    Returns:
        The content of ``summary.json``.

    Raises:
        FileNotFoundError: the corpus or the word vectors are not there.
        ValueError: settings, corpus and word vectors do not go together, or ``out`` holds another
            training.
        TrainingDivergedError: loss or gradient is not finite.
    """
    settings = settings or RunSettings()
    config.check_processes(ranks.size)
    vectors = load_word_vectors(vectors_path)
    identity = _identity(config, folders, vectors)
    finished = _finished_summary(out, identity)
    if finished is not None:
        return finished
    report = on_progress or _ignore
    corpus = _open(config, folders, vectors, "train")
    report(0.0, "counting the sentences to train on")
    survey = corpus.survey()
    batches = TrainingBatches(corpus, survey.rows, batch_size=config.batch_size, seed=config.seed)
    if batches.steps_per_epoch == 0:
        raise ValueError(_nothing_to_train(folders, survey))
    out.mkdir(parents=True, exist_ok=True)
    held_out = _open(config, folders, vectors, "held_out")
    model = build_model(config, vectors, config.seed)
    provenance = Provenance(identity, _origin(config, folders, vectors_path, vectors))
    data = TrainingData(batches, held_out)
    run = TrainingRun(model, data, out, provenance, settings=settings, ranks=ranks)
    run.run(report)
    if run.folder is not None:
        best = run.folder.best
        _save_result(out, run.model, provenance, best.path)
        metrics = read_metrics(out / METRICS_FILE)
        summary = {"identity": identity, **_summarise(run, survey, metrics, best.record)}
        write_json_atomically(out / SUMMARY_FILE, summary)
        shutil.rmtree(out / CHECKPOINTS_FOLDER, ignore_errors=True)
    ranks.wait_for_all()
    finished = _finished_summary(out, identity)
    assert finished is not None, "the first rank has written it"
    return finished


def _save_result(
    out: Path, model: ContrastiveModel, provenance: Provenance, best: Path | None
) -> None:
    """Leaves the weights that the configuration keeps, and the best ones beside them."""
    if best is not None:
        shutil.rmtree(out / BEST_FOLDER, ignore_errors=True)
        shutil.copytree(best, out / BEST_FOLDER)
        if model.config.keep == "best":
            load_weights(best, model)
    save_model(out, model, provenance.origin)


def _ignore(share: float, status: str) -> None:
    del share, status


def _open(
    config: TrainingConfig, folders: CorpusFolders, vectors: WordVectors, part: Part
) -> ParsedCorpus:
    selection = Selection(part, config.hold_out, config.max_tokens)
    return ParsedCorpus(folders, vectors, views=config.views, selection=selection)


def _identity(config: TrainingConfig, folders: CorpusFolders, vectors: WordVectors) -> str:
    """Returns a digest of all that determines the result."""
    shards = {
        stage: [shard.sha256 for shard in read_dataset_manifest(folder, stage).shards]
        for stage, folder in folders.needed_by(config.views).items()
    }
    content = {
        "training_version": TRAINING_VERSION,
        "config": config.to_dict(),
        "corpus": shards,
        "vectors": vectors.checksum,
    }
    return digest_of(content)


def _origin(
    config: TrainingConfig, folders: CorpusFolders, vectors_path: Path, vectors: WordVectors
) -> dict[str, Any]:
    needed = folders.needed_by(config.views)
    return {
        "corpus": {stage: str(folder.absolute()) for stage, folder in needed.items()},
        "vectors": {
            "path": str(vectors_path.absolute()),
            "checksum": vectors.checksum,
            "rms": round(vectors.rms, 6),
            "duplicates": vectors.num_duplicates,
        },
    }


def _finished_summary(out: Path, identity: str) -> dict[str, Any] | None:
    path = out / SUMMARY_FILE
    if not path.exists():
        return None
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if summary["identity"] != identity:
        raise ValueError(
            f"{out}: holds another finished training (other settings, corpus or word vectors); "
            "give another folder"
        )
    return summary


def _nothing_to_train(folders: CorpusFolders, survey: CorpusSurvey) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in survey.skipped.items())
    return (
        f"{folders.sentences}: no shard has two sentences to train on (skipped: "
        f"{reasons or 'none'}); use a larger corpus, a smaller held_out_fraction, or "
        "held_out_unit block where documents are few"
    )


def _summarise(
    run: TrainingRun,
    survey: CorpusSurvey,
    metrics: list[dict[str, Any]],
    best: dict[str, Any] | None,
) -> dict[str, Any]:
    steps = [record for record in metrics if record["kind"] == "train"]
    held_out = [record for record in metrics if record["kind"] == "held_out"]
    return {
        "views": list(run.config.views),
        "seed": run.config.seed,
        "epochs": run.config.epochs,
        "steps": run.num_steps,
        "train_sentences": survey.num_sentences,
        "held_out_sentences": held_out[-1]["num_sentences"],
        "skipped": survey.skipped,
        "coverage": {**asdict(survey.coverage), "known_share": survey.coverage.known_share},
        "first_loss": steps[0]["loss"],
        "final_loss": steps[-1]["loss"],
        "held_out": {"untrained": held_out[0], "final": held_out[-1], "best": best},
        "kept": run.config.keep,
        "num_parameters": num_parameters(run.model),
        "seconds": round(run.seconds, 3),
        "sentences_per_second": round(sum(s["sentences"] for s in steps) / run.seconds, 1),
        "peak_memory_gib": round(peak_memory_gib(run.device), 3),
        "device": str(run.device),
        "gemm": run.gemm,
        "ranks": run.num_ranks,
        "versions": versions(),
    }
