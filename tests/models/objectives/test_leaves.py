"""The loss of leaves against trees that are walked down node by node; trainings with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from torch import Tensor

from models.config.training_config import TrainingConfig
from models.config.views import SUM_OF_VIEW
from models.corpus.relations import RELATIONS
from models.corpus.sentence_block import SentenceBlock
from models.objectives import leaves
from models.objectives.base import SentenceContext
from models.objectives.build import build_objective
from models.objectives.leaves import WithLeaves
from models.training.logs import METRICS_FILE, read_metrics
from tests.support.training_runs import CONFIG, make_data, run
from tests.support.tree_oracles import Sentence, random_sentence

WIDTH, WORD_SIZE, NUM_WORDS = 3, 5, 9
LEAVES = TrainingConfig(hidden_size=WIDTH, leaves_weight=0.7, leaves_temperature=0.2)


def block_of(sentences: list[Sentence]) -> SentenceBlock:
    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(s, name) for s in sentences]).astype(np.int16)

    number = len(sentences)
    return SentenceBlock(
        token_ids=column("words").astype(np.int32),
        offsets=np.cumsum([0, *(len(s.words) for s in sentences)]),
        documents=np.zeros(number, dtype=np.int32),
        sentence_index=np.arange(number, dtype=np.int32),
        rows=np.arange(number),
        heads=column("heads"),
        relations=column("relations"),
        binary_left=column("left"),
        binary_right=column("right"),
    )


def down_constituents(sentence: Sentence, root: Tensor, gates: Tensor) -> dict[int, Tensor]:
    """Returns the vector at each token, by equation 1 without θ."""
    found: dict[int, Tensor] = {}

    def go(node: int, vector: Tensor) -> None:
        if node < 0:
            found[-1 - node] = vector
            return
        go(sentence.left[node], torch.sigmoid(gates[0]) * vector)
        go(sentence.right[node], torch.sigmoid(gates[1]) * vector)

    go(0 if sentence.left else -1, root)
    return found


def down_dependencies(sentence: Sentence, root: Tensor, gates: Tensor) -> dict[int, Tensor]:
    """Returns the vector at each token; relations of words, of left and of right children."""
    found: dict[int, Tensor] = {}
    of_word, of_left, of_right = torch.sigmoid(gates).split(len(RELATIONS))

    def go(node: int, vector: Tensor) -> None:
        found[node] = of_word[sentence.relation(node)] * vector
        for child in (k for k, head in enumerate(sentence.heads) if head == node + 1):
            of_side = of_left if child < node else of_right
            go(child, of_side[sentence.relation(child)] * vector)

    go(sentence.heads.index(0), root)
    return found


def expected_loss(
    objective: WithLeaves, views: list[Tensor], sentences: list[Sentence], table: Tensor
) -> Tensor:
    """Returns equation 3, leaf by leaf."""
    present = sorted({word for s in sentences for word in s.words if word})
    of_views = []
    for view, name, to_words, gates in zip(
        views, LEAVES.views, objective.maps, objective.gates, strict=True
    ):
        down = down_constituents if SUM_OF_VIEW[name] == "CONSTSUM" else down_dependencies
        missed: dict[int, list[Tensor]] = {word: [] for word in present}
        for vector, sentence in zip(view, sentences, strict=True):
            for token, leaf in down(sentence, to_words(vector), gates).items():
                if word := sentence.words[token]:
                    scores = torch.cosine_similarity(leaf[None], table[present]) / 0.2
                    missed[word].append(-scores.log_softmax(0)[present.index(word)])
        of_views.append(torch.stack([torch.stack(m).mean() for m in missed.values()]).mean())
    return torch.stack(of_views).mean()


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_and_its_gradients_are_those_of_a_walk_down_the_trees(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaves, "LEAVES_AT_ONCE", 4)
    torch.manual_seed(seed)
    random = Random(seed)
    sentences = [random_sentence(random, n, num_words=NUM_WORDS) for n in (1, 7, 2, 5, 1, 12)]
    views = [torch.randn(6, WIDTH, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    table = torch.randn(NUM_WORDS, WORD_SIZE, dtype=torch.float64)
    objective = build_objective(
        LEAVES, [WIDTH] * 2, word_size=WORD_SIZE, num_words=NUM_WORDS
    ).double()
    assert isinstance(objective, WithLeaves)
    for gates in objective.gates:
        torch.nn.init.normal_(gates)

    context = SentenceContext.of(block_of(sentences), LEAVES)
    result = objective(views, context, lambda ids: table[ids])

    expected = expected_loss(objective, views, sentences, table)
    alone = objective.objective(views, context, lambda ids: table[ids])
    torch.testing.assert_close(result.measures["leaves_loss"], expected.detach())
    torch.testing.assert_close(result.loss, alone.loss + 0.7 * expected)
    moved = [*views, *objective.parameters()]
    of_result = torch.autograd.grad(result.loss, moved)
    of_walk = torch.autograd.grad(alone.loss + 0.7 * expected, moved)
    torch.testing.assert_close(of_result, of_walk)


def test_the_deepest_leaf_has_a_direction_whatever_the_gates() -> None:
    length = 400
    left = [-1 - node for node in range(length - 1)]
    right = [*range(1, length - 1), -length]
    sentence = Sentence([1 + place % 8 for place in range(length)], [*range(length)], left, right)
    block = block_of([replace(sentence, relations=[0] * length)])
    config = replace(LEAVES, views=("CONST", "CONST"))
    objective = build_objective(config, [WORD_SIZE] * 2, word_size=WORD_SIZE, num_words=NUM_WORDS)
    assert isinstance(objective, WithLeaves)
    torch.nn.init.normal_(objective.gates[0], mean=-5.0)
    table, view = torch.randn(NUM_WORDS, WORD_SIZE), torch.randn(1, WORD_SIZE, requires_grad=True)

    result = objective([view, view], SentenceContext.of(block, config), lambda ids: table[ids])
    result.loss.backward()

    moved = [view.grad, *(gates.grad for gates in objective.gates)]
    assert all(grad is not None and grad.isfinite().all() and grad.any() for grad in moved)


def test_sentences_of_unknown_words_ask_for_nothing() -> None:
    block = block_of(
        [Sentence([0, 0], [0, 1], [-1], [-2], [1, 2]), Sentence([0], [0], [], [], [1])]
    )
    objective = build_objective(LEAVES, [WORD_SIZE] * 2, word_size=WORD_SIZE, num_words=NUM_WORDS)
    views = [torch.randn(2, WORD_SIZE, requires_grad=True) for _ in range(2)]

    result = objective(
        views, SentenceContext.of(block, LEAVES), lambda ids: torch.zeros(len(ids), WORD_SIZE)
    )
    result.loss.backward()

    assert result.measures["leaves_loss"] == 0
    assert all(torch.isfinite(view.grad).all() for view in views if view.grad is not None)


def test_nothing_is_made_where_nothing_is_asked() -> None:
    block = block_of([random_sentence(Random(0), 4)])

    assert SentenceContext.of(block, TrainingConfig()).leaves is None
    assert SentenceContext.of(block.slice(0, 0), LEAVES).leaves is None


def test_words_at_other_places_are_found_at_those() -> None:
    """The control moves them for what goes down a tree, as for what goes up."""
    block = block_of([random_sentence(Random(0), 12, num_words=400)])

    plain, shuffled = (
        SentenceContext.of(block, replace(LEAVES, shuffled=what)).leaves
        for what in ("nothing", "words")
    )

    assert plain is not None
    assert shuffled is not None
    assert torch.equal(plain.word_ids, shuffled.word_ids)
    assert not torch.equal(plain.words, shuffled.words)


@pytest.mark.slow
@pytest.mark.parametrize("views", [("DEP", "CONST"), ("DEPSUM", "CONSTSUM")])
def test_a_training_finds_more_words_at_the_leaves(views: tuple[str, str], tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    config = replace(CONFIG, views=views, leaves_weight=1.0, epochs=6, learning_rate=5e-3)

    run(data, tmp_path / "model", config)

    steps = [r for r in read_metrics(tmp_path / "model" / METRICS_FILE) if r["kind"] == "train"]
    assert steps[-1]["leaves_loss"] < steps[0]["leaves_loss"] - 0.1


@pytest.mark.parametrize("view", ["SEQ", "LIN", "BOW"])
def test_a_view_without_a_tree_has_no_leaves(view: str) -> None:
    with pytest.raises(
        ValueError, match=rf"leaves_weight must be 0 for views CONST, {view}: only DEP, CONST, "
    ):
        TrainingConfig(views=("CONST", view), leaves_weight=0.5)
