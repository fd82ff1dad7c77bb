"""Constituency trees for sentences whose dependency trees are known, as parsers see fit.

A phrase has one head, so of a phrase's tokens all but one depend on another of them. A span whose
tokens have more heads outside loses score for each of them, and the best tree under what is left
is taken. With gold dependencies the trees are far better than the parser's own; they are written
as bracketed files to train other parsers on.

Legend: B sentences, n tokens of the longest one, S spans.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.base.atomic_files import write_text_atomically
from pipeline.base.bundled import parser_folder
from pipeline.parser_training.constituency.chart_scores import (
    all_spans,
    encode_sentences,
    encode_words,
    fencepost_projection,
    label_scores,
)
from pipeline.parser_training.constituency.examples import SpanIndex
from pipeline.parsers.chart_decoding import best_spans, labelled_trees
from pipeline.parsers.chart_model import (
    START_ROW,
    STOP_ROW,
    ConstituencyModel,
    from_benepar_label,
    load_constituency_model,
    word_table,
)
from pipeline.parsers.fast_layers import length_batches
from pipeline.trees.flat_trees import TOP_LABEL, ConstituencyParse
from pipeline.trees.treebanks import TreebankSentence, read_treebank, to_brackets

DEFAULT_PENALTY = 1.5
"""Of the score of a span, for each head outside beyond the first."""
_BATCH_TOKENS = 600


def heads_outside(heads: Sequence[int]) -> NDArray[np.int64]:
    """Returns ``[n, n]``: of tokens i to j inclusive, how many have their head outside.

    Args:
        heads: 1-based, 0 for the root. Entries below the diagonal have no meaning.
    """
    n = len(heads)
    arcs = np.zeros((n + 1, n + 1), np.int64)
    for dependent, head in enumerate(heads, start=1):
        if head:
            arcs[dependent, head] = 1
    summed = arcs.cumsum(0).cumsum(1)
    before, last = np.arange(n)[:, None], np.arange(1, n + 1)[None]
    inside = summed[last, last] - summed[before, last] - summed[last, before]
    result: NDArray[np.int64] = last - before - inside - summed[before, before]
    return result


def guided_trees(
    models: Sequence[ConstituencyModel],
    sentences: Sequence[TreebankSentence],
    *,
    penalty: float = DEFAULT_PENALTY,
) -> list[ConstituencyParse]:
    """Returns trees that agree with the sentences' dependencies as far as the parsers let them.

    Args:
        models: at least one parser, in evaluation mode; of several, the mean of the scores counts,
            and labels and tags that not all of them know are left out.
        sentences: none longer than a model takes. A token keeps its tag in the file where the
            parsers know that tag.
        penalty: 0 or more; 0 gives the parsers' own trees.

    Raises:
        ValueError: there is no label or no tag that all parsers know.
    """
    lengths = [len(sentence.tokens) for sentence in sentences]
    trees: dict[int, ConstituencyParse] = {}
    for members in length_batches(lengths, max_tokens=_BATCH_TOKENS):
        batch = [sentences[position] for position in members]
        trees.update(zip(members, _parse(models, batch, penalty), strict=True))
    return [trees[position] for position in range(len(sentences))]


@torch.inference_mode()
def _parse(
    models: Sequence[ConstituencyModel], sentences: Sequence[TreebankSentence], penalty: float
) -> list[ConstituencyParse]:
    lengths = torch.tensor([len(sentence.tokens) for sentence in sentences])
    spans = all_spans(lengths)
    of_models = [_scores(model, sentences, lengths, spans) for model in models]
    vocabularies = [model.vocabularies for model in models]
    # The null label, the first, has no column.
    label_scores, labels = _mean([s for s, _ in of_models], [v.labels[1:] for v in vocabularies])
    tag_scores, tags = _mean([s for _, s in of_models], [v.tags for v in vocabularies])
    best, label_ids = label_scores.max(1)
    scores, label_charts = _charts(best, label_ids, spans, sentences, penalty)
    tag_ids = tag_scores.argmax(-1).tolist()
    names = [TOP_LABEL, *(from_benepar_label(label) for label in labels)]
    predicted = [
        _tags(sentence, [tags[tag] for tag in ids[1 : len(sentence.tokens) + 1]], tags)
        for sentence, ids in zip(sentences, tag_ids, strict=True)
    ]
    return labelled_trees(best_spans(scores, lengths.tolist()), label_charts, predicted, names)


def _scores(
    model: ConstituencyModel,
    sentences: Sequence[TreebankSentence],
    lengths: Tensor,
    spans: SpanIndex,
) -> tuple[Tensor, Tensor]:
    """Returns the scores of the spans' labels, ``[S, labels]``, and of tags, ``[B, T, tags]``."""
    network = model.network
    words = sorted({token for sentence in sentences for token in sentence.tokens})
    row_of = {word: row for row, word in enumerate(words, start=2)}
    vectors = encode_words(network, word_table(words, network.char_vocab))
    mask = torch.arange(int(lengths.max()) + 2) < lengths[:, None] + 2
    rows = torch.full(mask.shape, START_ROW)
    rows[mask] = torch.tensor(
        [row for s in sentences for row in (START_ROW, *(row_of[t] for t in s.tokens), STOP_ROW)]
    )
    encoded = encode_sentences(network, vectors, rows, mask)
    projection = fencepost_projection(network, encoded.fenceposts)
    return label_scores(network, projection, spans), encoded.tag_scores


