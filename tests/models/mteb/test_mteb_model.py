"""An encoder as one of MTEB's models."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from models.mteb.library import import_mteb
from tests.support import mteb_data


def test_without_mteb_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ValueError, match=r"need mteb.*pip install 'mteb<3'"):
        import_mteb()


def test_batches_are_encoded_in_their_order() -> None:
    pytest.importorskip("mteb", reason="mteb is not installed")
    from models.mteb.mteb_model import mteb_model

    model = mteb_model(mteb_data.WordSums(), name="sums")
    found = model.encode([{"text": ["rain", "bank"]}, {"text": ["song"]}], hf_split="test")
    assert np.array_equal(found, mteb_data.WordSums().encode(["rain", "bank", "song"]))
    assert model.similarity(found, found).shape == (3, 3)
    assert model.similarity_pairwise(found, found).numpy() == pytest.approx(1.0, abs=1e-6)
    assert model.num_texts == 3


def test_the_meta_of_a_shipped_encoder_is_whole() -> None:
    pytest.importorskip("mteb", reason="mteb is not installed")
    from mteb.models import EncoderProtocol

    from models.mteb.mteb_model import mteb_model

    model = mteb_model("english")
    meta = model.mteb_model_meta
    assert isinstance(model, EncoderProtocol)
    assert (meta.name, meta.revision) == ("treeviews/english", model.encoder.digest)
    assert (meta.embed_dim, meta.n_parameters) == (300, 75_001 * 300)
    assert meta.license == "cc-by-sa-4.0"
    assert meta.similarity_fn_name.value == "cosine"


def test_mteb_finds_a_registered_encoder_by_its_name() -> None:
    mteb = pytest.importorskip("mteb", reason="mteb is not installed")
    from models.mteb.mteb_model import register

    name = register("english")
    assert name == "treeviews/english"
    model = mteb.get_model(name)
    assert model.encode([{"text": ["It rains."]}]).shape == (1, 300)


def test_a_field_that_mteb_does_not_know_is_told() -> None:
    pytest.importorskip("mteb", reason="mteb is not installed")
    from models.mteb.mteb_model import mteb_model

    with pytest.raises(ValueError, match="ModelMeta has no licence"):
        mteb_model(mteb_data.WordSums(), meta={"licence": "mit"})
