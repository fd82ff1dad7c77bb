"""What determines an artefact is told by its configuration and a version, without torch."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.repository import REPOSITORY
from treeviews.models.encoding.sentence_reader import describe_encoding
from treeviews.models.evaluation import probing_splits, probing_tasks, resampling
from treeviews.models.evaluation.probing_sentences import PROBING_VERSION, SCARCE_SHARES
from treeviews.pipeline.parsing.parse_shard import library_versions
from treeviews.tasks.training import TrainEncoders
from treeviews.tasks.words import TrainWordVectors


def test_versions_are_read_without_torch() -> None:
    code = (
        "import treeviews.models.config.training_config, treeviews.models.report.probing_table, "
        "treeviews.models.evaluation.probing_sentences, "
        "treeviews.models.evaluation.evaluation_settings, "
        "treeviews.models.evaluation.build_probing, treeviews.models.report.run_report, "
        "treeviews.models.encoding.sentence_reader, "
        "sys; print('torch' in sys.modules)"
    )
    repository = REPOSITORY
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=repository, check=True
    )
    assert result.stdout.strip() == "False"


def test_a_constant_of_the_probing_rules_changes_with_their_version() -> None:
    """Whoever changes one of these raises PROBING_VERSION, else old probing data are taken."""
    assert PROBING_VERSION == 5
    labels, splits = probing_tasks, probing_splits
    assert (
        splits.LARGEST_SHARE, splits.FEW_CLASSES_SHARE, labels.MAX_WORD_SHARE,
        labels.SHORTEST_CONTENT_WORD, labels.LENGTH_TRIM, labels.MIN_DEPTH_SHARE,
        labels.NUM_CELL_LENGTHS, splits.LEAST_FILL, resampling.MIN_UNITS, probing_tasks.COHERENT,
    ) == (0.2, 1.5, 0.02, 3, 0.2, 0.06, 8, 0.5, 10, 6)  # fmt: skip
    assert SCARCE_SHARES == {"train": 1 / 2, "dev": 1 / 6, "test": 1 / 3}


def test_a_seed_gives_the_numbers_that_results_were_made_with() -> None:
    """Where a release of numpy gives others, TRAINING_VERSION and PROTOCOL_VERSION are raised.

    Digests do not hold numpy's release: it is the order of batches and the draws of the bootstrap
    that could change, and these are here.
    """
    order = np.random.default_rng([3, 1]).permutation(8)
    drawn = np.random.default_rng([0, 5]).integers(0, 1000, 4)
    values = np.random.default_rng(7).uniform(-1, 1, 2)

    assert order.tolist() == [2, 1, 4, 0, 5, 7, 6, 3]
    assert drawn.tolist() == [696, 382, 831, 547]
    assert values.tolist() == [0.25019093320933394, 0.794427601939151]


def test_trainings_without_parses_know_torch_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped.\n", encoding="utf-8")
    given = {"work_folder": tmp_path, "source": "files", "paths": str(text)}
    words, trees = (
        TrainEncoders(**given, views=views).content() for views in ("SEQ,LIN", "DEP,CONST")
    )

    assert words["libraries"] == library_versions(("torch",))
    assert "libraries" not in trees  # its parses say so
    monkeypatch.setattr("treeviews.tasks.words.gensim_version", lambda: "99")
    trained = TrainWordVectors(**given)
    assert trained.content()["gensim"] == "99"


TREES, WORDS = ("DEP", "CONST"), None
ENCODING = "treeviews.models.encoding.sentence_reader"
PARSING = "treeviews.pipeline.parsing.parse_shard"


@pytest.mark.parametrize(
    ("version", "changed"),
    [
        (f"{ENCODING}.TOKENIZATION_VERSION", [TREES, ("DEP", "SEQ"), ("SEQ", "BOW"), WORDS]),
        (f"{ENCODING}.CLEANING_VERSION", [TREES, ("DEP", "SEQ"), ("SEQ", "BOW"), WORDS]),
        (f"{ENCODING}.MAX_TOKENS", [TREES, ("DEP", "SEQ"), ("SEQ", "BOW"), WORDS]),
        (f"{ENCODING}.ENCODING_VERSION", [TREES, ("DEP", "SEQ"), ("SEQ", "BOW")]),
        (f"{ENCODING}.WORDS_ENCODING_VERSION", [WORDS]),
        (f"{PARSING}.PARSING_VERSION", [TREES, ("DEP", "SEQ")]),
        (f"{PARSING}.BINARIZATION_VERSION", [TREES]),
    ],
)
def test_a_version_changes_the_encoders_that_depend_on_it(
    monkeypatch: pytest.MonkeyPatch, version: str, changed: list[tuple[str, ...] | None]
) -> None:
    kinds = [TREES, ("DEP", "SEQ"), ("SEQ", "BOW"), WORDS]
    before = [describe_encoding(views) for views in kinds]

    monkeypatch.setattr(version, 1_000)

    after = [describe_encoding(views) for views in kinds]
    assert [v for v, a, b in zip(kinds, after, before, strict=True) if a != b] == changed


@pytest.mark.parametrize(
    ("library", "changed"),
    [("spacy", [TREES, ("SEQ", "BOW"), WORDS]), ("supar", [TREES]), ("benepar", [TREES])],
)
def test_another_release_of_a_library_changes_the_encoders_that_use_it(
    monkeypatch: pytest.MonkeyPatch, library: str, changed: list[tuple[str, ...] | None]
) -> None:
    kinds = [TREES, ("SEQ", "BOW"), WORDS]
    before = [describe_encoding(views) for views in kinds]

    def installed(name: str) -> str:
        return "1000.0" if name == library else importlib.metadata.version(name).partition("+")[0]

    monkeypatch.setattr("treeviews.pipeline.parsing.parse_shard.installed_version", installed)
    monkeypatch.setattr(
        "treeviews.models.encoding.sentence_reader.spacy_version", lambda: installed("spacy")
    )

    after = [describe_encoding(views) for views in kinds]
    assert [v for v, a, b in zip(kinds, after, before, strict=True) if a != b] == changed
