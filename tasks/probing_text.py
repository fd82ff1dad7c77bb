"""The stage that makes the altered sentences of the bigram-shift probing task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.evaluation.probing.config import SHIFT_VERSION, ProbingConfig
from models.evaluation.probing.shifts import make_shifted_sentences
from tasks.artefact import Artefact
from tasks.parameters import CorpusParameters, HeldOutParameters, joined
from tasks.sentences import SplitSentences


class ShiftBigrams(CorpusParameters, HeldOutParameters, Artefact):
    """Swaps two neighbouring words in half of the held-out sentences.

    Output: sentence shards like the corpus's own, to be parsed by the same parsers.
    """

    def requires(self) -> SplitSentences:
        """Returns the stage that writes the sentences."""
        return self.clone(SplitSentences)

    @property
    def config(self) -> ProbingConfig:
        """Which documents are held out, and the seed of the swaps."""
        own = {
            "seed": self.probing_seed,
            "held_out_fraction": self.held_out_fraction,
            "held_out_seed": self.held_out_seed,
            "held_out_unit": self.held_out_unit,
        }
        return ProbingConfig.from_dict(joined(dict(self.probing_changes), own, "probing_changes"))

    def content(self) -> dict[str, Any]:
        """Returns the sentences' digest and what of the configuration the swaps depend on."""
        return {
            "sentences": self.requires().digest,
            "shift": self.config.shift_dict(),
            "shift_version": SHIFT_VERSION,
        }

    def place(self) -> Path:
        """Returns a folder beside the corpora."""
        return self.work_folder / "corpora" / f"{self.source}-bigram-shift"

    @property
    def folder(self) -> Path:
        """The sentence shards; their parses stand beside them."""
        return super().folder / "sentences"

    def run(self) -> None:
        """Writes the altered sentences."""
        self.write_config()
        make_shifted_sentences(self.requires().folder, self.folder, self.config)
