"""Parameters that several tasks share, each defined and described once."""

from __future__ import annotations

from typing import Any

import luigi

from treeviews.models.config.held_out import HoldOut
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import PRESETS
from treeviews.models.config.views import VIEWS
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.probing_sentences import ProbingConfig
from treeviews.models.evaluation.representation import Representation, representation_named
from treeviews.models.train_word_vectors import SkipGramConfig
from treeviews.models.training.launching import LaunchSettings
from treeviews.models.training.training_job import RunSettings
from treeviews.models.words.vocabulary_expansion import ExpansionConfig
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, BUNDLED_VECTORS, shown
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.downloads.download import MAX_BYTES
from treeviews.pipeline.downloads.hub_dataset import HubDataset
from treeviews.pipeline.parsing.parse_shard import ParseShardJob
from treeviews.pipeline.text.cleaning_steps import PROFILES, CleaningConfig, profile
from treeviews.pipeline.text.text_files import SUFFIXES
from treeviews.pipeline.text.text_sources import SOURCES
from treeviews.pipeline.text.tokenization import SentenceConfig
from treeviews.tasks.parameter_kinds import (
    AddressParameter,
    ChangesParameter,
    ChoiceParameter,
    NumbersParameter,
    ParserParameter,
    Sha256Parameter,
    settings_of,
    takes,
)

GIGABYTE = 1_000_000_000


class CleaningParameters:
    """Cleaning of paragraphs before sentence splitting."""

    cleaning = ChoiceParameter(
        default="none",
        choices=list(PROFILES),
        description="Steps that change or refuse paragraphs; clean: characters, boilerplate, "
        "shape, duplicates and language (needs py3langid).",
    )
    cleaning_changes = ChangesParameter(CleaningConfig, '{"language": ""}')

    def resolved_cleaning(self) -> CleaningConfig:
        """Returns which steps of cleaning are on.

        Raises:
            ValueError: a change of an unknown field, or out of range.
        """
        return profile(self.cleaning, dict(self.cleaning_changes))


class EngineParameters:
    """Where shards are made and shared."""

    engine = ChoiceParameter(
        default="local",
        choices=["local", "ray"],
        significant=False,
        description="Where shard jobs run: local: on this machine, one per worker; ray: on a Ray "
        "cluster (needs ray).",
    )
    storage = AddressParameter(
        default="",
        significant=False,
        description="Folder or URL (s3://bucket/prefix) of the shards that machines share; "
        "existing shards are reused. Default: the work folder, which all machines of a Ray cluster "
        "must then have under the same path.",
    )
    ray_address = luigi.Parameter(
        default="auto",
        significant=False,
        description="With engine=ray: host:port of the cluster's head; auto: the cluster that this "
        "machine belongs to; local: a temporary cluster on this machine for each stage.",
    )
    gpus_per_job = luigi.FloatParameter(
        default=0.0,
        significant=False,
        description="With engine=ray: GPUs per shard job; with 0.25, four jobs share one.",
    )


@takes(HubDataset, SentenceConfig)
class CorpusParameters(CleaningParameters, EngineParameters):
    """Text and sentence splitting."""

    dataset: str

    source = ChoiceParameter(
        default="python-docs",
        choices=list(SOURCES),
        description="; ".join(f"{name}: {source.about}" for name, source in SOURCES.items()) + ".",
    )
    paths = luigi.Parameter(
        default="",
        description="Files, folders or globs for source=files and published corpora, separated by "
        "commas: .txt, .md, .jsonl, .csv, .tsv, .tar (also as .gz, .bz2, .xz, .zst), .parquet, "
        ".arrow, .feather.",
    )
    text_format = ChoiceParameter(
        default=None,
        choices=sorted(SUFFIXES),
        description="Format of files whose names do not tell it.",
    )
    url = AddressParameter(
        default="",
        description="Address to download for source=url and published corpora; a login in it "
        "(https://user:password@host) is sent to that host only.",
    )
    sha256 = Sha256Parameter(default="", description="sha256 of the download, which is verified.")
    max_download_gigabytes = luigi.FloatParameter(
        default=MAX_BYTES / GIGABYTE,
        significant=False,
        description="Largest file to download.",
    )
    paragraphs = ChoiceParameter(
        default=None,
        choices=["blank-line", "line"],
        description="What ends a paragraph: a blank line or every line. Default: a blank line; for "
        "umbc and bookcorpus's files of sentences, every line.",
    )
    text_field = luigi.OptionalParameter(
        default=None,
        description="Field or column with the text of a row. Default: text; for amazon-books, "
        "reviewText.",
    )
    encoding = luigi.Parameter(default="utf-8", description="Encoding of the text.")

    def corpus_in_words(self) -> str:
        """Returns what text a run is about, as a person would say it."""
        where = self.paths or without_secrets(self.url) or self.dataset
        limit = settings_of(self, SentenceConfig).limit
        most = f", at most {limit} sentences" if limit else ""
        return f"{self.source}{f' ({where})' if where else ''}{most}"