def _mean(scores: Sequence[Tensor], names: Sequence[Sequence[str]]) -> tuple[Tensor, list[str]]:
    """Returns the mean over the models, with the names that all of them have, as its columns.

    Raises:
        ValueError: there is none.
    """
    shared = [name for name in names[0] if all(name in known for known in names)]
    if not shared:
        raise ValueError(
            "the parsers have no label or no tag in common; train them on one treebank"
        )
    columns = [
        of_model[..., [known.index(name) for name in shared]]
        for of_model, known in zip(scores, names, strict=True)
    ]
    return torch.stack(columns).mean(0), shared


def _charts(
    best: Tensor,
    label_ids: Tensor,
    spans: SpanIndex,
    sentences: Sequence[TreebankSentence],
    penalty: float,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns scores and label ids of the spans, ``[B, n, n]`` by first and last token."""
    n = max(len(sentence.tokens) for sentence in sentences)
    scores = np.zeros((len(sentences), n, n), np.float32)
    labels = np.zeros(scores.shape, np.int64)
    cells = (spans.sentences.numpy(), spans.starts.numpy(), spans.ends.numpy() - 1)
    scores[cells], labels[cells] = best.numpy(), label_ids.numpy() + 1
    for b, sentence in enumerate(sentences):
        length = len(sentence.tokens)
        surplus = np.maximum(heads_outside(sentence.heads) - 1, 0)
        scores[b, :length, :length] -= penalty * surplus
    is_whole = np.zeros(scores.shape, np.bool_)
    for b, sentence in enumerate(sentences):
        is_whole[b, 0, len(sentence.tokens) - 1] = True
    null = (scores <= 0) & ~is_whole
    return np.where(null, np.float32(0), scores), np.where(null, 0, labels)


def _tags(sentence: TreebankSentence, predicted: list[str], known: Sequence[str]) -> list[str]:
    if not sentence.xpos:
        return predicted
    return [
        gold if gold in known else guess
        for gold, guess in zip(sentence.xpos, predicted, strict=True)
    ]


def write_guided_trees(arguments: Sequence[str] | None = None) -> str:
    """Writes trees as the command line's arguments say; returns how many.

    Raises:
        ValueError: a file or folder is not what it should be.
    """
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.parser_training guided-trees", description=__doc__
    )
    add = parser.add_argument
    add("out", type=Path, help="bracketed file to write, one tree a line")
    help_text = "constituency parsers: folders, or names of those that ship"
    add("--parsers", type=parser_folder, nargs="+", required=True, help=help_text)
    add("--dependencies", type=Path, nargs="+", required=True, help="CoNLL-U files")
    add("--exclude", nargs="*", default=[], help="leave out documents by prefix")
    add("--penalty", type=float, default=DEFAULT_PENALTY)
    add("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    if not options.penalty >= 0:
        raise ValueError(f"--penalty {options.penalty:g}: must be 0 or more")
    torch.set_num_threads(options.threads)
    models = [load_constituency_model(folder)[0] for folder in options.parsers]
    treebank = read_treebank(options.dependencies, exclude_document_prefixes=options.exclude)
    limit = min(model.config.max_length for model in models) - 2
    taken = [sentence for sentence in treebank if len(sentence.tokens) <= limit]
    parses = guided_trees(models, taken, penalty=options.penalty)
    lines = [
        f"({TOP_LABEL} {to_brackets(sentence.tokens, parse)})\n"
        for sentence, parse in zip(taken, parses, strict=True)
    ]
    write_text_atomically(options.out, "".join(lines))
    return f"{len(lines)} trees, {len(treebank) - len(lines)} longer than {limit} tokens left out"
