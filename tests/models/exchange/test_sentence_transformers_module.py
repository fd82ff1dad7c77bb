"""Encoders that read trees, opened by sentence-transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from treeviews import models
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.exchange.export_model import export_model

SENTENCES = ["A man is playing a guitar.", "", "The bank didn't raise its rates."]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("module") / "trees"
    export_model("english-trees", out, ExportOptions(format="sentence-transformers"))
    return out


def test_it_gives_the_same_vectors(trees: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    expected = models.load("english-trees", on_refusal="zero").encode(SENTENCES)
    model = library.SentenceTransformer(str(trees), trust_remote_code=True, device="cpu")
    np.testing.assert_allclose(model.encode(SENTENCES), expected, atol=1e-6)
    assert model.get_sentence_embedding_dimension() == 900

    model.save_pretrained(str(tmp_path / "again"))
    again = library.SentenceTransformer(
        str(tmp_path / "again"), trust_remote_code=True, device="cpu"
    )
    np.testing.assert_allclose(again.encode(SENTENCES), expected, atol=1e-6)
