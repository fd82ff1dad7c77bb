"""The stage that puts the scores of several encoders side by side."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path
from typing import Any

import luigi

from treeviews.models.encoding.encoder_names import BAG_OF_WORDS, READY
from treeviews.models.report.evaluation_table import evaluation_table
from treeviews.models.report.probing_table import RANDOM_SEEDS
from treeviews.pipeline.base.atomic_files import write_bytes_atomically, write_json_atomically
from treeviews.tasks.senteval import EvaluateEncoder, SentEvalStage


class EvaluateAll(SentEvalStage):
    """Scores encoders on all of SentEval's tasks, or the derived ones, and puts them side by side.

    Output: ``evaluation.md``, a table with intervals, and a folder an encoder of the results, as
    ``treeviews compare`` takes them. Tasks whose data is absent are listed as absent; each
    new run asks for them once more.
    """

    marker = "evaluation.json"
    announced = "evaluation.md"

    encoder = luigi.Parameter(
        default="",
        description="Encoders to score, separated by commas (of which no name may have one), each "
        "as EvaluateTask takes it; by default the trained model with every seed, three of random "
        f"weights, {', '.join(READY)} (where views are chosen, {BAG_OF_WORDS} alone).",
    )
    tasks = luigi.Parameter(default="all", description="Tasks, separated by commas, or all.")

    @property
    def encoders(self) -> list[str]:
        """The encoders to score, each once."""
        if self.encoder.strip(", "):
            names = (name.strip() for name in self.encoder.split(","))
            return list(dict.fromkeys(name for name in names if name))
        seeds = [seed for seed in self.further_seeds if seed != self.seed]
        # What has views of its own has none that are asked for.
        ready = READY if not self.resolved_representation().get("views") else (BAG_OF_WORDS,)
        return [
            "trained",
            *(f"trained-{seed}" for seed in seeds),
            *(f"random-{seed}" for seed in RANDOM_SEEDS),
            *ready,
        ]

    def _check_encoder(self) -> None:
        """Refuses unknown tasks; the encoders' own stages check these."""
        self.declared(self.tasks)

    def checked(self) -> list[luigi.Task]:
        """Returns one stage an encoder, also where some cannot be."""
        return [self.clone(EvaluateEncoder, encoder=encoder) for encoder in self.encoders]

    def requires(self) -> list[EvaluateEncoder]:
        """Returns one stage an encoder.

        Raises:
            ValueError: two names stand for the same encoder.
        """
        apart = max(1, len(self.declared(self.tasks)) // 2)
        stages = [
            self.clone(EvaluateEncoder, encoder=encoder, turn=place * apart)
            for place, encoder in enumerate(self.encoders)
        ]
        for place, stage in enumerate(stages):
            for other in stages[:place]:
                if stage.evaluated.content == other.evaluated.content:
                    both = f"{other.encoder} and {stage.encoder}"
                    raise ValueError(f"encoders {both} are the same one; name it once")
        return stages

    def content(self) -> dict[str, Any]:
        """Returns the digests of all evaluations."""
        return {"encoders": [stage.digest for stage in self.requires()]}

    def place(self) -> Path:
        """Returns the folder of the table."""
        return self.work_folder / "evaluation" / ("derived" if self.derived else "senteval")

    def complete(self) -> bool:
        """Returns whether every result stands, and the table made of these very results."""
        if not super().complete() or not all(stage.complete() for stage in self.requires()):
            return False
        folders = self.folders()
        pairs = (
            (Path(evaluation.output().path), folders[stage.encoder])
            for stage in self.requires()
            for evaluation in stage.evaluations
        )
        return all(
            (folder / result.name).is_file() and filecmp.cmp(result, folder / result.name)
            for result, folder in pairs
        )

    def folders(self) -> dict[str, Path]:
        """Returns the folder of each encoder's results; numbers tell apart what is called alike."""
        labels = {stage.encoder: stage.evaluated.label for stage in self.requires()}
        called = list(labels.values())
        return {
            encoder: self.folder / (label if called.count(label) == 1 else f"{place}-{label}")
            for place, (encoder, label) in enumerate(labels.items())
        }

    def fill(self) -> None:
        """Gathers the results and writes the table."""
        self.write_config()
        folders = self.folders()
        for stage in self.requires():
            folder = folders[stage.encoder]
            folder.mkdir(exist_ok=True)
            for evaluation in stage.evaluations:
                shutil.copy2(evaluation.output().path, folder)
        table = evaluation_table(list(folders.values()))
        write_bytes_atomically(self.folder / self.announced, table.encode())
        names = {encoder: folder.name for encoder, folder in folders.items()}
        write_json_atomically(self.folder / self.marker, {"encoders": names})
