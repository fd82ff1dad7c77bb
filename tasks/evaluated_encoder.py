"""Which encoder an evaluation is about: what it is called, made of and needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treeviews.models.config.training_config import TRAINING_VERSION
from treeviews.models.config.training_presets import SIF_WORDS
from treeviews.models.config.views import needed_stages
from treeviews.models.encoding.encoder_names import (
    BAG_OF_WORDS,
    EncoderName,
    chosen_views,
    name_of,
    parse_encoder_name,
    placed,
)
from treeviews.models.encoding.own_encoder import kept_checksum
from treeviews.models.encoding.sentence_reader import describe_encoding
from treeviews.models.model.model_description import (
    MODEL_FILE,
    OPTION_OF_STAGE,
    REMEDY,
    WEIGHTS_FILE,
    read_model_description,
)
from treeviews.pipeline.base.bundled import BUNDLED_MODELS, BUNDLED_PARSERS, BUNDLED_VECTORS
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.json_files import read_object
from treeviews.tasks.artefact import Artefact, checksum
from treeviews.tasks.parameters import ExpansionParameters, ModelParameters
from treeviews.tasks.parsers import UsedParser, used_parser
from treeviews.tasks.training import ExpandVocabulary, TrainEncoders, with_words
from treeviews.tasks.words import OF_THE_CORPUS, UsedVectors

LONGEST_LABEL = 200
"""Characters; file systems take names of 255, and a task and a digest stand beside it."""


@dataclass(frozen=True, slots=True)
class EvaluatedEncoder:
    """One encoder, resolved from what the user calls it."""

    name: str
    """What tables call it; encoders of one name are seeds of one another."""
    label: str
    """What folders are called after it."""
    spec: str
    """What the job calls it: a name of the grammar of `models.encoding.encoder_names`, too."""
    content: dict[str, Any]
    """Everything that determines its embeddings."""
    settings: dict[str, Any] = field(default_factory=dict)
    """``encoder_settings`` of its job."""
    views: tuple[str, ...] | None = None
    """Those it gives, each with its place; None where they are not known yet."""
    seed: int | None = None
    version: str | None = None
    """Of a function of the user's own."""
    requires: Mapping[str, Artefact] = field(default_factory=dict)
    """What must run before it is there, by name."""


