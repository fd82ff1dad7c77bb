"""The stage that embeds a corpus: one task a dataset, one job in its own process a shard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from treeviews.models.config.views import needed_stages
from treeviews.models.encoding.corpus_embeddings import describe_embedding, open_encoder
from treeviews.models.encoding.encoder import EncoderSettings
from treeviews.models.encoding.encoder_names import OF_A_RUN, parse_encoder_name
from treeviews.models.model.model_description import (
    OPTION_OF_STAGE,
    find_parser,
    read_model_description,
)
from treeviews.pipeline.base.bundled import BUNDLED_MODELS
from treeviews.pipeline.shards.manifests import ShardRange
from treeviews.pipeline.shards.schema import EMBEDDINGS
from treeviews.pipeline.storage.shared_shards import SharedShards
from treeviews.pipeline.storage.stored_job import StoredJob
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.evaluated_encoder import EncoderParameters, EvaluatedEncoder
from treeviews.tasks.parameter_kinds import ChoiceParameter
from treeviews.tasks.parameters import SentEvalParameters
from treeviews.tasks.parsing import PARSE_STAGES, DerivedStage, ParseStage
from treeviews.tasks.training import TrainEncoders


class EmbedCorpus(EncoderParameters, DerivedStage):
    """Encodes every sentence of a corpus with any encoder.

    Output: shards of embeddings beside the sentences, row by row; a sentence that the encoder
    refuses is null. Requires the parses that the encoder reads, by the parsers that it was trained
    with; a word encoder requires only the sentences. On Ray, every machine must have the encoder's
    folder under the same path.
    """

    stage = EMBEDDINGS
    job_module = "treeviews.models.embed_shard"
    verb = "embedded"
    mixture_remedy = ": delete the shards of the others here and in the storage"

    encoder = luigi.Parameter(
        default="english",
        description="Name or folder of a model, models joined by +, trained, expanded, ensemble, "
        "random-SEED, bag_of_words, sif, or your own package.module:function, which gets the "
        "tokens of each sentence joined by spaces.",
    )
    encoder_version = SentEvalParameters.encoder_version
    dtype = ChoiceParameter(
        default="float32",
        choices=["float32", "float16"],
        description="Stored type; float16 takes half the space and keeps three digits.",
    )

    @cached_property
    def evaluated(self) -> EvaluatedEncoder:
        """The encoder, what determines its vectors and what must run before it is there."""
        return self.evaluated_encoder(self.encoder, self.encoder_version)

    @cached_property
    def parses(self) -> dict[str, ParseStage]:
        """The parses that the encoder reads, by the parsers that it was trained with.

        Raises:
            ValueError: such a parser is not found, or joined models have different ones.
        """
        name = parse_encoder_name(self.encoder)
        if name.kind in (*OF_A_RUN, "random"):
            stages = needed_stages(self.clone(TrainEncoders).config.views)
            return {stage: self.clone(PARSE_STAGES[stage]) for stage in stages}
        parses: dict[str, ParseStage] = {}
        for part in name.parts:
            for stage, parse in self._parses_of_model(part.folder).items():
                first = parses.setdefault(stage, parse)
                if first.used_parser.checksum != parse.used_parser.checksum:
                    raise ValueError(
                        f"encoder {self.encoder}: its models read {stage} by different parsers, "
                        "and a corpus is parsed by one; embed it by one model at a time"
                    )
        return parses

    def _parses_of_model(self, folder: Path) -> dict[str, ParseStage]:
        description = read_model_description(folder)
        stages = needed_stages(description.config.views)
        ships = folder in BUNDLED_MODELS.values()
        given = {} if ships else self._moved_parsers(stages)
        parses = {}
        for stage in stages:
            chosen = given.get(stage)
            if chosen is not None and chosen.requires:  # converted first, and compared by the job
                parses[stage] = self.clone(PARSE_STAGES[stage])
                continue
            record = description.parser(stage)
            place = find_parser(stage, record, None if chosen is None else chosen.folder)
            parses[stage] = self.clone(PARSE_STAGES[stage], **{OPTION_OF_STAGE[stage]: place})
        return parses

    def requires(self) -> dict[str, Artefact]:
        """Returns the sentences, the parses that the encoder reads, and what makes the encoder."""
        return {"sentences": self.sentences, **self.parses, **self.evaluated.requires}

    def content(self) -> dict[str, Any]:
        """Returns the digests of what is read, and everything that determines the vectors."""
        return {
            "sentences": self.sentences.digest,
            "parses": {stage: parse.digest for stage, parse in self.parses.items()},
            "encoder": self.evaluated.content,
            "dtype": self.dtype,
            **describe_embedding(),
        }

    def place(self) -> Path:
        """Returns a folder beside the sentence shards."""
        return self.sentences.folder.parent / f"{EMBEDDINGS}-{self.evaluated.label}"

    @cached_property
    def encoder_digest(self) -> str:
        """Of the encoder as this machine has it, which all others must find."""
        settings = EncoderSettings.from_dict({**self.evaluated.settings, "device": "cpu"})
        return open_encoder(self.evaluated.spec, settings, self.encoder_version).digest

    def shard_job(self) -> dict[str, Any]:
        """Returns the job that embeds shards on this machine."""
        return {
            "encoder": self.evaluated.spec,
            "version": self.encoder_version,
            "dtype": self.dtype,
            "parses": {stage: str(parse.folder) for stage, parse in self.parses.items()},
            "settings": {**self.evaluated.settings, "device": self.device},
            "sentences": str(self.sentences.folder),
            "output": str(self.folder),
        }

    def read_folders(self) -> dict[str, Path]:
        """Returns the sentences and the parses that the encoder reads."""
        parses = {f"parses/{stage}": parse.folder for stage, parse in self.parses.items()}
        return {**super().read_folders(), **parses}

    def describe(self) -> Callable[[], Mapping[str, Any]]:
        """Returns what says by which releases a machine embeds."""
        return describe_embedding

    def stored_job(self, shared: SharedShards, run: ShardRange) -> StoredJob:
        """Returns the job of a range of shards that any machine runs, by the encoder it finds."""
        job = super().stored_job(shared, run)
        return replace(job, values={**job.values, "encoder_digest": self.encoder_digest})
