"""A trained model with more words: the same vectors of what it knew, and new ones by a map."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command import subcommand
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model
from tests.support.training_runs import Data, make_data, run
from treeviews import models
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.model.expanded_model import expand_model, trained_words
from treeviews.models.model.model_folder import load_model
from treeviews.models.words.vocabulary_expansion import ExpansionConfig
from treeviews.models.words.word_vectors import load_word_vectors

main = subcommand("models", "expand")

KNOWN = ["the cat sees the dog", "the goat likes the mouse", "horse"]
WITH_OTHERS = ["the cat sees the dog slowly", "twice again"]
RIDGE = ExpansionConfig(ridge=0.1)
FROM_NOTHING: dict[str, Any] = {
    "views": ("SEQ", "LIN"),
    "hidden_size": 4,
    "word_vectors": "trained",
    "trained_words": 18,
    "trained_word_size": 6,
    "epochs": 1,
}
BAG = preset("weighted-words", batch_size=32, held_out_fraction=0.2, trained_words=18)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("work"))


def folder_of(data: Data, name: str, config: TrainingConfig) -> Path:
    folder = data.vectors.parent / "models" / name
    if not folder.exists():
        run(data, folder, config)
    return folder


@pytest.fixture(scope="module")
def trained(data: Data) -> Path:
    """18 words trained from nothing of the 21 of the vectors."""
    return folder_of(data, "shared", preset("laptop", **FROM_NOTHING))


@pytest.fixture(scope="module")
def expanded(trained: Path) -> Path:
    out = trained.with_name("more")
    expand_model(trained, out, RIDGE)
    return out


CONFIGS = {
    "shared": preset("laptop", **FROM_NOTHING),
    "separate": preset("laptop", **{**FROM_NOTHING, "embeddings": "separate"}),
    "weighed": preset("laptop", **{**FROM_NOTHING, "word_weights": "sif"}),
    "beside": preset("laptop", **{**FROM_NOTHING, "words_beside": 1.4, "read_rms": 0.35}),
    "bag": BAG,
    "bags": preset(
        "weighted-words",
        batch_size=32,
        held_out_fraction=0.2,
        trained_words=18,
        embeddings="separate",
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_sentences_of_trained_words_keep_their_vectors(
    name: str, data: Data, tmp_path: Path
) -> None:
    before = models.load(folder_of(data, name, CONFIGS[name]))
    expand_model(folder_of(data, name, CONFIGS[name]), tmp_path / "more", RIDGE)
    after = models.load(tmp_path / "more")

    for pooling in ("last", "mean", "max"):
        np.testing.assert_array_equal(
            after.encode(KNOWN, pooling=pooling), before.encode(KNOWN, pooling=pooling)
        )
    assert (after.encode(WITH_OTHERS) != before.encode(WITH_OTHERS)).any(axis=1).all()


def test_other_words_have_the_image_of_their_pretrained_vector(
    trained: Path, expanded: Path, data: Data
) -> None:
    model, pretrained = load_model(trained), load_word_vectors(data.vectors)
    own = trained_words(model)
    assert own.is_trained.all() and len(own.words) == 18
    x = np.hstack([pretrained.matrix[1:], np.ones((21, 1))]).astype(np.float64)
    penalty = 0.1 * np.diag([1.0] * pretrained.size + [0.0])
    solution = np.linalg.solve(x[:18].T @ x[:18] + penalty, x[:18].T @ own.table)

    found = load_word_vectors(expanded / "words")

    assert found.words == pretrained.words
    np.testing.assert_array_equal(found.matrix[1:19], own.table)
    np.testing.assert_allclose(found.matrix[19:], x[18:] @ solution, atol=1e-5)


def test_the_folder_says_what_it_was_made_of(trained: Path, expanded: Path) -> None:
    said = json.loads((expanded / "model.json").read_text(encoding="utf-8"))
    facts = said["expanded"]
    assert facts["model"]["name"] == "shared" and len(facts["model"]["weights_sha256"]) == 64
    assert facts["words"]["mapped"] == 3 and facts["config"]["ridge"] == 0.1
    assert said["trained"]["config"]["trained_words"] == 18
    assert said["config"]["word_vectors"] == "frozen"
    card = (expanded / "card.md").read_text(encoding="utf-8")
    assert card.startswith((trained / "card.md").read_text(encoding="utf-8")[:40])
    assert "## Expanded vocabulary\n\n18 words have the vectors that training gave them. 3" in card
    assert "| control: the mean of the trained vectors |" in card


def test_the_same_model_is_expanded_to_the_same_bytes(
    trained: Path, expanded: Path, tmp_path: Path
) -> None:
    again = tmp_path / "models" / "again"
    again.mkdir(parents=True)
    (again / "words").mkdir()
    (again / "words" / "vectors.safetensors").write_bytes(b"of a run that was killed")
    expand_model(trained, again, RIDGE)
    for name in ("model.safetensors", "words/vectors.safetensors", "words/words.parquet"):
        assert (again / name).read_bytes() == (expanded / name).read_bytes(), name
    assert models.load(again).digest == models.load(expanded).digest  # type: ignore[attr-defined]


def test_words_of_another_file_are_added(trained: Path, tmp_path: Path) -> None:
    other = write_vectors(tmp_path / "other", size=5)
    words = [*load_word_vectors(other).words[1:], "zebra"]
    (tmp_path / "text.txt").write_text(
        "".join(f"{word} {place}.5 1.0 {place % 3}.0\n" for place, word in enumerate(words)),
        encoding="utf-8",
    )
    facts = expand_model(trained, tmp_path / "out", RIDGE, pretrained=tmp_path / "text.txt")
    assert facts["pretrained"]["name"] == "text.txt"
    assert models.load(tmp_path / "out").encode(["zebra"]).any()
    assert not models.load(trained).encode_views(["zebra"])["1-LIN.last"].any()


def test_a_model_of_given_words_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))
    with pytest.raises(ValueError, match="word vectors were given and not trained"):
        expand_model(folder, tmp_path / "out", RIDGE)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--vectors", "WIDE"), "needs 21 others: .*or a ridge above 0"),
        (("--max-words", "18", "--ridge", "1"), "nothing to add to the model's 18 words"),
        (("--vectors", "no-such-file"), "no-such-file: no such word vectors"),
        (("--ridge", "-1"), "ridge must be at least 0"),
    ],
)
def test_a_mistake_leaves_nothing(
    more: tuple[str, ...],
    message: str,
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wide = str(write_vectors(tmp_path / "wide", size=20))
    options = [wide if option == "WIDE" else option for option in more]
    assert main([str(trained), "--out", str(tmp_path / "out"), *options]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "out").exists()
