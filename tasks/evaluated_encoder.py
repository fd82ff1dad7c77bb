"""Which encoder an evaluation is about: what it is called, made of and needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.views import STAGE_OF_VIEW
from tasks.artefact import checksum
from tasks.parameters import (
    CorpusParameters,
    HeldOutParameters,
    ParserParameters,
    TrainingParameters,
)
from tasks.training import VECTOR_FILES, TrainEncoders

MODEL_FILES = ("model.safetensors", "model.json")
PARSER_FILES = ("weights.safetensors", "parser.json")
BAG_OF_WORDS = "bag_of_words"
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
            content = {"vectors": checksum(self.vectors, names=VECTOR_FILES)}
            settings = {"vectors": str(self.vectors)}
            name = "mean of the word vectors"
            return EvaluatedEncoder(name, called, called, content, settings)
        if Path(called).is_dir():
            content = {"model": checksum(Path(called), names=MODEL_FILES)}
            return EvaluatedEncoder(called, Path(called).name, called, content)
        if ":" in called:
            label = re.sub(r"[^A-Za-z0-9._-]+", "-", called)
            content = {"function": called, "version": version}
            settings = {"vectors": str(self.vectors)}  # of the words that may be joined
            return EvaluatedEncoder(called, label, called, content, settings, version=version)
        raise ValueError(f"encoder {called!r}: no such folder and no known name; give {FORMS}")

    def _trained(self, training: TrainEncoders, label: str) -> EvaluatedEncoder:
        return EvaluatedEncoder(
            name=f"{','.join(training.config.views)}, trained",
            label=label,
            spec=str(training.folder),
            content={"model": training.digest},
            seed=training.seed,
            training=training,
        )

    def _random(self, training: TrainEncoders, seed: int, label: str) -> EvaluatedEncoder:
        views = training.config.views
        read = {STAGE_OF_VIEW[view] for view in views}
        parsers: dict[str, Path] = {
            stage: getattr(self, name) for stage, name in _SETTING_OF_STAGE.items() if stage in read
        }
        return EvaluatedEncoder(
            name=f"{','.join(views)}, random weights",
            label=label,
            spec=label,
            content={
                "architecture": training.architecture(),
                "seed": seed,
                "vectors": checksum(self.vectors, names=VECTOR_FILES),
                "parsers": {
                    stage: checksum(path, names=PARSER_FILES) for stage, path in parsers.items()
                },
            },
            settings={
                "config": training.config.to_dict(),
                "vectors": str(self.vectors),
                **{_SETTING_OF_STAGE[stage]: str(path) for stage, path in parsers.items()},
            },
            seed=seed,
        )


_SETTING_OF_STAGE = {
    "dependencies": "dependency_parser",
    "constituents": "constituency_parser",
}
