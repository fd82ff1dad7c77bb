"""Which encoder an evaluation is about: what it is called, made of and needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.evaluation.encoder import chosen_views, name_of
from models.evaluation.joined_spec import FORM, ModelViews, is_joined, joined_models, short_name
from models.evaluation.named_encoder import BAG_OF_WORDS
from models.text.parser_record import OPTION_OF_STAGE
from models.text.versions import describe_encoding
from models.training_config import TrainingConfig
from models.views import needed_stages
from tasks.artefact import Artefact, checksum
from tasks.checkpoints import UsedParser, used_parser
from tasks.parameters import (
    BUNDLED_CONSTITUENCY_PARSER,
    BUNDLED_DEPENDENCY_PARSER,
    BUNDLED_VECTORS,
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.training import TrainEncoders
from tasks.word_vectors import OF_THE_CORPUS, UsedVectors

MODEL_FILES = ("model.safetensors", "model.json")
FORMS = (
    f"trained, trained-SEED, random-SEED (SEED: 0 or more), bag_of_words, a model's folder, views "
    f"of such folders as {FORM}, or package.module:name of a function of your own"
)
LONGEST_LABEL = 200
"""Characters; file systems take names of 255, and a task and a digest stand beside it."""
_SEEDED = re.compile(r"(trained|random)-(\d+)")


@dataclass(frozen=True, slots=True)
class EvaluatedEncoder:
    """One encoder, resolved from what the user calls it."""

    name: str
    """What tables call it; encoders of one name are seeds of one another."""
    label: str
    """What folders are called after it."""
    spec: str
    """What ``models.evaluation.named_encoder`` understands."""
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


class EncoderParameters(CorpusParameters, HeldOutParameters, ParserParameters, TrainingParameters):
    """What the run's own encoders are made of."""

    def evaluated_encoder(self, called: str, version: str = "") -> EvaluatedEncoder:
        """Returns the encoder of this name.

        Args:
            version: of a function of the user's own.

        Raises:
            ValueError: no such encoder.
        """
        task: TrainEncoders = self.clone(TrainEncoders)  # type: ignore[attr-defined]
        seeded = _SEEDED.fullmatch(called)
        if called == "trained" or (seeded and seeded[1] == "trained"):
            return self._trained(task.clone(seed=int(seeded[2])) if seeded else task, called)
        if seeded:
            return self._random(task, int(seeded[2]), called)
        if called == BAG_OF_WORDS:
            return self._bag_of_words(task.word_vectors)
        if Path(called).is_dir():
            return self._model_folder(Path(called))
        if is_joined(called):
            return self._joined_models(called)
        if ":" in called:
            return self._own_function(called, version, task.word_vectors)
        raise ValueError(f"encoder {called!r}: no such folder and no known name; give {FORMS}")

    def _trained(self, training: TrainEncoders, label: str) -> EvaluatedEncoder:
        return EvaluatedEncoder(
            name=f"{_architecture(training)}, trained",
            label=label,
            spec=str(training.folder),
            content={
                "model": training.digest,
                "encoding": describe_encoding(training.config.views),
            },
            views=_placed(training.config.test_views),
            seed=training.seed,
            requires={"model": training},
        )

    def _bag_of_words(self, vectors: UsedVectors) -> EvaluatedEncoder:
        return EvaluatedEncoder(
            name="mean of the word vectors",
            label=BAG_OF_WORDS,
            spec=BAG_OF_WORDS,
            content={
                "vectors": vectors.digest,
                "encoding": describe_encoding(None),
            },
            settings={"vectors": str(vectors.path)},
            requires=vectors.requires,
        )

    def _model_folder(self, folder: Path) -> EvaluatedEncoder:
        name, config = folder.resolve().name, _config(folder)
        return EvaluatedEncoder(
            name=name,
            label=name,
            spec=str(folder),
            content={
                "model": checksum(folder, names=MODEL_FILES),
                "encoding": describe_encoding(config.views),
            },
            settings=self._moved(),
            requires=_made(self._moved_parsers().values()),
            views=_placed(config.test_views),
        )

    def _joined_models(self, called: str) -> EvaluatedEncoder:
        """Views of models, known by what lies in the folders and not by where these lie."""
        parts = joined_models(called)
        taken = [_views_of(part) for part in parts]
        read = {view: None for part in parts for view in _config(part.folder).views}
        name = short_name(called)
        return EvaluatedEncoder(
            name=name,
            label=_file_name(name),
            spec=called,
            content={
                "joined": [
                    {
                        "model": checksum(part.folder, names=MODEL_FILES),
                        "views": views,
                    }
                    for part, views in zip(parts, taken, strict=True)
                ],
                "encoding": describe_encoding(list(read)),
            },
            settings=self._moved(),
            requires=_made(self._moved_parsers().values()),
            views=_placed([name_of(view) for views in taken for view in views]),
        )

    def _moved(self) -> dict[str, str]:
        """A model finds its own vectors and parsers unless the user says where they lie now."""
        settings = {
            OPTION_OF_STAGE[stage]: str(parser.folder)
            for stage, parser in self._moved_parsers().items()
        }
        if self.vectors not in (BUNDLED_VECTORS, OF_THE_CORPUS):
            settings["vectors"] = str(self.vectors)
        return settings

    def _moved_parsers(self) -> dict[str, UsedParser]:
        """Returns the parsers that are not the bundled ones."""
        bundled = {
            "dependencies": BUNDLED_DEPENDENCY_PARSER,
            "constituents": BUNDLED_CONSTITUENCY_PARSER,
        }
        return {
            stage: used_parser(self, stage)
            for stage, default in bundled.items()
            if getattr(self, OPTION_OF_STAGE[stage]) != default
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
            content={"function": called, "version": version},
            settings={"vectors": str(words.path)},  # of the words that may be joined
            version=version,
            requires=words.requires,
        )

    def _random(self, training: TrainEncoders, seed: int, label: str) -> EvaluatedEncoder:
        views, vectors = training.config.views, training.word_vectors
        parsers = {stage: used_parser(self, stage) for stage in needed_stages(views)}
        return EvaluatedEncoder(
            name=f"{_architecture(training)}, random weights",
            label=label,
            spec=label,
            content={
                "architecture": training.architecture(),
                "encoding": describe_encoding(views),
                "seed": seed,
                "vectors": vectors.digest,
                "parsers": {stage: parser.checksum for stage, parser in parsers.items()},
            },
            settings={
                "config": training.config.to_dict(),
                "vectors": str(vectors.path),
                **{OPTION_OF_STAGE[stage]: str(parser.folder) for stage, parser in parsers.items()},
            },
            views=_placed(training.config.test_views),
            seed=seed,
            requires={**vectors.requires, **_made(parsers.values())},
        )


