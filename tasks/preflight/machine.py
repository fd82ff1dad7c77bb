"""Checks of the machine: its GPU, its memory, and the libraries that not every run needs."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from models.config.training_config import TrainingConfig
from models.words.vector_files import read_word_size
from pipeline.base.bundled import how_to_install
from pipeline.base.machine import memory_bytes
from pipeline.vectors.train_word_vectors import gensim_version, imported_gensim
from tasks.derived_shards import DerivedStage
from tasks.embedding import EmbedCorpus
from tasks.engine_parameters import EngineParameters
from tasks.parameters import ParserParameters
from tasks.preflight.findings import Findings, as_stage
from tasks.preflight.parameters import TRAINING_ROOTS
from tasks.training import TrainEncoders
from tasks.word_vectors import OF_THE_CORPUS, TrainWordVectors

_DRIVER = "libcuda.so.1"
_MANAGEMENT = "libnvidia-ml.so.1"
_BYTES_PER_WEIGHT = 16
"""While it is trained by Adam: the weight, its gradient and two moments, each of four bytes."""
_GATES = {"SEQ": 3, "DEP": 4, "CONST": 5}
"""Of a cell of the view: matrices of hidden size by hidden size at least."""


def check_device_name(root: Any, findings: Findings) -> None:
    """Checks that a device is named as one."""
    device, kind, number = _device_of(root)
    if kind not in {"auto", "cpu", "cuda"} or (number and not number.isdecimal()):
        findings.refuse(f"unknown device {device!r}; give auto, cpu, cuda or cuda:NUMBER")


def _device_of(root: Any) -> tuple[str, str, str]:
    """Returns the device of a task, and its kind and number."""
    device = str(getattr(root, "device", "cpu"))
    kind, _, number = device.partition(":")
    return device, kind, number


def check_device(root: Any, findings: Findings) -> None:
    """Checks that there is such a device, for what parses, and what trains or encodes parses.

    Other stages compute on none; what runs on Ray has its own machines.
    """
    device, kind, number = _device_of(root)
    computes = isinstance(root, ParserParameters) and not _is_elsewhere(root)
    if kind == "cuda" and computes and (not number or number.isdecimal()):
        found = num_gpus()
        if found is not None and int(number or 0) >= found:
            findings.refuse(
                f"device is {device}, and this machine has {found or 'no'} CUDA "
                f"device{'' if found == 1 else 's'} that torch could use; give --device auto or "
                "cpu, or install a driver and a torch for this machine's GPU"
            )


def _is_elsewhere(root: Any) -> bool:
    """Returns whether all that computes runs on a Ray cluster.

    A training does not, such as that of the encoder by which a corpus is embedded.
    """
    if not isinstance(root, DerivedStage) or root.engine != "ray":
        return False
    if not isinstance(root, EmbedCorpus):
        return True
    made = [one for one in root.evaluated.requires.values() if isinstance(one, TRAINING_ROOTS)]
    return all(Path(one.output().path).exists() for one in made)


def num_gpus() -> int | None:
    """Returns how many GPUs of Nvidia's there are to use; None where nobody can tell.

    The driver's library for managing them is asked, since CUDA itself must not be initialised in a
    process that forks.
    """
    if _torch_is_for_cpus():
        return 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in {"", "-1"}:
        return 0
    if not _loaded(_DRIVER):
        return None if _torch_is_for_amd() else 0
    count = ctypes.c_uint(0)
    if (library := _loaded(_MANAGEMENT)) is None or library.nvmlInit_v2() != 0:
        return None
    try:
        failed = library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0
    finally:
        library.nvmlShutdown()
    if failed:
        return None
    return count.value if visible is None else min(count.value, len(visible.split(",")))


def _loaded(library: str) -> ctypes.CDLL | None:
    with suppress(OSError):
        return ctypes.CDLL(library)
    return None


def _torch_is_for_cpus() -> bool:
    return _release_of_torch().endswith("+cpu")


def _torch_is_for_amd() -> bool:
    return "+rocm" in _release_of_torch()


def _release_of_torch() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:
        return ""


def check_memory(root: Any, findings: Findings) -> None:
    """Checks that the weights of the chosen width fit while they are trained, on a CPU."""
    if not isinstance(root, TRAINING_ROOTS) or str(root.device).startswith("cuda"):
        return
    training: TrainEncoders = as_stage(root, TrainEncoders)
    with suppress(OSError, ValueError):
        weights = least_weights(training.config, read_word_size(training.vectors))
        needed, known = weights * _BYTES_PER_WEIGHT, memory_bytes()
        if known is None:
            return
        most, free = known
        told = (
            f"a training of hidden_size {training.config.hidden_size:,} takes more than "
            f"{_in_gib(needed)} of memory for its weights alone"
        )
        remedy = "make it narrower, such as --changes '{\"hidden_size\": 600}'"
        if needed > most:
            findings.refuse(f"{told}, and this machine has {_in_gib(most)}; {remedy}")
        elif needed > free:
            findings.warn(f"{told}, and {_in_gib(free)} is free; {remedy}, or end other programs")


def least_weights(config: TrainingConfig, word_size: int) -> int:
    """Returns how many weights the cells of the views have at least.

    A cell has, for each of its gates, a matrix from the state before and, but for CONST's inner
    nodes, one from the word.
    """
    hidden = config.hidden_size
    counts = (
        _GATES[view] * hidden * (hidden + (0 if view == "CONST" else word_size))
        for view in config.views
        if view in _GATES
    )
    return sum(counts)


def _in_gib(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 30):,.1f} GiB"


def check_extras(root: Any, findings: Findings) -> None:
    """Checks that the libraries are installed that these parameters, and no others, need."""
    of_ray = isinstance(root, EngineParameters) and root.engine == "ray"
    if of_ray and not _is_installed("ray"):
        findings.refuse(
            f"engine is ray, which is not installed: {how_to_install('ray')} here and on the "
            "cluster's machines, or leave engine at local"
        )
    if _trains_vectors(root) and gensim_version() is None:
        with findings.refusing():
            imported_gensim()
    if getattr(root, "source", "") == "hf" and not _is_installed("datasets"):
        findings.refuse(f"source hf needs datasets: {how_to_install('corpora')}")


def _trains_vectors(root: Any) -> bool:
    if isinstance(root, TrainWordVectors):
        return True
    return getattr(root, "vectors", None) == OF_THE_CORPUS


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # another module stands in its place
        return False
