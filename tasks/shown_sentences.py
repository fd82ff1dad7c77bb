"""The stage that shows sentences as views see them: nearest neighbours and maps, for the report."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from models.encoding.encoder_names import BAG_OF_WORDS
from models.evaluation.tasks.declarations import DERIVED, tasks_named
from pipeline.base.foreign_text import listed_strings
from tasks.artefact import Artefact, run_job
from tasks.evaluated_encoder import EncoderParameters
from tasks.probing_text import BuildProbing
from tasks.senteval import EvaluateEncoder

SHOWING_VERSION = 2
"""Raised when the same vectors would show other sentences."""
ENCODERS = {"trained": "trained", "random-0": "random weights", BAG_OF_WORDS: "mean of the words"}
"""Whose views are shown -> what is said of them."""


class ShownParameters:
    """Which sentences are shown."""

    map_tasks = luigi.Parameter(
        default="SentLen,TopConst",
        description="Derived tasks of single sentences, separated by commas, of which the report "
        "has a map each; an empty one draws none.",
    )
    queries = luigi.ListParameter(
        default=[],
        description="Sentences of your own whose nearest held-out neighbours the report shows, as "
        "JSON: '[\"A dog slept.\"]'; [] takes a few of the held-out ones.",
    )
    neighbours = luigi.IntParameter(
        default=3, description="How many neighbours of each the report shows, 1 to 20."
    )


class ShowSentences(ShownParameters, EncoderParameters, Artefact):
    """Finds sentences that are near to a few, by each view, and maps tasks' sentences.

    Of the trained model's views, the same with random weights, and the mean of the words. Input:
    the derived tasks and the embeddings that their scores were computed from. Output:
    ``sentences.json``. Takes some seconds.
    """

    marker = "sentences.json"

    @property
    def probing(self) -> BuildProbing:
        """The task that derives the probing tasks."""
        task: BuildProbing = self.clone(BuildProbing)
        return task

    @cached_property
    def shown_tasks(self) -> list[str]:
        """The tasks that are mapped, by name.

        Raises:
            ValueError: one of them is no derived task of single sentences.
        """
        if not self.map_tasks.strip(", "):
            return []
        found = tasks_named(self.map_tasks)
        usable = [task for task in DERIVED if task.features == "sentence"]
        for task in found:
            if task not in usable:
                known = ", ".join(one.name for one in usable)
                raise ValueError(f"map_tasks: {task.name} cannot be mapped; choose among {known}")
        return [task.name for task in found]

    @property
    def scored(self) -> dict[str, EvaluateEncoder]:
        """The scoring of each encoder, whose embeddings are taken."""
        return {
            called: self.clone(
                EvaluateEncoder, encoder=called, derived=True, **EvaluateEncoder.usual()
            )
            for called in ENCODERS
        }

    @cached_property
    def asked(self) -> list[str]:
        """The sentences of the user's own.

        Raises:
            ValueError: one is no string, or has no words.
        """
        queries = listed_strings(self.queries, hint="; give a list of sentences")
        if not all(query.strip() for query in queries):
            raise ValueError("queries: one of them is empty; leave it out")
        return queries

    def check(self) -> None:
        """Refuses what cannot be shown.

        Raises:
            ValueError: a parameter is none that can be.
        """
        if not 1 <= self.neighbours <= 20:
            raise ValueError(f"neighbours must lie between 1 and 20, got {self.neighbours}")
        self.shown_tasks, self.asked  # noqa: B018 - asked for their refusals

    def requires(self) -> dict[str, Artefact]:
        """Returns the tasks' data, what the encoders take, and their scoring.

        Raises:
            ValueError: a parameter is none that can be shown.
        """
        self.check()
        encoders = [self.evaluated_encoder(called) for called in ENCODERS]
        needed = {name: task for one in encoders for name, task in one.requires.items()}
        return {"probing": self.probing, **needed, **self.scored}

    def content(self) -> dict[str, Any]:
        """Returns the encoders, the tasks and what is shown of them."""
        return {
            "encoders": {name: self.evaluated_encoder(name).content for name in ENCODERS},
            "probing": self.probing.digest,
            "map_tasks": self.shown_tasks,
            "queries": self.asked,
            "neighbours": self.neighbours,
            "showing_version": SHOWING_VERSION,
        }

    def place(self) -> Path:
        """Returns the folder."""
        return self.work_folder / "sentences" / str(self.source)

    def fill(self) -> None:
        """Runs the job on one thread, as what encodes does; embeddings are kept, so it is short."""
        self.write_config()
        encoders = [(words, self.evaluated_encoder(name)) for name, words in ENCODERS.items()]
        job = {
            "encoders": [
                {"words": words, "encoder": one.spec, "encoder_settings": one.settings}
                for words, one in encoders
            ],
            "data": str(self.probing.data_folder),
            "tasks": self.shown_tasks,
            "out": str(self.folder / self.marker),
            "queries": self.asked,
            "neighbours": self.neighbours,
            "seed": self.probing_seed,
            "parses": str(self.work_folder / "evaluation-parses"),
            "device": self.device,
            "threads": 1,
        }
        run_job(self, "models.show_sentences", job, self.folder / "job.json", threads=1)
