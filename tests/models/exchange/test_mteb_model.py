"""An encoder as one of MTEB's models, scored by MTEB itself on data of one's own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from treeviews.models.exchange.mteb_model import mteb_model


class Lengths:
    """An encoder of one's own, without views."""

    def encode(self, sentences: Sequence[str]) -> Any:
        return np.array([[len(text), text.count("a"), 1] for text in sentences], np.float32)


@pytest.fixture
def mteb() -> Any:
    return pytest.importorskip("mteb", reason="mteb is not installed")


def test_without_mteb_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ValueError, match=r"need mteb.*pip install .*'mteb<3'"):
        mteb_model(Lengths())


@pytest.mark.usefixtures("mteb")
def test_batches_are_encoded_in_their_order() -> None:
    model = mteb_model(Lengths())
    found = model.encode([{"text": ["rain", "bank"]}, {"text": ["song"]}], hf_split="test")
    assert np.array_equal(found, Lengths().encode(["rain", "bank", "song"]))
    assert model.similarity(found, found).shape == (3, 3)
    assert model.similarity_pairwise(found, found).numpy() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.usefixtures("mteb")
def test_the_meta_of_a_shipped_encoder_is_whole() -> None:
    from mteb.models import EncoderProtocol

    model = mteb_model("english")
    meta = model.mteb_model_meta
    assert isinstance(model, EncoderProtocol)
    assert (meta.name, meta.revision) == ("treeviews/english", model.encoder.digest)
    assert (meta.embed_dim, meta.license) == (300, "cc-by-sa-4.0")
    with pytest.raises(ValueError, match="ModelMeta has no licence"):
        mteb_model(Lengths(), licence="mit")


def test_mteb_scores_it_on_pairs_of_ones_own(mteb: Any) -> None:
    datasets = pytest.importorskip("datasets")
    pairs = {
        "sentence1": ["the cat sat", "it rains", "a man sings a song", "no"],
        "sentence2": ["the cat sat", "it rained", "he hums", "the sun shines"],
        "score": [5.0, 4.0, 2.5, 0.0],
    }
    task = mteb.get_task("STSBenchmark")
    task.dataset = {"default": {"test": datasets.Dataset.from_dict(pairs)}}
    task.data_loaded = True

    model = mteb_model("english")
    result = mteb.evaluate(model, task, cache=None, co2_tracker=False).task_results[0]

    first, second = (model.encoder.encode(pairs[name]) for name in ("sentence1", "sentence2"))
    cosines = model.similarity_pairwise(first, second).numpy()
    stats = pytest.importorskip("scipy.stats")
    expected = stats.spearmanr(cosines, pairs["score"]).statistic
    assert result.get_score() == pytest.approx(expected, abs=1e-5)
