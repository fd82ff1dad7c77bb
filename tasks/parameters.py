"""Parameters that several tasks share, each defined and described once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import luigi

from treeviews.models.config.views import VIEWS
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.representation import representation_named
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, BUNDLED_VECTORS, shown
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.downloads.download import MAX_BYTES
from treeviews.pipeline.parsers.sentence_parser import PRECISIONS
from treeviews.pipeline.text.text_files import SUFFIXES
from treeviews.pipeline.text.text_sources import SOURCES
from treeviews.tasks.cleaning import CleaningParameters
from treeviews.tasks.datasets import TEXT_FIELD, DatasetParameters
from treeviews.tasks.engine_parameters import (
    AddressParameter,
    ChoiceParameter,
    EngineParameters,
    ParserParameter,
    Sha256Parameter,
)


def joined(changes: Mapping[str, Any], own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns a configuration's changed fields together with those that are parameters.

    Raises:
        ValueError: a change of a field that has a parameter of its own.
    """
    doubled = sorted(set(changes) & set(own))
    if doubled:
        raise ValueError(f"{name} sets {', '.join(doubled)}: use the parameters of these names")
    return {**changes, **own}


GIGABYTE = 1_000_000_000


class CorpusParameters(DatasetParameters, CleaningParameters, EngineParameters):
    """Where the text comes from and how it is cut into sentences."""

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
    text_field = TEXT_FIELD
    encoding = luigi.Parameter(default="utf-8", description="Encoding of your text.")
    limit = luigi.IntParameter(default=0, description="Stop after so many sentences; 0 takes all.")
    min_tokens = luigi.IntParameter(default=1, description="Shorter sentences are quarantined.")
    max_tokens = luigi.IntParameter(default=100, description="Longer sentences are quarantined.")

    def corpus_in_words(self) -> str:
        """Returns what text a run is about, as a person would say it."""
        where = self.paths or without_secrets(self.url) or self.dataset
        limit = f", at most {self.limit} sentences" if self.limit else ""
        return f"{self.source}{f' ({where})' if where else ''}{limit}"


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
    dependency_parser_transformer = luigi.Parameter(
        default="",
        description="Folder or hub's name with the configuration and tokenizer of the transformer "
        "inside, where the file does not say it rightly.",
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
    constituency_parser_transformer = luigi.Parameter(
        default="",
        description="Folder or hub's name with the configuration and tokenizer of the transformer "
        "inside.",
    )
    parser_precision = ChoiceParameter(
        default="exact",
        choices=PRECISIONS,
        description="Arithmetic of the parsers: exact gives the libraries' own trees; fast is "
        "reduced to what the device is fast at, and changes a few answers.",
    )
    parser_batch_tokens = luigi.IntParameter(
        default=0,
        significant=False,
        description="Tokens that a parser is given at once; 0: as many as suit it and the device, "
        "on a GPU by its free memory.",
    )


class HeldOutParameters:
    """Which documents are kept from training, for context accuracy and probing."""

    held_out_fraction = luigi.FloatParameter(
        default=0.3, description="Share of the documents kept for evaluation."
    )
    held_out_seed = luigi.IntParameter(
        default=0, description="Seed of the choice of held-out documents."
    )
    held_out_unit = ChoiceParameter(
        default="document",
        choices=["document", "block"],
        description="What is held out: whole documents, or blocks of 50 sentences, for texts of "
        "few documents.",
    )
    probing_seed = luigi.IntParameter(default=0, description="Seed of the probing tasks' samples.")
    probing_changes = luigi.DictParameter(
        default={},
        description="Sizes and limits of the derived tasks to change, as JSON: "
        "'{\"test_size\": 5000}'. models/evaluation/probing_sentences.py describes them all.",
    )


class VectorTrainingParameters:
    """How word vectors are trained on the corpus."""

    vector_changes = luigi.DictParameter(
        default={},
        description="With vectors=corpus: settings of their training to change, as JSON: "
        "'{\"size\": 300}'. pipeline/vectors/skip_gram.py describes them all.",
    )


class TrainingParameters(VectorTrainingParameters):
    """What is trained: a preset of `models.config.training_presets`, and what differs from it."""

    views = luigi.Parameter(
        default="",
        description=f"One or two of {', '.join(VIEWS)}, separated by a comma; by default the "
        "preset's.",
    )
    preset = luigi.Parameter(
        default="laptop",
        description="laptop: some ten thousand sentences on two cores; structured-views: "
        "Simoulin & Crabbé as published; quickthoughts: Logeswaran & Lee's two GRUs; B-G, B-D, "
        "B-GD: Tang & de Sa's multi-view frameworks; C-linear, C-bijective: their invertible "
        "decoders; weighted-words, trees-beside-words: what made the encoders that ship.",
    )
    changes = luigi.DictParameter(
        default={},
        description="Fields of the preset to change, as JSON: "
        '\'{"hidden_size": 600, "epochs": 2}\'. models/config/training_config.py describes all.',
    )
    seed = luigi.IntParameter(default=0, description="Seed of initial weights and batch order.")
    further_seeds = luigi.ListParameter(
        default=[1, 2],
        description="Further seeds to train with, so that the report can tell training from "
        "chance; [] trains once.",
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
    processes = luigi.IntParameter(
        default=1,
        significant=False,
        description="Processes that train together, each on its part of every batch; on cuda each "
        "takes a device of its own.",
    )
    gemm = ChoiceParameter(
        default="auto",
        choices=["auto", "default", "onednn"],
        significant=False,
        description="Which matrix product the training uses on a CPU; auto: oneDNN's on AMD's "
        "processors with AVX-512 where it is as exact, PyTorch's default elsewhere.",
    )
    sentences_at_once = luigi.OptionalIntParameter(
        default=None,
        significant=False,
        description="A batch is encoded in pieces of so many sentences, and each piece twice: a "
        "large batch then takes the memory of a piece. By default all at once.",
    )
    checkpoint_every_seconds = luigi.FloatParameter(
        default=60.0,
        significant=False,
        description="Seconds between checkpoints: at most so much work is lost to a kill.",
    )


class ExpansionParameters:
    """How the vocabulary of a model with trained words is expanded."""

    expansion_vectors = luigi.OptionalPathParameter(
        default=None, description="Word vectors of the words that are added; by default --vectors."
    )
    expansion_changes = luigi.DictParameter(
        default={},
        description="Settings of models/words/vocabulary_expansion.py to change, such as "
        "'{\"ridge\": 1.0}'.",
    )


class EvaluationDataParameters:
    """Where SentEval's data come from."""

    senteval_data = luigi.Parameter(
        default="",
        description="Your own copy of SentEval's data folder: it holds downstream/, probing/ and "
        "words/. Without it the data are downloaded.",
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


class SentEvalParameters(EvaluationDataParameters):
    """On which data encoders are scored, and how."""

    representation = luigi.Parameter(
        default="plain",
        description="How views become one vector: plain, or multi-view (Tang & de Sa).",
    )
    representation_changes = luigi.DictParameter(
        default={},
        description="Fields of the representation to change, as JSON: '{\"join_words\": true}'. "
        "models/evaluation/representation.py describes them all.",
    )
    classifier = ChoiceParameter(
        default="logistic_regression",
        choices=["logistic_regression", "compatibility"],
        description="compatibility is SentEval's own classifier, trained by Adam.",
    )
    folds = luigi.IntParameter(default=10, description="Outer and inner folds.")
    grid_scale = luigi.FloatParameter(
        default=1.0,
        description="Factor on every C of SentEval's grids of the logistic regression; these suit "
        "raw features, 4 suits views of length 1, as the representation multi-view has.",
    )
    protocol_changes = luigi.DictParameter(
        default={},
        description="Further fields of the protocol to change, as JSON: '{\"standardise\": true}'. "
        "models/evaluation/evaluation_settings.py describes them all.",
    )
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
        fields = {
            "classifier": self.classifier,
            "num_folds": self.folds,
            "grid_scale": self.grid_scale,
        }
        changes = joined(dict(self.protocol_changes), fields, "protocol_changes")
        return ProtocolConfig.from_dict(changes).to_dict()
