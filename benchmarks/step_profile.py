"""Where a training step's time goes: products, elementwise, moving, optimiser, schedule, rest."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from benchmarks.arithmetic import KINDS, milliseconds_by_kind, profiled
from benchmarks.comparison import VIEWS, Task
from benchmarks.training_step import TrainingStep
from models.encoders import build_encoder
from models.kernels.gemm import use_gemm
from models.sentence_batch import SentenceBatch


def profile_rows(task: Task, hidden_sizes: Sequence[int]) -> list[tuple[str, ...]]:
    """Returns rows of view, width, part of a step, milliseconds and percentage."""
    rows: list[tuple[str, ...]] = []
    for hidden_size in hidden_sizes:
        for view in VIEWS:
            parts = _parts(task, view, hidden_size)
            total = sum(parts.values())
            rows += [
                (view, str(hidden_size), part, f"{took:.2f}", f"{100 * took / total:.1f}")
                for part, took in parts.items()
            ]
    return rows


def _parts(task: Task, view: str, hidden_size: int) -> dict[str, float]:
    """Returns the milliseconds of each part of a step: of the fastest of the repeats."""
    torch.manual_seed(task.seed)
    batch, vectors = task.sentences.prepare()
    encoder = build_encoder(view, word_size=vectors.shape[1], hidden_size=hidden_size)
    step = TrainingStep(view, encoder, lambda words: encoder(batch, words), vectors, task.gemm)
    use_gemm(task.gemm)
    step.measure()
    found = [_parts_once(step, task, view) for _ in range(task.repeats)]
    return min(found, key=lambda parts: sum(parts.values()))


def _parts_once(step: TrainingStep, task: Task, view: str) -> dict[str, float]:
    started = time.perf_counter()
    _schedule_of(task, view)
    scheduled = time.perf_counter()
    kinds = milliseconds_by_kind(profiled(step.forward_backward))
    learnt = time.perf_counter()
    step.optimiser.step()
    stepped = time.perf_counter()
    return {
        **{kind: kinds[kind] for kind in KINDS if kind != "rest"},
        "optimiser": 1e3 * (stepped - learnt),
        "schedule": 1e3 * (scheduled - started),
        "rest": kinds["rest"],
    }


def _schedule_of(task: Task, view: str) -> None:
    """Makes the batch with only the trees that the view reads."""
    block = task.sentences.block
    is_constituency = view == "CONST"
    SentenceBatch.from_arrays(
        block.token_ids,
        block.offsets,
        block.heads if view == "DEP" else None,
        block.binary_left if is_constituency else None,
        block.binary_right if is_constituency else None,
    )
