"""The stage that makes the probing tasks of a corpus."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from treeviews.models.evaluation.build_probing import (
    FORMAT_VERSION,
    PROTOCOL,
    SENTEVAL_FOLDER,
    build_probing,
)
from treeviews.models.evaluation.probing_sentences import (
    PROBING_VERSION,
    ParsedFolders,
    ProbingConfig,
)
from treeviews.models.model.model_description import exact_parsers_of_corpus
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.parameter_kinds import joined
from treeviews.tasks.parameters import CorpusParameters, HeldOutParameters, ParserParameters
from treeviews.tasks.parsing import ParseConstituents, ParseDependencies
from treeviews.tasks.sentences import SplitSentences


class BuildProbing(CorpusParameters, HeldOutParameters, ParserParameters, Artefact):
    """Builds probing tasks from the parsed corpus's held-out documents.

    Output: ``senteval/``, the tasks in SentEval's format with their sentences' documents and
    parses, and a summary. They are scored like SentEval's, by ``EvaluateTask --derived``.
    """

    marker = "probing.json"

    def requires(self) -> dict[str, Artefact]:
        """Returns the sentences of the corpus and both parses."""
        return {
            "sentences": self.clone(SplitSentences),
            "dependencies": self.clone(ParseDependencies),
            "constituents": self.clone(ParseConstituents),
        }

    @property
    def config(self) -> ProbingConfig:
        """Sizes, limits and seeds of the tasks, and which documents are held out."""
        own = {
            "seed": self.probing_seed,
            "held_out_fraction": self.held_out_fraction,
            "held_out_seed": self.held_out_seed,
            "held_out_unit": self.held_out_unit,
        }
        return ProbingConfig.from_dict(joined(self.probing_changes, own, ProbingConfig.called))

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
        folders = ParsedFolders(**{name: task.folder for name, task in self.requires().items()})
        # Fast parses are not what an encoder's exact parser of the same weights would give.
        parsers = exact_parsers_of_corpus(asdict(folders))
        build_probing(folders, self.folder, self.config, parsers=parsers)