@takes(ParseShardJob)
class ParserParameters(EngineParameters):
    """Parsers."""

    dependency_parser = ParserParameter(
        default=BUNDLED_PARSERS["dependencies"],
        description="A supar biaffine parser: its folder "
        f"({shown(BUNDLED_PARSERS['dependencies'])}, or one made by TrainDependencyParser), the "
        "name of a bundled parser such as dependency-large, a file saved by supar, or a published "
        "name such as biaffine-dep-en.",
    )
    dependency_parser_sha256 = Sha256Parameter(
        default="",
        description="sha256 of a file saved by supar: it is a pickle, which can run code, so only "
        "a file that you trust is read.",
    )
    constituency_parser = ParserParameter(
        default=BUNDLED_PARSERS["constituents"],
        description="A benepar chart parser: its folder "
        f"({shown(BUNDLED_PARSERS['constituents'])}, or one made by TrainConstituencyParser), the "
        "name of a bundled parser such as constituency-large, a file or folder saved by benepar, "
        "or a published name such as benepar_en3.",
    )
    constituency_parser_sha256 = Sha256Parameter(
        default="", description="sha256 of a file saved by benepar."
    )


@takes(HoldOut)
class HeldOutParameters:
    """Held-out documents and probing tasks."""

    probing_seed = luigi.IntParameter(default=0, description="Seed for sampling the probing tasks.")
    probing_changes = ChangesParameter(ProbingConfig, '{"test_size": 5000}')


class VectorTrainingParameters:
    """Training of word vectors on the corpus."""

    vector_changes = ChangesParameter(SkipGramConfig, '{"size": 300}')


@takes(LaunchSettings, RunSettings)
class TrainingParameters(VectorTrainingParameters):
    """Training: a preset and changes to it."""

    views = luigi.Parameter(
        default="",
        description=f"One or two of {', '.join(VIEWS)}, separated by a comma. Default: the "
        "preset's.",
    )
    preset = luigi.Parameter(
        default="laptop",
        description=f"One of {', '.join(PRESETS)}. laptop: some ten thousand sentences on two "
        "cores; structured-views: Simoulin & Crabbé as published; quickthoughts: two GRUs of "
        "Logeswaran & Lee; B-G, B-D, B-GD: Tang & de Sa's multi-view frameworks; C-linear, "
        "C-bijective: their invertible decoders; weighted-words, trees-beside-words: those of the "
        "bundled encoders.",
    )
    changes = ChangesParameter(TrainingConfig, '{"hidden_size": 600, "epochs": 2}')
    seed = luigi.IntParameter(default=0, description="Seed for weights and batch order.")
    further_seeds = NumbersParameter(
        default=[1, 2],
        description="More seeds to train with, so that the report can show the variation between "
        "seeds, separated by commas; [] trains once.",
    )
    vectors = luigi.PathParameter(
        default=BUNDLED_VECTORS,
        description=f"Word vectors: a folder ({shown(BUNDLED_VECTORS)} is bundled), a text file in "
        "GloVe's or word2vec's format, or corpus, to train them on the text of the run (needs "
        "gensim). Give a folder named corpus by its full path.",
    )
    threads = luigi.IntParameter(
        default=0,
        significant=False,
        description="CPU threads of all training processes together; 0: half of the cores, because "
        "other tasks run in parallel.",
    )


class ModelParameters(CorpusParameters, HeldOutParameters, ParserParameters, TrainingParameters):
    """What a run's own model is made of: text, parses of it, and a training."""


class ExpansionParameters:
    """Vocabulary expansion."""

    expansion_vectors = luigi.OptionalPathParameter(
        default=None, description="Word vectors with the words to add. Default: --vectors."
    )
    expansion_changes = ChangesParameter(ExpansionConfig, '{"ridge": 1.0}')


class EvaluationDataParameters:
    """SentEval's data."""

    senteval_data = luigi.Parameter(
        default="",
        description="Your copy of SentEval's data folder, with downstream/ and probing/. Without "
        "it, the data are downloaded.",
    )
    mirror = AddressParameter(
        default="",
        significant=False,
        description="Address of a mirror that has all downloads of SentEval's data by their file "
        "names.",
    )
    accept_unverified = luigi.BoolParameter(
        significant=False,
        description="Accept files without a published sha256; later runs require the same files "
        "as the first.",
    )


@takes(ProtocolConfig)
class SentEvalParameters(EvaluationDataParameters):
    """Evaluation."""

    representation = luigi.Parameter(
        default="plain",
        description="How to combine views: plain, or multi-view (Tang & de Sa).",
    )
    representation_changes = ChangesParameter(Representation, '{"join_words": true}')
    protocol_changes = ChangesParameter(ProtocolConfig, '{"standardise": true}')
    encoder_version = luigi.Parameter(
        default="",
        description="Version of your own function, which needs one: change it when anything that "
        "the function reads or imports changes. Changes of its own module are noticed.",
    )
    on_refusal = ChoiceParameter(
        default="limit",
        choices=["limit", "zero", "error"],
        significant=False,
        description="For sentences that an encoder refuses: zeros, but an error if they exceed a "
        "tenth of a data set (limit); always zeros (zero); or an error.",
    )

    def resolved_representation(self) -> dict[str, Any]:
        """Returns every field of the representation."""
        changes = dict(self.representation_changes)
        return representation_named(str(self.representation), **changes).to_dict()

    def resolved_protocol(self) -> dict[str, Any]:
        """Returns every field of the protocol."""
        return settings_of(self, ProtocolConfig, self.protocol_changes).to_dict()
