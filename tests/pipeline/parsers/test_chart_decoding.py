"""The parts of prediction against benepar's own modules, and the best tree by brute force."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from benepar.parse_chart import ChartParser
from numpy.typing import NDArray

from tests.support.constituency_trees import benepar_word_vectors
from treeviews.pipeline.parser_training.chart_loss import chart_input, encode_sentences
from treeviews.pipeline.parsers.chart_adapter import PackedTransformer, WordVectors, equal_runs
from treeviews.pipeline.parsers.chart_decoding import SpanScorer, best_spans
from treeviews.pipeline.parsers.chart_model import (
    RESERVED_CHARACTERS,
    ChartDescription,
    ChartModelConfig,
    ChartVocabularies,
    build_chart_parser,
    word_table,
)

CONFIG = ChartModelConfig(
    d_model=24, num_layers=2, num_heads=3, d_kv=8, d_ff=20, d_char=6, d_label_hidden=14,
    d_tag_hidden=10, max_length=40,
)  # fmt: skip


SENTENCES = [["yes"], ["no"], ["a", "dog", "barked"], ["she", "saw", "it", "and", "a", "bird"]]


@pytest.fixture(scope="module")
def module() -> ChartParser:
    vocabularies = ChartVocabularies(
        characters=(*RESERVED_CHARACTERS, *"abcdefghijklmnopqrstuvwxyz"),
        labels=("", "S", "NP", "VP"),
        tags=("X", "Y"),
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        description = ChartDescription(model=CONFIG, vocabularies=vocabularies)
        module = build_chart_parser(description).double().eval()
        for parameter in module.parameters():  # norms, too, shall be no mere identity
            torch.nn.init.normal_(parameter, std=0.5)
        with torch.no_grad():
            module.f_label[1].weight[:2] = torch.tensor([0.0, -0.7])
    return module


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


def test_words_have_the_vectors_of_benepar_s_character_lstm(module: ChartParser) -> None:
    words = WordVectors(module)
    content = words.content(SENTENCES)
    rows = [row for sentence in SENTENCES for row in ("\1", *sentence, "\4")]
    distinct = sorted({row for row in rows if row.isalpha()})
    expected = benepar_word_vectors(module, word_table(distinct, module.char_vocab))
    place = {"\1": 0, "\4": 1, **{word: row for row, word in enumerate(distinct, start=2)}}
    torch.testing.assert_close(content, expected[[place[row] for row in rows]])


def test_states_and_charts_are_benepar_s(module: ChartParser) -> None:
    content = WordVectors(module).content(SENTENCES)
    runs = list(equal_runs([len(sentence) + 2 for sentence in SENTENCES]))
    packed = PackedTransformer(module)(content, runs)
    scorer, half = SpanScorer(module), CONFIG.d_model // 2
    for run in runs:
        of_run = [s for s in SENTENCES if len(s) + 2 == run.num_positions]
        expected, _ = encode_sentences(module, chart_input(of_run, module.char_vocab))
        states = packed[run.positions].unflatten(0, (run.num_sentences, -1))
        fenceposts = torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1)
        torch.testing.assert_close(fenceposts, expected)
        _assert_chart_is_benepar_s(module, scorer, fenceposts)


def _assert_chart_is_benepar_s(
    module: ChartParser, scorer: SpanScorer, fenceposts: torch.Tensor
) -> None:
    num_sentences, n = len(fenceposts), fenceposts.shape[1] - 1
    scores, labels = scorer.chart(fenceposts, torch.full((num_sentences,), n))
    differences = (fenceposts[:, None] - fenceposts[:, :, None])[:, :-1, 1:]
    best = module.f_label(differences).max(-1)
    for b in range(num_sentences):
        for i in range(n):
            for j in range(i, n):
                value, label = best.values[b, i, j].item(), best.indices[b, i, j].item() + 1
                whole = i == 0 and j == n - 1
                expected = (value, label) if value > 0 or whole else (0.0, 0)
                assert scores[b, i, j] == pytest.approx(expected[0], rel=1e-6, abs=1e-9)
                assert labels[b, i, j] == expected[1]


Span = tuple[int, int]


def best_binary_trees(scores: NDArray[np.float32], lengths: list[int]) -> list[list[Span]]:
    """Each sentence's best tree as its spans in preorder."""
    trees: list[list[Span]] = [[] for _ in lengths]
    for sentence, start, end in best_spans(scores, lengths).T.tolist():
        trees[sentence].append((start, end))
    return trees


def _every_tree(start: int, end: int) -> Iterator[list[Span]]:
    if end - start == 1:
        yield [(start, end)]
    for middle in range(start + 1, end):
        for left in _every_tree(start, middle):
            for right in _every_tree(middle, end):
                yield [(start, end), *left, *right]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_the_best_of_all_trees_is_found(length: int) -> None:
    scores = np.random.default_rng(length).normal(size=(20, length, length)).astype(np.float32)
    for chart, tree in zip(scores, best_binary_trees(scores, [length] * 20), strict=True):
        best = max(_every_tree(0, length), key=lambda spans: sum(chart[i, j - 1] for i, j in spans))
        assert tree == best
