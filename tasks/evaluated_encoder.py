"""Which encoder an evaluation is about: what it is called, made of and needs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.evaluation.rows import BAG_OF_WORDS
from models.text.parser_record import OPTION_OF_STAGE
from models.text.versions import describe_encoding
from models.views import needed_stages
from tasks.artefact import checksum
from tasks.parameters import (
    BUNDLED_CONSTITUENCY_PARSER,
    BUNDLED_DEPENDENCY_PARSER,
    BUNDLED_VECTORS,
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.parsing import PARSER_FILES
from tasks.training import VECTOR_FILES, TrainEncoders

MODEL_FILES = ("model.safetensors", "model.json")
FORMS = (
    "trained, trained-SEED, random-SEED, bag_of_words, a model's folder, or "
    "package.module:name of a function of your own"
)
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
    seed: int | None = None
    version: str | None = None
    """Of a function of the user's own."""
    training: TrainEncoders | None = None
    """What must run before it is there."""


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
            return self._bag_of_words()
        if Path(called).is_dir():
            return self._model_folder(Path(called))
        if ":" in called:
            return self._own_function(called, version)
        raise ValueError(f"encoder {called!r}: no such folder and no known name; give {FORMS}")

    def _trained(self, training: TrainEncoders, label: str) -> EvaluatedEncoder:
        return EvaluatedEncoder(
            name=f"{','.join(training.config.views)}, trained",
            label=label,
            spec=str(training.folder),
            content={
                "model": training.digest,
                "encoding": describe_encoding(training.config.views),
            },
            seed=training.seed,
            training=training,
        )

    def _bag_of_words(self) -> EvaluatedEncoder:
        return EvaluatedEncoder(
            name="mean of the word vectors",
            label=BAG_OF_WORDS,
            spec=BAG_OF_WORDS,
            content={
                "vectors": checksum(self.vectors, names=VECTOR_FILES),
                "encoding": describe_encoding(None),
            },
            settings={"vectors": str(self.vectors)},
        )

    def _model_folder(self, folder: Path) -> EvaluatedEncoder:
        """A model finds its own vectors and parsers unless the user says where they lie now."""
        config = json.loads((folder / "model.json").read_text(encoding="utf-8"))["config"]
        bundled = {
            "vectors": BUNDLED_VECTORS,
            "dependency_parser": BUNDLED_DEPENDENCY_PARSER,
            "constituency_parser": BUNDLED_CONSTITUENCY_PARSER,
        }
        name = folder.resolve().name
        return EvaluatedEncoder(
            name=name,
            label=name,
            spec=str(folder),
            content={
                "model": checksum(folder, names=MODEL_FILES),
                "encoding": describe_encoding(config["views"]),
            },
            settings={
                setting: str(getattr(self, setting))
                for setting, default in bundled.items()
                if getattr(self, setting) != default
            },
        )

    def _own_function(self, called: str, version: str) -> EvaluatedEncoder:
        if not version:
            raise ValueError(
                f"encoder {called}: give --encoder-version, and another one whenever the function "
                "changes; nothing else tells whether a result that stands is still its own"
            )
        return EvaluatedEncoder(
            name=called,
            label=re.sub(r"[^A-Za-z0-9._-]+", "-", called),
            spec=called,
            content={"function": called, "version": version},
            settings={"vectors": str(self.vectors)},  # of the words that may be joined
            version=version,
        )

    def _random(self, training: TrainEncoders, seed: int, label: str) -> EvaluatedEncoder:
        views = training.config.views
        parsers: dict[str, Path] = {
            stage: getattr(self, OPTION_OF_STAGE[stage]) for stage in needed_stages(views)
        }
        return EvaluatedEncoder(
            name=f"{','.join(views)}, random weights",
            label=label,
            spec=label,
            content={
                "architecture": training.architecture(),
                "encoding": describe_encoding(views),
                "seed": seed,
                "vectors": checksum(self.vectors, names=VECTOR_FILES),
                "parsers": {
                    stage: checksum(path, names=PARSER_FILES) for stage, path in parsers.items()
                },
            },
            settings={
                "config": training.config.to_dict(),
                "vectors": str(self.vectors),
                **{OPTION_OF_STAGE[stage]: str(path) for stage, path in parsers.items()},
            },
            seed=seed,
        )
