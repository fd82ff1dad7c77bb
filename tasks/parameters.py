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
    """What is done to paragraphs before they are cut into sentences."""

    cleaning = ChoiceParameter(
        default="none",
        choices=list(PROFILES),
        description="Steps that change or refuse paragraphs before they are cut into sentences; "
        "clean: characters, boilerplate, shape, duplicates, language; needs py3langid.",
    )
    cleaning_changes = ChangesParameter(CleaningConfig, '{"language": ""}')

    def resolved_cleaning(self) -> CleaningConfig:
        """Returns which steps of cleaning are on.

        Raises:
            ValueError: a change of an unknown field, or out of range.
        """
        return profile(self.cleaning, dict(self.cleaning_changes))


class EngineParameters:
    """Where shards are made, and where other machines find them."""

    engine = ChoiceParameter(
        default="local",
        choices=["local", "ray"],
        significant=False,
        description="What runs the shard jobs: local, as many as Luigi has workers; ray: a Ray "
        "cluster, which needs ray.",
    )
    storage = AddressParameter(
        default="",
        significant=False,
        description="Folder or URL (s3://bucket/prefix) with the sentence and parsed shards that "
        "machines share; what is there is not made again. By default the work folder, which "
        "machines of a Ray cluster must then all reach under its path.",
    )
    ray_address = luigi.Parameter(
        default="auto",
        significant=False,
        description="With engine=ray: host:port of the cluster's head; auto: the cluster that this "
        "machine is part of; local: one of this machine alone, for the time of a stage.",
    )
    gpus_per_job = luigi.FloatParameter(
        default=0.0,
        significant=False,
        description="With engine=ray: part of a GPU that a shard job takes; 0.25: four share one.",
    )


@takes(HubDataset, SentenceConfig)
class CorpusParameters(CleaningParameters, EngineParameters):
    """Where the text comes from and how it is cut into sentences."""

    dataset: str

    source = ChoiceParameter(
        default="python-docs",
        choices=list(SOURCES),
        description="; ".join(f"{name}: {source.about}" for name, source in SOURCES.items()) + ".",
    )
    paths = luigi.Parameter(
        default="",
        description="For source=files and the published corpora: files, folders or globs, "
        "separated by commas. .txt, .md, .jsonl, .csv, .tsv and .tar of texts, each also as .gz, "
        ".bz2, .xz, .zst; .parquet, .arrow, .feather.",
    )
    text_format = ChoiceParameter(
        default=None,
        choices=sorted(SUFFIXES),
        description="What your files hold, where their names do not say it.",
    )
    url = AddressParameter(
        default="",
        description="For source=url and the published corpora: the address to download; a login "
        "in it (https://user:password@host) is sent to that host alone.",
    )
    sha256 = Sha256Parameter(
        default="", description="With url: the file's sha256, verified after the download."
    )
    max_download_gigabytes = luigi.FloatParameter(
        default=MAX_BYTES / GIGABYTE,
        significant=False,
        description="With url: the longest file that is taken.",
    )
    paragraphs = ChoiceParameter(
        default=None,
        choices=["blank-line", "line"],
        description="What ends a paragraph in your text: a blank line, or every line. By default "
        "a blank line; of umbc, and of bookcorpus's files of sentences, every line.",
    )
    text_field = luigi.OptionalParameter(
        default=None,
        description="Where a row is a document: the field or column of its text. By default text; "
        "of amazon-books reviewText.",
    )
    encoding = luigi.Parameter(default="utf-8", description="Encoding of your text.")

    def corpus_in_words(self) -> str:
        """Returns what text a run is about, as a person would say it."""
        where = self.paths or without_secrets(self.url) or self.dataset
        limit = settings_of(self, SentenceConfig).limit
        most = f", at most {limit} sentences" if limit else ""
        return f"{self.source}{f' ({where})' if where else ''}{most}"


@takes(ParseShardJob)
class ParserParameters(EngineParameters):
    """Which parsers to use, and where they run."""

    dependency_parser = ParserParameter(
        default=BUNDLED_PARSERS["dependencies"],
        description="A supar biaffine parser: its folder "
        f"({shown(BUNDLED_PARSERS['dependencies'])}, which ships, or one from "
        "TrainDependencyParser), the name of one that ships, such as dependency-large, a file that "
        "supar saved, or a published name such as biaffine-dep-en.",
    )
    dependency_parser_sha256 = Sha256Parameter(
        default="",
        description="Of the file, where it is an original one: a pickle is a program, and only one "
        "that you trust is read.",
    )
    constituency_parser = ParserParameter(
        default=BUNDLED_PARSERS["constituents"],
        description="A benepar chart parser: its folder "
        f"({shown(BUNDLED_PARSERS['constituents'])}, which ships, or one from "
        "TrainConstituencyParser), the name of one that ships, such as constituency-large, a file "
        "or folder that benepar saved, or a published name such as benepar_en3.",
    )
    constituency_parser_sha256 = Sha256Parameter(
        default="", description="Of the file, where it is an original one."
    )


