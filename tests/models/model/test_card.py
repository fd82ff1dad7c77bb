"""What a model's card says of its views."""

from __future__ import annotations

import pytest

from treeviews.models.config.training_presets import preset
from treeviews.models.model.card import CardFacts, model_card


@pytest.mark.parametrize(("cell", "name"), [("gru", "GRU"), ("lstm", "LSTM")])
def test_a_card_names_what_words_are_read_with(cell: str, name: str) -> None:
    config = preset("laptop", views=("SEQ", "DEP"), seq_cell=cell)

    card = model_card(CardFacts("small", config, "stories", {}))

    assert f"- SEQ: the words in their order ({name})\n" in card
    assert "- DEP: the dependency tree (Tree-LSTM)\n" in card
