"""The stage that makes pairs of a parsed corpus by syntax."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import luigi

from models.config.held_out import HoldOut
from models.corpus.parsed_corpus import CorpusFolders
from models.corpus.syntactic_pairs import PairsConfig, make_pairs
from pipeline.base.atomic_files import sweep_unfinished
from pipeline.shards.manifests import read_dataset_manifest, stands_whole
from tasks.artefact import Artefact
from tasks.parameters import CorpusParameters, HeldOutParameters, ParserParameters
from tasks.parsing import ParseConstituents, ParseDependencies
from tasks.sentences import SplitSentences

logger = logging.getLogger("luigi-interface")


class MakePairs(CorpusParameters, HeldOutParameters, ParserParameters, Artefact):
    """Makes of each sentence what says the same, and what says another thing in the same words.

    Output: a folder like a parsed corpus's, of groups that a training reads beside its text. It
    goes on at the first shard that is not complete.
    """

    marker = "constituents/manifest.json"  # the last of the three stages

    pairs = luigi.DictParameter(
        default={},
        description="How many are made of a sentence, as JSON: "
        '\'{"positives": 2, "negatives": 1, "seed": 0}\'; '
        "held_out_block_sentences with --held-out-unit block.",
    )

    def requires(self) -> dict[str, Artefact]:
        """Returns the sentences and both parses."""
        return {
            "sentences": self.clone(SplitSentences),
            "dependencies": self.clone(ParseDependencies),
            "constituents": self.clone(ParseConstituents),
        }

    @property
    def config(self) -> PairsConfig:
        """How many are made of a sentence, and the seed."""
        return PairsConfig.from_dict(dict(self.pairs))

    @property
    def hold_out(self) -> HoldOut:
        """Which sentences no pair is made of."""
        return HoldOut(
            self.held_out_fraction,
            self.held_out_seed,
            self.held_out_unit,
            self.config.held_out_block_sentences,
        )

    def content(self) -> dict[str, Any]:
        """Returns the configuration, what is held out, and the digests of the stages read."""
        return {
            **self.config.describe(self.hold_out),
            **{name: task.digest for name, task in self.requires().items()},
        }

    def place(self) -> Path:
        """Returns a folder beside the corpora."""
        return self.work_folder / "corpora" / f"{self.source}-pairs"

    @property
    def folders(self) -> CorpusFolders:
        """The folders of the stages."""
        return CorpusFolders(*(self.folder / name for name in self.requires()))

    def complete(self) -> bool:
        """Returns whether all three stages stand whole.

        Where a manifest is damaged they do not; the stage's run says what to do.
        """
        sentences = self.folder / "sentences"
        try:
            return bool(super().complete()) and all(
                stands_whole(self.folder / name, None if name == "sentences" else sentences)
                for name in self.requires()
            )
        except ValueError as error:
            logger.warning("%s", error)
            return False

    def seconds(self) -> float:
        """Returns the seconds of all three stages."""
        return sum(read_dataset_manifest(self.folder / name).seconds for name in self.requires())

    def fill(self) -> None:
        """Makes the pairs."""
        self.write_config()
        for name in self.requires():
            sweep_unfinished(self.folder / name)
        corpus = CorpusFolders(*(task.folder for task in self.requires().values()))
        make_pairs(
            corpus, self.folders, self.config, self.hold_out, on_progress=self.report_progress
        )
