"""Parameters that several tasks share, each defined and described once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import luigi

from models.evaluation.protocols.config import ProtocolConfig
from models.evaluation.representations.representation import representation_named

BUNDLED_DEPENDENCY_PARSER = Path("data/parsers/dependency")
BUNDLED_CONSTITUENCY_PARSER = Path("data/parsers/constituency")
BUNDLED_VECTORS = Path("data/vectors/english")


def joined(changes: Mapping[str, Any], own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns a configuration's changed fields together with those that are parameters.

    Raises:
        ValueError: a change of a field that has a parameter of its own.
    """
    doubled = sorted(set(changes) & set(own))
    if doubled:
        raise ValueError(f"{name} sets {', '.join(doubled)}: use the parameters of these names")
    return {**changes, **own}


class CorpusParameters:
    """Where the text comes from and how it is cut into sentences."""

    source = luigi.ChoiceParameter(
        default="python-docs",
        choices=["python-docs", "files", "url"],
        description="python-docs: the documentation in this interpreter, offline; files: your own "
        "text; url: a download.",
    )
    paths = luigi.Parameter(
        default="",
        description="For source=files: files, folders or globs, separated by commas. "
        ".txt, .md, .jsonl, each also as .gz, .bz2, .xz, .zst.",
    )
    url = luigi.Parameter(default="", description="For source=url: the address to download.")
    sha256 = luigi.Parameter(
        default="", description="For source=url: the file's sha256, verified after the download."
    )
    paragraphs = luigi.ChoiceParameter(
        default="blank-line",
        choices=["blank-line", "line"],
        description="What ends a paragraph in your text: a blank line, or every line.",
    )
    text_field = luigi.Parameter(default="text", description="For .jsonl: the field of the text.")
    encoding = luigi.Parameter(default="utf-8", description="Encoding of your text.")
    limit = luigi.IntParameter(default=0, description="Stop after so many sentences; 0 takes all.")
    min_tokens = luigi.IntParameter(default=1, description="Shorter sentences are quarantined.")
    max_tokens = luigi.IntParameter(default=100, description="Longer sentences are quarantined.")


class ParserParameters:
    """Which parsers to use."""

    dependency_parser = luigi.PathParameter(
        default=BUNDLED_DEPENDENCY_PARSER,
        description="Folder of a supar biaffine parser (bundled, or from TrainDependencyParser).",
    )
    constituency_parser = luigi.PathParameter(
        default=BUNDLED_CONSTITUENCY_PARSER,
        description="Folder of a benepar chart parser (bundled, or from TrainConstituencyParser).",
    )


class HeldOutParameters:
    """Which documents are kept from training, for context accuracy and probing."""

    held_out_fraction = luigi.FloatParameter(
        default=0.3, description="Share of the documents kept for evaluation."
    )
    held_out_seed = luigi.IntParameter(
        default=0, description="Seed of the choice of held-out documents."
    )
    held_out_unit = luigi.ChoiceParameter(
        default="document",
        choices=["document", "block"],
        description="What is held out: whole documents, or blocks of 50 sentences, for texts of "
        "few documents.",
    )
    probing_seed = luigi.IntParameter(
        default=0, description="Seed of the probing tasks' samples and altered sentences."
    )
    probing_changes = luigi.DictParameter(
        default={},
        description="Sizes and limits of the probing tasks to change, as JSON: "
        "'{\"test_size\": 5000}'. models/evaluation/probing/config.py describes them all.",
    )


class TrainingParameters:
    """What is trained: a preset of `models.training_config`, and what differs from it."""

    views = luigi.Parameter(
        default="",
        description="Two of SEQ, DEP, CONST, BOW, separated by a comma; by default the preset's.",
    )
    preset = luigi.Parameter(
        default="laptop",
        description="laptop: some ten thousand sentences on two cores; structured-views: "
        "Simoulin & Crabbé as published; quickthoughts: Logeswaran & Lee's two GRUs.",
    )
    changes = luigi.DictParameter(
        default={},
        description="Fields of the preset to change, as JSON: "
        '\'{"hidden_size": 600, "epochs": 2}\'. models/training_config.py describes them all.',
    )
    seed = luigi.IntParameter(default=0, description="Seed of initial weights and batch order.")
    further_seeds = luigi.ListParameter(
        default=[1, 2],
        description="Further seeds to train with, so that the report can tell training from "
        "chance; [] trains once.",
    )
    vectors = luigi.PathParameter(
        default=BUNDLED_VECTORS,
        description="Word vectors: a bundled folder, or a text file in GloVe's or word2vec's "
        "format.",
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
        "takes a device of its own. With gather_negatives false as many as parts.",
    )
    max_restarts = luigi.IntParameter(
        default=1,
        significant=False,
        description="With several processes: how often all start again from the last checkpoint "
        "when one of them is killed.",
    )
    gemm = luigi.ChoiceParameter(
        default="auto",
        choices=["auto", "default", "onednn"],
        significant=False,
        description="Which matrix product the training uses on a CPU; auto: the fastest of those "
        "measured to be exact.",
    )
    keep_checkpoints = luigi.IntParameter(
        default=2,
        significant=False,
        description="How many of the last checkpoints are kept until the training is done.",
    )
    checkpoint_every_seconds = luigi.FloatParameter(
        default=60.0,
        significant=False,
        description="Seconds between checkpoints: at most so much work is lost to a kill.",
    )
    tensorboard = luigi.ChoiceParameter(
        default="auto",
        choices=["auto", "yes", "no"],
        significant=False,
        description="Whether TensorBoard's event files are written beside metrics.jsonl; auto: if "
        "it is installed.",
    )


class EvaluationDataParameters:
    """Where SentEval's data come from."""

    senteval_data = luigi.Parameter(
        default="",
        description="Your own copy of SentEval's data folder: it holds downstream/ and probing/. "
        "Without it the data are downloaded.",
    )
    mirror = luigi.Parameter(
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
        "models/evaluation/representations/representation.py describes them all.",
    )
    classifier = luigi.ChoiceParameter(
        default="logistic_regression",
        choices=["logistic_regression", "compatibility"],
        description="compatibility is SentEval's own classifier, trained by Adam.",
    )
    folds = luigi.IntParameter(default=10, description="Outer and inner folds.")
    encoder_version = luigi.Parameter(
        default="",
        description="Of a function of your own, which needs one: change it when the function "
        "changes.",
    )

    on_refusal = luigi.ChoiceParameter(
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
        fields = {"classifier": self.classifier, "num_folds": self.folds}
        return ProtocolConfig.from_dict(fields).to_dict()
