"""A training by its configuration, its paths and its machine, and what it is made from."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from treeviews.models.config.training_config import TRAINING_VERSION, TrainingConfig
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.model.model_description import (
    checksum_of_weights,
    parser_entry,
    parsers_of_corpus,
    place_of,
)
from treeviews.models.training.launching import LaunchSettings
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.base.bundled import SHIPPED_VECTORS
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.json_files import FILES, read_object
from treeviews.pipeline.base.settings import Natural, Option, Settings, at_least
from treeviews.pipeline.shards.manifests import read_dataset_manifest

GemmChoice = Literal["auto", "default", "onednn"]
"""Matrix product on the CPU; auto: oneDNN's on AMD processors with AVX-512 if it is as exact,
otherwise PyTorch's default."""


class RunSettings(Settings):
    """How a training is run.

    On one device, with one matrix product and as many sentences at once, none changes the result.
    """

    called: ClassVar[str] = "run setting"

    device: str = "cpu"
    gemm: Annotated[GemmChoice, Option(is_significant=False)] = "auto"
    """Matrix product used for training on a CPU; auto: oneDNN's on AMD processors with AVX-512 if
    it is as exact, otherwise PyTorch's default. With auto, a resumed training keeps its product;
    a change to another one is noted in the metrics, since weights then differ by rounding."""
    sentences_at_once: Annotated[int | None, at_least(1), Option(is_significant=False)] = None
    """Encode each batch in pieces of this many sentences, each twice, to save memory; the objective
    still uses the whole batch. Weights differ by rounding. Default: the whole batch at once."""
    prefetch: Natural = 2
    """Batches prepared ahead by a thread; 0 prepares each when it is needed."""
    checkpoint_every_seconds: Annotated[float, at_least(0), Option(is_significant=False)] = 60.0
    """Seconds between checkpoints, the most work that a killed training loses."""
    checkpoint_every_steps: Annotated[int | None, at_least(1)] = None
    """Checkpoints also at every multiple of so many steps."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a training is made from."""

    identity: str
    """Digest of all that determines the result."""
    origin: Mapping[str, Any]
    """The same for people, and for `models.model.model_folder`."""


class TrainingJob(Settings):
    """What is trained on what, and where the result goes."""

    called: ClassVar[str] = "training job field"

    config: TrainingConfig
    corpus: CorpusFolders
    vectors: Path
    """Word vectors, see `load_word_vectors`."""
    out: Path
    """The model's folder."""
    parsers: Mapping[str, Path] = {}
    """Parse stage -> folder of the parser that made it, to be found again for raw sentences. Which
    parser that is the shards say; where it lies changes no result."""
    settings: RunSettings = RunSettings()
    launch: LaunchSettings = LaunchSettings()

    def provenance(self, vectors: WordVectors) -> Provenance:
        """Returns what the training is made from.

        Args:
            vectors: as loaded.

        Raises:
            FileNotFoundError: a stage of the corpus is not complete.
            ValueError: a stage is missing, or its shards are by several parsers.
        """
        needed = self.corpus.needed_by(self.config.views)
        content = {
            "training_version": TRAINING_VERSION,
            "config": self.config.to_dict(),
            "corpus": {
                stage: [shard.sha256 for shard in read_dataset_manifest(folder, stage).shards]
                for stage, folder in needed.items()
            },
            "vectors": vectors.checksum,
        }
        origin = {
            "corpus": {
                stage: next(iter(place_of(folder, self.out).values()))
                for stage, folder in needed.items()
            },
            "vectors": {
                "path": None,
                **place_of(self.vectors, self.out, SHIPPED_VECTORS),
                "checksum": vectors.checksum,
                "rms": round(vectors.rms, 6),
            },
            "parsers": {
                stage: parser_entry(
                    stage, name, checksum_of_weights(checksum), self.parsers.get(stage), self.out
                )
                for stage, (name, checksum) in parsers_of_corpus(needed).items()
            },
        }
        return Provenance(digest_of(content), origin)


logger = logging.getLogger(__name__)

METRICS_FILE = "metrics.jsonl"
SUMMARY_FILE = "summary.json"
"""Written last, so it marks a training complete."""


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """Yields all whole records; a line that is still being written is left out."""
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield json.loads(line)


def finished_summary(out: Path, identity: str | None = None) -> dict[str, Any] | None:
    """Returns the summary of a training's folder; None where it, or a file it lists, is not there.

    Args:
        identity: digest of all that determines the result; None takes that of any training.

    Raises:
        ValueError: the summary is damaged, of a wrong shape or of another training; names it and
            the remedy.
    """
    path, remedy = out / SUMMARY_FILE, "delete the folder to train again"
    try:
        summary = read_object(path, ("identity",), remedy=remedy)
    except FileNotFoundError:
        return None
    if identity not in (None, summary["identity"]):
        raise ValueError(
            f"{out}: holds another finished training (other settings, corpus or word vectors); "
            "give another folder"
        )
    if lost := [name for name in summary.get(FILES, ()) if not (out / name).is_file()]:
        logger.warning("%s: %s is gone; the training is run again", out, ", ".join(lost))
        return None
    return summary


def duration(seconds: float, *, digits: int = 0) -> str:
    """Returns a time rounded to what people care for: ``42 s``, ``3 min``, ``2 h 05 min``.

    Args:
        seconds: the time.
        digits: decimals of what is shorter than a minute.
    """
    if seconds < 59.5:
        return f"{seconds:.{digits}f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