def _made(parsers: Iterable[UsedParser]) -> dict[str, Artefact]:
    """Returns what must run before these parsers are there."""
    return {name: task for parser in parsers for name, task in parser.requires.items()}


def _architecture(training: TrainEncoders) -> str:
    """Returns views, framework and decoder, by which tables tell encoders of a run apart."""
    config = training.config
    views = ",".join(config.views)
    if config.objective == "contrastive":
        return views
    if not config.has_decoder:
        return f"{views} by {training.preset}"
    free = "" if config.orthonormal_rate else "free "
    return f"{views} by {training.preset}, {free}{config.decoder} decoder"


def _placed(views: Sequence[str]) -> tuple[str, ...]:
    """Returns views as an encoder calls them: ``0-SEQ``."""
    return tuple(f"{place}-{view}" for place, view in enumerate(views))


def _config(folder: Path) -> TrainingConfig:
    """Returns the configuration of a model.

    Raises:
        ValueError: the folder holds no model, or one of another release; names it.
    """
    path = folder / "model.json"
    try:
        return TrainingConfig.from_dict(json.loads(path.read_text(encoding="utf-8"))["config"])
    except FileNotFoundError:
        raise ValueError(f"{folder}: no trained model here; give the folder of a model") from None
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: not a model of this release ({error}); train again") from error


def _views_of(part: ModelViews) -> list[str]:
    """Returns the views that are taken of a model, each with its place.

    Raises:
        ValueError: the model has no such view, or several of that name; names the model.
    """
    try:
        return chosen_views(_placed(_config(part.folder).test_views), part.views)
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}") from error


def _file_name(called: str) -> str:
    """Returns a name that a folder may have; a digest beside it tells apart what is cut off."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", called)[:LONGEST_LABEL]
