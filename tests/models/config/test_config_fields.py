"""Every field of every configuration: its range, its way through JSON, and who mirrors it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_type_hints

import numpy as np
import pytest
import torch

from tests.support.parsed_corpora import block_of
from treeviews.models.config.held_out import HoldOut
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import PRESETS, preset
from treeviews.models.config.views import VIEWS
from treeviews.models.encoding.view_models import describe_architecture
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.probing_sentences import ProbingConfig
from treeviews.models.evaluation.representation import Representation
from treeviews.models.model.sentence_model import build_model
from treeviews.models.train_word_vectors import SkipGramConfig
from treeviews.models.training.launching import LaunchSettings
from treeviews.models.training.training_job import RunSettings
from treeviews.models.words.vocabulary_expansion import ExpansionConfig
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.settings import Count, Range, Settings, at_least, marks_of

LSTM = {"seq_cell": "lstm"}

CONFIGS: tuple[type[Settings], ...] = (
    *(TrainingConfig, RunSettings, LaunchSettings, HoldOut, ProbingConfig, ProtocolConfig),
    *(Representation, SkipGramConfig, ExpansionConfig),
)
EVERY_FIELD = [(cls, name) for cls in CONFIGS for name in cls.model_fields]
NUMBERS = [
    (cls, name)
    for cls, name in EVERY_FIELD
    if set(get_args(get_type_hints(cls)[name]) or [get_type_hints(cls)[name]]) & {int, float}
]
UNBOUNDED = {
    *((cls, name) for cls, name in NUMBERS if name.endswith("seed")),
    *((ProbingConfig, name) for name in ("min_tokens", "max_tokens", "max_sentences")),
    *((ProbingConfig, name) for name in ("min_train", "min_dev", "min_test", "min_class_train")),
    *((ProbingConfig, name) for name in ("num_words", "num_length_bins", "num_top_constituents")),
    (ProbingConfig, "max_depth_length_correlation"),
}
"""Numbers of which any may be meant, or which are checked together."""


def named(pair: tuple[type[Settings], str]) -> str:
    return f"{pair[0].__name__}-{pair[1]}"


@pytest.mark.parametrize("pair", EVERY_FIELD, ids=named)
def test_a_field_refuses_another_type_and_comes_back_from_json(
    pair: tuple[type[Settings], str],
) -> None:
    cls, name = pair
    defaults = cls()

    assert cls.from_dict(json.loads(json.dumps(defaults.to_dict()))) == defaults
    with pytest.raises(ValueError, match=rf"^{cls.called} {name} must be .*, got {{'a': 1}}$"):
        cls.from_dict({name: {"a": 1}})


@pytest.mark.parametrize("pair", [pair for pair in NUMBERS if pair not in UNBOUNDED], ids=named)
def test_a_number_says_its_range(pair: tuple[type[Settings], str]) -> None:
    cls, name = pair

    assert marks_of(cls, Range)[name]
    with pytest.raises(ValueError, match=rf"^{cls.called} {name} must .*, got -3"):
        cls.from_dict({name: -3})


class Inner(Settings):
    size: Count = 1


class Outer(Settings):
    called: ClassVar[str] = "job field"
    inner: Inner
    folders: Mapping[str, Any]
    out: Path
    rates: Annotated[tuple[float, ...], at_least(0)] = ()
    kind: Literal["a", "b"] = "a"
    counts: Mapping[str, int] = {}


def test_paths_tuples_and_configurations_within_another_are_plain_json() -> None:
    outer = Outer(inner=Inner(size=3), folders={"a": 1}, out=Path("x"), rates=(1, 2))

    plain = outer.to_dict()

    assert plain == json.loads(json.dumps(plain))
    assert plain["inner"] == {"size": 3} and plain["rates"] == [1.0, 2.0]
    assert Outer.from_dict(plain) == outer


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outt": "x"}, r"unknown job fields \['outt'\]; did you mean out\?$"),
        ({"inner": {"size": 0}}, "setting size must be at least 1, got 0"),
        ({"inner": 3}, "job field inner must be a valid dictionary or instance of Inner, got 3"),
        ({"out": 3}, "job field out must be an instance of Path, got 3"),
        ({"rates": [1, -1]}, r"job field rates must be at least 0, got \(1, -1\)"),
        ({"folders": 3}, "job field folders must be a valid dictionary, got 3"),
        (
            {"counts": {"a": "b"}},
            "job field counts must be a valid integer in a, got {'a': 'b'}",
        ),
        ({7: 1}, r"unknown job fields \['7'\]"),
        ({"kind": "c"}, "job field kind must be 'a' or 'b', got 'c'"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], message: str) -> None:
    fitting = {"inner": {}, "folders": {}, "out": "x"}
    with pytest.raises(ValueError, match=message):
        Outer.from_dict(fitting | changes)


OTHER_VALUES: dict[str, Any] = {
    **{"objective": "discriminative", "anchor": "zeroed", "max_tokens": 9, "trained_words": 2},
    **{"coupling_width": 3, "held_out_every_steps": 2, "keep": "best", "gradient_clip": 1.0},
    **{"warmup_fraction": 0.5, "word_dropout": 0.5, "noise_power": 0.25, "orthonormal_rate": 0.5},
    **{"held_out_fraction": 0.5, "vector_rms": 0.5},
    "run_length": 2,
}


def another_value(config: TrainingConfig, name: str) -> Any:
    """Returns a value of a field other than its own that fits the others."""
    value, hint = getattr(config, name), get_type_hints(TrainingConfig)[name]
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    if isinstance(value, bool):
        return not value
    return (
        value + 2
        if isinstance(value, int | float)
        else next(choice for choice in get_args(hint) if choice not in (value, "included"))
    )


@pytest.mark.parametrize(
    "name",
    sorted(TrainingConfig.model_fields.keys() - marks_of(TrainingConfig, str).keys()),
)
def test_a_field_that_shapes_no_encoder_leaves_an_untrained_one_as_it_is(name: str) -> None:
    """So the digest of a random encoder holds all that it must."""
    vectors = WordVectors.from_rows(list("abcd"), np.eye(4, 6, dtype=np.float32))
    for views in ([view] * 2 for view in VIEWS if view != "BOW"):
        config = preset("laptop", views=views, hidden_size=4)
        other = config.changed(**{name: another_value(config, name)})
        assert other.architecture() == config.architecture()
        one, two = (build_model(c, vectors, 0).eval() for c in (config, other))
        block = block_of([3, 3], [1, 2, 3] * 2)
        with torch.no_grad():
            views_of = [m.views(m.training_batch(block)) for m in (one, two)]
        assert all(torch.equal(a, b) for a, b in zip(*views_of, strict=True))


def test_the_architecture_is_what_digests_of_random_encoders_have_always_held() -> None:
    assert set(TrainingConfig().architecture()) == {
        *("views", "objective", "hidden_size", "bidirectional", "dep_cell", "init", "precision"),
        *("word_vectors", "embeddings", "trained_word_size", "trained_word_init", "trained_words"),
        *("word_weights", "sif_a", "unit_words"),
        *("read_rms", "words_beside"),
        "shuffled",
        *("vector_rms", "decoder", "coupling_layers", "coupling_partition", "coupling_width"),
        *("coupling_depth", "coupling_activation"),
    }


def test_a_cell_makes_another_training_where_something_reads_with_it() -> None:
    """So models and results stand that were made before there was another cell."""
    assert "seq_cell" not in preset("quickthoughts").to_dict()
    other = preset("quickthoughts", **LSTM)
    assert other.to_dict()["seq_cell"] == other.architecture()["seq_cell"] == "lstm"
    config, other = (preset("laptop", views=("DEP", "CONST"), **c) for c in ({}, LSTM))
    assert other.idle(LSTM) == ["seq_cell"]
    assert other.to_dict() == config.to_dict() and other.architecture() == config.architecture()
    assert describe_architecture(other) == describe_architecture(config)


def test_a_model_may_name_settings_of_earlier_releases_but_a_user_may_not() -> None:
    plain = preset("laptop").to_dict()

    assert TrainingConfig.from_dict(
        plain | {"pairs_share": 0.3, "added_to_words": False}
    ) == preset("laptop")
    with pytest.raises(ValueError, match="added_to_words are of an earlier release; install"):
        TrainingConfig.from_dict(plain | {"added_to_words": True})
    with pytest.raises(ValueError, match="unknown training settings"):
        preset("laptop", pairs_share=0.3)


@pytest.mark.parametrize(
    ("name", "changes", "idle"),
    [
        ("laptop", {"temperature": 0.5, "critic": "inner_product"}, ["temperature"]),
        ("laptop", {"temperature": 0.5, "normalise": "l2"}, []),
        ("laptop", {"sif_a": 0.01, "word_weights": "none"}, ["sif_a"]),
        ("laptop", {"sif_a": 0.01, "word_weights": "sif"}, []),
        ("laptop", {"word_vectors": "frozen", "trained_word_size": 9}, ["trained_word_size"]),
        ("laptop", {"word_vectors": "trained", "unit_words": True}, ["unit_words"]),
        ("B-D", {"power_iterations": 9, "remove_top_component": False}, ["power_iterations"]),
        ("B-G", {"context_size": 2, "coupling_layers": 3}, ["context_size", "coupling_layers"]),
        ("C-bijective", {"coupling_layers": 3, "noise_power": 0.5}, []),
        ("B-GD", {"generative_weight": 2.0, "targets": "each"}, ["targets"]),
    ],
)
def test_changes_without_effect_are_told(
    name: str, changes: dict[str, Any], idle: list[str]
) -> None:
    assert preset(name, **changes).idle(changes) == idle


SIDE_BY_SIDE = {"embeddings": "side_by_side", "word_vectors": "frozen"}


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("big", {}, "unknown training preset 'big'; known: laptop"),
        ("laptop", {"hiden_size": 3}, r"unknown training settings .*; did you mean hidden_size\?$"),
        ("laptop", {"views": ("SEQ", "AMR")}, "views must be one or two of SEQ, DEP, CONST, LIN"),
        ("laptop", {"views": ()}, "views must be one or two of"),
        ("laptop", {"views": ("SEQ", "DEP", "LIN")}, "views must be one or two of"),
        ("laptop", {"views": ("SEQ",)}, "the contrastive objective needs 2 views, not SEQ"),
        ("laptop", {"objective": "generativ"}, r"objective must be one of"),
        ("laptop", {"bidirectional": True, "hidden_size": 5}, "hidden_size must be even if"),
        ("laptop", {"keep": "best", "held_out_batches": 0}, "keep best needs held_out_batches"),
        ("laptop", {"batch_size": 4, "run_length": 5}, "run_length must be at most batch_size, 4"),
        ("laptop", {**SIDE_BY_SIDE, "word_vectors": "trained"}, "side_by_side are two views' h"),
        ("B-D", {**SIDE_BY_SIDE, "views": ("SEQ",)}, "side_by_side are two views' halves"),
        ("B-D", {"objective": "generative"}, "the generative objective needs 1 view"),
        ("B-D", {"views": ("SEQ",), "objective": "both"}, "the both objective needs 2 views"),
        ("B-D", {"objective": "both", "word_vectors": "trained"}, "word_vectors must be frozen"),
        ("B-D", {"objective": "contrastive"}, "anchor must be excluded or zeroed under the contr"),
        ("B-D", {"anchor": "zeroed"}, "anchor must be excluded or included under the discrim"),
        ("B-D", {"views": ("SEQ", "BOW")}, "SEQ, BOW cannot agree: .* take LIN"),
        ("B-D", {"views": ("BOW",)}, "have nothing to train; take LIN"),
        ("laptop", {"views": ("BOW", "BOW")}, "have nothing to train; take LIN"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    name: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        preset(name, **changes).check_trainable()


DIGESTS = {
    "laptop": "5399c7cb5611",
    "structured-views": "92d4de5c3f5c",
    "quickthoughts": "72e136d87741",
    "B-G": "25d3a9dcf925",
    "B-D": "d8065220e4a1",
    "B-GD": "7ab7418bdf8f",
    "C-linear": "96917a3faec7",
    "C-bijective": "b616b9d74c92",
    "weighted-words": "1a696da50923",
    "trees-beside-words": "904699829b54",
}


def test_presets_are_the_trainings_that_they_have_always_been() -> None:
    assert {name: digest_of(config.to_dict()) for name, config in PRESETS.items()} == DIGESTS
