"""A view, an objective and a preset, added as CONTRIBUTING says: a module and an entry each."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.support.parsed_corpora import stories, write_corpus, write_vectors
from tests.support.training_runs import SETTINGS, Data, run
from treeviews.models.config.objectives import OBJECTIVES, ObjectiveKind
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import PRESETS, preset
from treeviews.models.config.views import VIEWS, View, needed_stages
from treeviews.models.encoders.sentence_encoder import (
    SentenceBatch,
    SentenceEncoder,
    SentenceStates,
)
from treeviews.models.model.card import CARD_FILE
from treeviews.models.objectives.objective import Objective, ObjectiveResult, Sizes


class RootWord(SentenceEncoder):
    """The word at the root of the tree, through a linear map."""

    def __init__(self, *, word_size: int, hidden_size: int) -> None:
        super().__init__()
        self.output_size = hidden_size
        self.map = nn.Linear(word_size, hidden_size)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        assert batch.dependencies is not None  # made because the view reads them
        return self.map(word_vectors[batch.dependencies.words[batch.dependencies.roots]])

    @torch.no_grad()
    def states(self, batch: SentenceBatch, word_vectors: Tensor) -> SentenceStates:
        last = self(batch, word_vectors)
        rows = torch.arange(len(last))
        return SentenceStates(last, rows, torch.arange(len(last) + 1), last)


class Distance(Objective):
    """Sentences and their other views are near."""

    def __init__(self, config: TrainingConfig, sizes: Sizes) -> None:
        super().__init__()
        assert len(set(sizes.widths)) == 1

    def forward(self, views: object, context: object, look_up: object) -> ObjectiveResult:
        first, second = views  # type: ignore[misc]
        loss = (first - second).square().mean()
        one = torch.tensor(1.0)
        return ObjectiveResult(loss, one, one, torch.tensor(len(first)), {"spread": first.std()})


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("hidden_size",)
    heads = View("the root's word", f"{__name__}:RootWord", reads="dependencies", settings=settings)
    monkeypatch.setitem(VIEWS, "ROOT", heads)
    distance = ObjectiveKind(f"{__name__}:Distance", anchors=(), compares_views=True)
    monkeypatch.setitem(OBJECTIVES, "distance", distance)
    config = preset("laptop", views=("ROOT", "LIN"), objective="distance", hidden_size=4)
    monkeypatch.setitem(PRESETS, "near-roots", config)


@pytest.mark.usefixtures("declared")
def test_what_is_declared_is_checked_trained_and_described(tmp_path: Path) -> None:
    config = preset("near-roots", epochs=1, batch_size=8, held_out_fraction=0.0)
    assert needed_stages(config.views) == ["dependencies"] and config.idle(["anchor"]) == ["anchor"]
    for wrong, meant in (
        ({"views": ("ROOTS", "LIN")}, r"not 'ROOTS, LIN'; did you mean ROOT\?"),
        ({"objective": "distanse"}, "objective must be one of .*distance, not distanse"),
        ({"views": ("ROOT",)}, "the distance objective needs 2 views"),
    ):
        with pytest.raises(ValueError, match=meant):
            config.changed(**wrong)
    with pytest.raises(ValueError, match=r"unknown training preset 'near-root'.*did you mean near"):
        preset("near-root")
    with pytest.raises(ValueError, match="cannot agree: BOW is as wide as the word vectors"):
        config.changed(views=("ROOT", "BOW")).check_trainable()

    data = Data(write_corpus(tmp_path, stories(4)), write_vectors(tmp_path / "vectors"))
    summary = run(data, tmp_path / "model", config, settings=SETTINGS)

    assert "spread" in summary["final_measures"]
    card = (tmp_path / "model" / CARD_FILE).read_text(encoding="utf-8")
    assert "- ROOT: the root's word" in card and "parsed first (dependencies)" in card
