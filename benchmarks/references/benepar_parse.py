"""benepar's own prediction with our weights: what the constituency parser is measured against.

``parse_sents`` is what benepar's users call; ``parse_bucketed`` is the fastest way through its
public interface, which sorts by length and builds no ``nltk`` tree.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import benepar
import nltk
import torch
from benepar.parse_base import CompressedParserOutput
from benepar.parse_chart import ChartParser

from treeviews.pipeline.parsers.chart_model import ConstituencyModel, from_benepar_label
from treeviews.pipeline.parsers.sentence_parser import Sentence
from treeviews.pipeline.trees.flat_trees import TOP_LABEL, ConstituencyParse
from treeviews.pipeline.trees.treebanks import flatten, scan_brackets

BUCKET_TOKENS = (300, 500, 1000, 2000)
"""Sizes of a bucket worth trying: below and above, benepar is slower."""


def benepar_parser(model: ConstituencyModel) -> benepar.Parser:
    """Returns a ``benepar.Parser`` with the model's weights, its settings at their defaults."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "parser.pt"
        content = {"config": model.network.config, "state_dict": model.network.state_dict()}
        torch.save(content, checkpoint)
        return benepar.Parser(str(checkpoint))


def parse_sents(parser: benepar.Parser, sentences: Sequence[Sentence]) -> list[nltk.Tree]:
    """Returns benepar's trees of tokenized sentences, in order."""
    inputs = [benepar.InputSentence(words=list(sentence)) for sentence in sentences]
    return list(parser.parse_sents(inputs))


def parse_bucketed(
    parser: benepar.Parser, sentences: Sequence[Sentence], *, bucket_tokens: int
) -> list[CompressedParserOutput]:
    """Returns benepar's compressed trees by way of its own length buckets, in order.

    Args:
        parser: whose chart parser is used.
        sentences: tokenized.
        bucket_tokens: positions of a bucket at most, padding and sentence marks counted.
    """
    inputs = [benepar.InputSentence(words=list(sentence)) for sentence in sentences]
    outputs: list[CompressedParserOutput] = chart_parser(parser).parse(
        inputs, return_compressed=True, subbatch_max_tokens=bucket_tokens
    )
    return outputs


def chart_parser(parser: benepar.Parser) -> ChartParser:
    """Returns the network inside a ``benepar.Parser``, which offers no public way to it."""
    return parser._parser


def from_tree(tree: nltk.Tree) -> ConstituencyParse:
    """Returns a tree of ``parse_sents`` in flat form."""
    children = list(tree)
    # benepar sets several constituents, or a bare token, below its top without a label of their own
    inner = children[0] if len(children) == 1 else nltk.Tree(TOP_LABEL, children)
    return flatten(next(scan_brackets([inner.pformat(margin=10**9)])))[1]


def from_compressed(parser: benepar.Parser, output: CompressedParserOutput) -> ConstituencyParse:
    """Returns a tree of ``parse_bucketed`` in flat form."""
    network = chart_parser(parser)
    names = network.decoder.label_from_index
    spans = list(zip(output.starts, output.ends, output.labels, strict=True))
    # Every single token is among them, and where it bears no label it is no constituent.
    kept = [(i, j, names[k]) for at, (i, j, k) in enumerate(spans) if names[k] or at == 0]
    return ConstituencyParse(
        starts=[int(start) for start, _, _ in kept],
        ends=[int(end) for _, end, _ in kept],
        labels=[from_benepar_label(label) or TOP_LABEL for _, _, label in kept],
        tags=[network.tag_from_index[int(tag)] for tag in output.tags],
    )