class EncoderParameters(ModelParameters, ExpansionParameters, Artefact):
    """A stage that takes any encoder, also those of the run."""

    def evaluated_encoder(self, called: str, version: str = "") -> EvaluatedEncoder:
        """Returns the encoder of this name.

        Args:
            version: of a function of the user's own.

        Raises:
            FileNotFoundError: its folder, or that of the word vectors, is not there or lacks files.
            ValueError: no such encoder.
        """
        task: TrainEncoders = self.clone(TrainEncoders)
        name = parse_encoder_name(called)
        match name.kind:
            case "trained" | "expanded" | "ensemble":
                if name.seed is not None:
                    task = task.clone(seed=name.seed)
                made = {"expanded": self._expanded, "ensemble": self._ensemble}
                return made.get(name.kind, self._trained)(task, name)
            case "random":
                return self._random(task, name)
            case "model" | "joined":
                return self._models(name)
            case "function":
                return self._own_function(called, version, task.word_vectors)
        return self._words(task.word_vectors, name)

    def _trained(self, training: TrainEncoders, name: EncoderName) -> EvaluatedEncoder:
        return EvaluatedEncoder(
            name=f"{_architecture(training)}, trained",
            label=name.called,
            spec=str(training.folder),
            content={
                "model": training.digest,
                "encoding": describe_encoding(training.config.views),
            },
            views=placed(training.config.test_views),
            seed=training.seed,
            requires={"model": training},
        )

    def _expanded(self, training: TrainEncoders, name: EncoderName) -> EvaluatedEncoder:
        """The run's model with trained words, and then with those of the pretrained vectors."""
        task: ExpandVocabulary = self.clone(ExpandVocabulary, seed=training.seed)
        trained = self._trained(task.training, name)
        return replace(
            trained,
            name=f"{trained.name}, words expanded",
            spec=str(task.folder),
            content=trained.content | {"model": task.digest},
            requires={"expanded": task},
        )

    def _ensemble(self, training: TrainEncoders, name: EncoderName) -> EvaluatedEncoder:
        """A's: views over given words and views over trained ones, expanded, side by side."""
        expanded = self._expanded(training, name)
        given = self._trained(with_words(training, "frozen"), name)
        views = [name_of(view) for one in (given, expanded) for view in one.views or ()]
        return replace(
            given,
            name=f"{given.name}, words given and expanded",
            spec=f"{given.spec}+{expanded.spec}",
            content={"joined": [given.content, expanded.content]},
            views=placed(views),
            requires={**given.requires, **expanded.requires},
        )

    def _words(self, vectors: UsedVectors, name: EncoderName) -> EvaluatedEncoder:
        """The bag of words; with weights, it is a view of an untrained model."""
        encoder = EvaluatedEncoder(
            name="mean of the word vectors",
            label=name.called,
            spec=name.called,
            content={"vectors": vectors.digest, "encoding": describe_encoding(None)},
            settings={"vectors": str(vectors.path)},
            requires=vectors.requires,
        )
        if name.kind == BAG_OF_WORDS:
            return encoder
        weighted = {
            "weights": SIF_WORDS.architecture(),
            "training_version": TRAINING_VERSION,  # of how weights are made, too
            "encoding": describe_encoding(SIF_WORDS.views),
        }
        return replace(
            encoder,
            name=f"{encoder.name}, SIF weights",
            content=encoder.content | weighted,
            views=placed(SIF_WORDS.views),
        )

    def _models(self, name: EncoderName) -> EvaluatedEncoder:
        """Finished models, known by what lies in their folders and not by where these lie.

        They find their own vectors and parsers unless the user says where these lie now; the run's
        are none of a model that ships.
        """
        descriptions = [read_model_description(part.folder) for part in name.parts]
        configs = [description.config for description in descriptions]
        taken = [
            chosen_views(placed(config.test_views), part.views)
            for part, config in zip(name.parts, configs, strict=True)
        ]
        checksums = [_model_checksum(part.folder) for part in name.parts]
        if name.kind == "model":
            shown = label = name.parts[0].name
            content: dict[str, Any] = {"model": checksums[0]}
        else:
            shown, label = name.shown, _file_name(name.shown)
            pairs = zip(checksums, taken, strict=True)
            content = {"joined": [{"model": model, "views": views} for model, views in pairs]}
        read = dict.fromkeys(view for config in configs for view in config.views)
        settled = all(description.vectors.are_settled for description in descriptions)
        known = self.vectors == OF_THE_CORPUS or self.vectors.resolve() == BUNDLED_VECTORS
        moved = {} if settled or known else {"vectors": str(self.vectors)}
        ships = all(part.folder in BUNDLED_MODELS.values() for part in name.parts)
        parsers = {} if ships else self._moved_parsers(needed_stages(list(read)))
        return EvaluatedEncoder(
            name=shown,
            label=label,
            spec=name.called,
            content={**content, "encoding": describe_encoding(list(read))},
            settings=moved | _folders(parsers),
            requires=_made(parsers.values()),
            views=placed([name_of(view) for views in taken for view in views]),
        )

    def _moved_parsers(self, stages: list[str]) -> dict[str, UsedParser]:
        """Returns the parsers of these stages that are not the bundled ones."""
        return {
            stage: used_parser(self, stage)
            for stage in stages
            if getattr(self, OPTION_OF_STAGE[stage]).resolve() != BUNDLED_PARSERS[stage]
        }

    def _own_function(self, called: str, version: str, words: UsedVectors) -> EvaluatedEncoder:
        if not version:
            raise ValueError(
                f"encoder {called}: give --encoder-version, and another one whenever the function "
                "changes; nothing else tells whether a result that stands is still its own"
            )
        return EvaluatedEncoder(
            name=called,
            label=_file_name(called),
            spec=called,
            content={"function": called, "version": version, "source": kept_checksum(called)},
            settings={"vectors": str(words.path)},  # of the words that may be joined
            version=version,
            requires=words.requires,
        )

    def _random(self, training: TrainEncoders, name: EncoderName) -> EvaluatedEncoder:
        views, vectors = training.config.views, training.word_vectors
        parsers = {stage: used_parser(self, stage) for stage in needed_stages(views)}
        return EvaluatedEncoder(
            name=f"{_architecture(training)}, random weights",
            label=name.called,
            spec=name.called,
            content={
                "architecture": training.config.architecture(),
                "training_version": TRAINING_VERSION,  # of how weights start, too
                "encoding": describe_encoding(views),
                "seed": name.seed,
                "vectors": vectors.digest,
                "parsers": {stage: parser.checksum for stage, parser in parsers.items()},
            },
            settings={
                "config": training.config.to_dict(),
                "vectors": str(vectors.path),
                **_folders(parsers),
            },
            views=placed(training.config.test_views),
            seed=name.seed,
            requires={**vectors.requires, **_made(parsers.values())},
        )


def _folders(parsers: Mapping[str, UsedParser]) -> dict[str, str]:
    """Returns where the parsers of stages lie, by the settings that say so."""
    return {OPTION_OF_STAGE[stage]: str(parser.folder) for stage, parser in parsers.items()}


def _made(parsers: Iterable[UsedParser]) -> dict[str, Artefact]:
    """Returns what must run before these parsers are there."""
    return {name: task for parser in parsers for name, task in parser.requires.items()}


def _architecture(training: TrainEncoders) -> str:
    """Returns views, framework and decoder, by which tables tell encoders of a run apart."""
    config = training.config
    views = ",".join(config.views)
    if config.has_lstm:
        views = views.replace("SEQ", "SEQ of an LSTM")
    if config.objective == "contrastive":
        return views
    if not config.has_decoder:
        return f"{views} by {training.preset}"
    free = "" if config.orthonormal_rate else "free "
    return f"{views} by {training.preset}, {free}{config.decoder} decoder"


def _model_checksum(folder: Path) -> str:
    """Returns a digest of a model's folder: of its bytes, where it says nothing else.

    What it says of the releases and the commit that made it, and of where things lay, determines
    nothing: the same model made again is the same one.
    """
    value = read_object(folder / MODEL_FILE, (), remedy=REMEDY)
    if "made" not in value:
        return checksum(folder, names=(WEIGHTS_FILE, MODEL_FILE))
    records = [value.get("vectors", {}), *value.get("parsers", {}).values()]
    known = {
        "config": value.get("config"),
        "checksums": [record.get("checksum") for record in records],
    }
    weights = checksum(folder, names=(WEIGHTS_FILE,))
    return digest_of({WEIGHTS_FILE: weights, MODEL_FILE: known})


def _file_name(called: str) -> str:
    """Returns a name that a folder may have; a digest beside it tells apart what is cut off."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", called)[:LONGEST_LABEL]
