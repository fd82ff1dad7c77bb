"""The stages that bring what encoders are scored on: SentEval's data, and derived probing tasks."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import luigi

from treeviews.models.evaluation.build_probing import (
    FORMAT_VERSION,
    PROTOCOL,
    SENTEVAL_FOLDER,
    build_probing,
)
from treeviews.models.evaluation.probing_sentences import PROBING_VERSION, ProbingConfig
from treeviews.models.model.model_description import checksum_of_weights, parsers_of_corpus
from treeviews.pipeline.downloads.senteval_data import (
    MANIFEST_NAME,
    SENTEVAL_SETS,
    DataManifest,
    Dataset,
    collect_datasets,
    datasets_named,
    digest_of_declaration,
    read_manifest,
)
from treeviews.pipeline.text.tokenization import TOKENIZATION_VERSION
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.checks import Check
from treeviews.tasks.parameter_kinds import settings_of
from treeviews.tasks.parameters import (
    CorpusParameters,
    EvaluationDataParameters,
    HeldOutParameters,
    ParserParameters,
)
from treeviews.tasks.parsing import PARSE_STAGES
from treeviews.tasks.sentences import SplitSentences

RUN_BEGAN_AT = time.time()
"""When this run of Luigi began, in seconds since 1970; its forked workers inherit it."""


class DownloadSentEval(EvaluationDataParameters, Artefact):
    """Downloads SentEval's data.

    Output: ``downstream/``, ``probing/`` and ``manifest.json``, which says where each set came from
    and how it was verified, or why it is absent. All choices of sets share one folder. If a set
    fails, the others are still downloaded and kept, the task fails at its end, and the next run
    tries only the missing sets. With ``allow_absent`` the task succeeds and lists them as absent;
    each run tries them again, for example with ``--accept-unverified``.
    """

    senteval_data = ""
    marker = MANIFEST_NAME
    resources: ClassVar[dict[str, int]] = {"evaluation-data": 1}
    """One at a time: the tasks of all choices of sets fill the same folder."""

    datasets = luigi.Parameter(
        default="all", description="Sets separated by commas, such as MR,SST2, or all."
    )
    allow_absent = luigi.BoolParameter(
        significant=False, description="Succeed if sets are absent; the manifest lists them."
    )

    @cached_property
    def chosen(self) -> tuple[Dataset, ...]:
        """The sets that are asked for."""
        return datasets_named(self.datasets)

    def checks(self) -> list[Check]:
        """Refuses sets that there are none of."""
        return [*super().checks(), lambda: self.chosen]

    def content(self) -> dict[str, Any]:
        """Returns the declaration's digest."""
        return {
            "declaration": digest_of_declaration(SENTEVAL_SETS),
            "tokenization_version": TOKENIZATION_VERSION,
        }

    def place(self) -> Path:
        """Returns the folder of the evaluation data."""
        return self.work_folder / "evaluation-data" / "senteval"

    def is_whole(self) -> bool:
        """Returns whether the chosen sets are there or, where that will do, asked for in vain."""
        manifest = read_manifest(self.folder)
        lacking = list(self._lacking(manifest))
        return not lacking or (self.allow_absent and manifest.tried_in_vain(lacking, RUN_BEGAN_AT))

    def fill(self) -> None:
        """Brings what is missing; fails at the end if a set is absent and must not be."""
        self.write_config()
        manifest = collect_datasets(
            self.chosen,
            self.folder,
            self.work_folder / "downloads" / "senteval",
            mirror=self.mirror,
            accept_unverified=self.accept_unverified,
            on_progress=self.report_progress,
        )
        lacking = self._lacking(manifest)
        if lacking and not self.allow_absent:
            listed = "\n".join(f"  {name}: {reason}" for name, reason in lacking.items())
            raise RuntimeError(
                f"{len(lacking)} of {len(self.chosen)} sets are absent; the others are kept in "
                f"{self.folder}. Run again to ask for these alone, or with --allow-absent to "
                f"go on without them:\n{listed}"
            )

    def _lacking(self, manifest: DataManifest) -> dict[str, str]:
        return manifest.lacking([dataset.name for dataset in self.chosen], self.folder)


class BuildProbing(CorpusParameters, HeldOutParameters, ParserParameters, Artefact):
    """Builds probing tasks from the held-out documents of a corpus.

    Output: ``senteval/``, the tasks in SentEval's format with the document and parses of each
    sentence, and a summary. ``EvaluateTask --derived`` scores an encoder on them.
    """

    marker = "probing.json"

    def requires(self) -> dict[str, Artefact]:
        """Returns the sentences of the corpus and both parses."""
        parses = {name: self.clone(stage) for name, stage in PARSE_STAGES.items()}
        return {"sentences": self.clone(SplitSentences), **parses}

    @property
    def config(self) -> ProbingConfig:
        """Sizes, limits and seeds of the tasks, and which documents are held out."""
        return settings_of(self, ProbingConfig, self.probing_changes)

    def content(self) -> dict[str, Any]:
        """Returns the configuration and the digests of sentences and parses."""
        return {
            "probing": self.config.to_dict(),
            "probing_version": PROBING_VERSION,
            "format_version": FORMAT_VERSION,
            "protocol": dict(PROTOCOL),
            **{name: task.digest for name, task in self.requires().items()},
        }

    def place(self) -> Path:
        """Returns the probing folder."""
        return self.work_folder / "probing" / str(self.source)

    @property
    def data_folder(self) -> Path:
        """The folder of the tasks, laid out as what SentEval calls ``data``."""
        return self.folder / SENTEVAL_FOLDER

    def fill(self) -> None:
        """Builds all tasks in one pass over the held-out sentences."""
        self.write_config()
        folders = {name: task.folder for name, task in self.requires().items()}
        # Fast parses are not what an encoder's exact parser of the same weights would give.
        named = parsers_of_corpus(folders)
        parsers = {k: full for k, (_, full) in named.items() if full == checksum_of_weights(full)}
        build_probing(folders, self.folder, self.config, parsers=parsers)
