"""Which fields of a configuration its objective never reads.

They are no mistake, since one set of changes may be handed to several trainings; but whoever
changes one should know that it does nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable

from models.training_config import TrainingConfig

_CONTRASTIVE = frozenset({"contrastive"})
_AGREEING = frozenset({"discriminative", "both"})
_PREDICTING = frozenset({"generative", "both"})
_OBJECTIVES_OF_FIELD = {
    **dict.fromkeys(("critic", "normalise", "symmetric", "targets"), _CONTRASTIVE),
    **dict.fromkeys(("context_size", "anchor"), _CONTRASTIVE | _AGREEING),
    **dict.fromkeys(("remove_top_component", "power_iterations"), _AGREEING),
    "temperature": _CONTRASTIVE | _AGREEING,
    **dict.fromkeys(("negatives", "shared_negatives", "noise_power", "decoder"), _PREDICTING),
    "orthonormal_rate": _PREDICTING,
    **dict.fromkeys(
        (
            "coupling_layers",
            "coupling_partition",
            "coupling_width",
            "coupling_depth",
            "coupling_activation",
        ),
        _PREDICTING,
    ),
    "generative_weight": frozenset({"both"}),
}


def idle_fields(config: TrainingConfig, names: Iterable[str]) -> list[str]:
    """Returns those of the named fields that change nothing in a training of this configuration."""
    return [name for name in names if not _is_read(config, name)]


def _is_read(config: TrainingConfig, name: str) -> bool:
    if config.objective not in _OBJECTIVES_OF_FIELD.get(name, {config.objective}):
        return False
    is_coupling = name.startswith("coupling_")
    further = {
        "temperature": config.objective != "contrastive" or config.normalise == "l2",
        "power_iterations": config.remove_top_component,
        "bidirectional": "SEQ" in config.views,
        "dep_cell": "DEP" in config.views,
        "hidden_size": set(config.views) != {"BOW"},
    }
    return config.decoder == "bijective" if is_coupling else further.get(name, True)
