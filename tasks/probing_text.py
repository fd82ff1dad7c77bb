"""The stages that make and parse the altered sentences of some probing tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.evaluation.probing.alterations.make import make_altered_sentences
from models.evaluation.probing.config import ALTERATION_VERSION, ProbingConfig
from tasks.artefact import Artefact
from tasks.parameters import CorpusParameters, HeldOutParameters, ParserParameters, joined
from tasks.parsing import ParseConstituents, ParseDependencies
from tasks.sentences import SplitSentences


class AlterSentences(CorpusParameters, HeldOutParameters, ParserParameters, Artefact):
    """Alters half of the held-out sentences, once for each task that asks what was altered.

    Swaps two words (bigram shift), swaps two clauses (coordination inversion), or replaces a word
    (odd word out). Output: sentence shards like the corpus's own, to be parsed by the same
    parsers, and the list of what was altered and what was not.
    """

    def requires(self) -> dict[str, Artefact]:
        """Returns the sentences and their constituents, which say what can be altered."""
        return {
            "sentences": self.clone(SplitSentences),
            "constituents": self.clone(ParseConstituents),
        }

    @property
    def config(self) -> ProbingConfig:
        """Which documents are held out, and the seed of the alterations."""
        own = {
            "seed": self.probing_seed,
            "held_out_fraction": self.held_out_fraction,
            "held_out_seed": self.held_out_seed,
            "held_out_unit": self.held_out_unit,
        }
        return ProbingConfig.from_dict(joined(dict(self.probing_changes), own, "probing_changes"))

    def content(self) -> dict[str, Any]:
        """Returns the digests of what is read, and what of the configuration matters."""
        return {
            **{name: task.digest for name, task in self.requires().items()},
            "alterations": self.config.alteration_dict(),
            "alteration_version": ALTERATION_VERSION,
        }

    def place(self) -> Path:
        """Returns a folder beside the corpora."""
        return self.work_folder / "corpora" / f"{self.source}-altered"

    @property
    def folder(self) -> Path:
        """The sentence shards; their parses stand beside them."""
        return super().folder / "sentences"

    def run(self) -> None:
        """Writes the altered sentences."""
        self.write_config()
        stages = self.requires()
        make_altered_sentences(
            stages["sentences"].folder, stages["constituents"].folder, self.folder, self.config
        )


class ParseAlteredDependencies(HeldOutParameters, ParseDependencies):
    """Parses the altered sentences into dependency trees."""

    @property
    def sentences(self) -> Artefact:
        """The stage that writes the altered sentences."""
        upstream: Artefact = self.clone(AlterSentences)
        return upstream


class ParseAlteredConstituents(HeldOutParameters, ParseConstituents):
    """Parses the altered sentences into constituency trees."""

    @property
    def sentences(self) -> Artefact:
        """The stage that writes the altered sentences."""
        upstream: Artefact = self.clone(AlterSentences)
        return upstream