@takes(HoldOut)
class HeldOutParameters:
    """Which documents are kept from training, for context accuracy and probing."""

    probing_seed = luigi.IntParameter(default=0, description="Seed of the probing tasks' samples.")
    probing_changes = ChangesParameter(ProbingConfig, '{"test_size": 5000}')


class VectorTrainingParameters:
    """How word vectors are trained on the corpus."""

    vector_changes = ChangesParameter(SkipGramConfig, '{"size": 300}')


@takes(LaunchSettings, RunSettings)
class TrainingParameters(VectorTrainingParameters):
    """What is trained: a preset of `models.config.training_presets`, and what differs from it."""

    views = luigi.Parameter(
        default="",
        description=f"One or two of {', '.join(VIEWS)}, separated by a comma; by default the "
        "preset's.",
    )
    preset = luigi.Parameter(
        default="laptop",
        description=f"One of {', '.join(PRESETS)}. laptop: some ten thousand sentences on two "
        "cores; structured-views: Simoulin & Crabbé as published; quickthoughts: two GRUs of "
        "Logeswaran & Lee; B-G, B-D, B-GD: Tang & de Sa's multi-view frameworks; C-linear, "
        "C-bijective: their invertible decoders; weighted-words, trees-beside-words: what made the "
        "encoders that ship.",
    )
    changes = ChangesParameter(TrainingConfig, '{"hidden_size": 600, "epochs": 2}')
    seed = luigi.IntParameter(default=0, description="Seed of initial weights and batch order.")
    further_seeds = NumbersParameter(
        default=[1, 2],
        description="Further seeds to train with, so that the report can tell training from "
        "chance, separated by commas; [] trains once.",
    )
    vectors = luigi.PathParameter(
        default=BUNDLED_VECTORS,
        description=f"Word vectors: a folder ({shown(BUNDLED_VECTORS)} ships), a text file in "
        "GloVe's or word2vec's format, or corpus: trained on the run's own text, which needs "
        "gensim. A folder called corpus needs its whole path.",
    )
    threads = luigi.IntParameter(
        default=0,
        significant=False,
        description="CPU threads of the training, all its processes together; 0: half of the "
        "cores, as other tasks run beside it.",
    )


class ModelParameters(CorpusParameters, HeldOutParameters, ParserParameters, TrainingParameters):
    """What a run's own model is made of: text, parses of it, and a training."""


class ExpansionParameters:
    """How the vocabulary of a model with trained words is expanded."""

    expansion_vectors = luigi.OptionalPathParameter(
        default=None, description="Word vectors of the words that are added; by default --vectors."
    )
    expansion_changes = ChangesParameter(ExpansionConfig, '{"ridge": 1.0}')


class EvaluationDataParameters:
    """Where SentEval's data come from."""

    senteval_data = luigi.Parameter(
        default="",
        description="Your own copy of SentEval's data folder: it holds downstream/ and "
        "probing/. Without it the data are downloaded.",
    )
    mirror = AddressParameter(
        default="",
        significant=False,
        description="Address under which all downloads of SentEval's data stand by their names, in "
        "place of the declared addresses.",
    )
    accept_unverified = luigi.BoolParameter(
        significant=False,
        description="Take sets whose sha256 nobody has published; later runs ask for what the "
        "first one got.",
    )


@takes(ProtocolConfig)
class SentEvalParameters(EvaluationDataParameters):
    """On which data encoders are scored, and how."""

    representation = luigi.Parameter(
        default="plain",
        description="How views become one vector: plain, or multi-view (Tang & de Sa).",
    )
    representation_changes = ChangesParameter(Representation, '{"join_words": true}')
    protocol_changes = ChangesParameter(ProtocolConfig, '{"standardise": true}')
    encoder_version = luigi.Parameter(
        default="",
        description="Of a function of your own, which needs one: change it when anything that the "
        "function reads or imports changes. A change of its own module is seen.",
    )
    on_refusal = ChoiceParameter(
        default="limit",
        choices=["limit", "zero", "error"],
        significant=False,
        description="What becomes of sentences that an encoder cannot take: zeros for up to a "
        "tenth of a set, zeros for any number, or an error. They are counted in the result.",
    )

    def resolved_representation(self) -> dict[str, Any]:
        """Returns every field of the representation."""
        changes = dict(self.representation_changes)
        return representation_named(str(self.representation), **changes).to_dict()

    def resolved_protocol(self) -> dict[str, Any]:
        """Returns every field of the protocol."""
        return settings_of(self, ProtocolConfig, self.protocol_changes).to_dict()
