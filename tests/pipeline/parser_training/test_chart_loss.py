from types import SimpleNamespace
from typing import Any

import nltk
import pytest
import torch

from tests.support.constituency_trees import tiny_model, toy_treebank
from treeviews.pipeline.parser_training.chart_loss import chart_losses
from treeviews.pipeline.parser_training.constituency_training import chart_batch
from treeviews.pipeline.trees.treebanks import BracketedSentence, to_brackets


def _benepar_example(sentence: BracketedSentence) -> Any:
    tree = nltk.Tree.fromstring(f"(TOP {to_brackets(sentence.tokens, sentence.parse)})")
    return SimpleNamespace(words=sentence.tokens, space_after=None, tree=tree, pos=tree.pos)


@pytest.mark.parametrize("seed", range(3))
def test_losses_and_gradients_are_benepar_s_own(seed: int) -> None:
    toys = toy_treebank(9, seed=seed)
    model = tiny_model(toys, seed=seed)
    module = model.network.train()  # without dropout, so both see the same scores
    batch = chart_batch(toys, model.description.vocabularies)
    examples = [_benepar_example(sentence) for sentence in toys]
    ((_, expected_batch),) = module.encode_and_collate_subbatches(examples, 10_000)

    brackets, tags = chart_losses(module, batch)
    loss = brackets * int(batch.input.lengths.sum()) / len(toys) + tags
    loss.backward()
    found = {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}
    module.zero_grad()
    expected = module.compute_loss(expected_batch)
    expected.backward()

    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    for name, parameter in module.named_parameters():
        if parameter.grad is not None and parameter.grad.abs().max() > 1e-6:
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-3, atol=1e-5)
