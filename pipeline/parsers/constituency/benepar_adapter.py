"""Constituency parsing with benepar's chart model: batches, rejections, trees in flat form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.parsers.base import MAX_TOKENS, Sentence, reject_input
from pipeline.parsers.constituency.chart_decoder import Span, best_binary_trees
from pipeline.parsers.constituency.chart_model import (
    START_ROW,
    STOP_ROW,
    SpanIndex,
    all_spans,
    encode_sentences,
    encode_words,
    fencepost_projection,
    label_scores,
    word_table,
)
from pipeline.parsers.constituency.examples import from_benepar_label
from pipeline.parsers.constituency.model import ConstituencyModel, load_constituency_model
from pipeline.parsers.retry import parse_or_reject
from pipeline.rejection import Rejection
from pipeline.trees.flat import TOP_LABEL
from pipeline.trees.parses import ConstituencyParse

BUNDLED_PARSER = Path("data/parsers/constituency")
"""The parser that ships, relative to the repository's root."""

MAX_WORD_CHARACTERS = 256
"""The model reads no further into a word, so that a giant token costs no more than a long one."""

_WORDS_AT_ONCE = 1024
_SPANS_AT_ONCE = 8192
"""Small enough that a chunk's activations stay in a core's cache."""

Answer = ConstituencyParse | Rejection


class BeneparConstituencyParser:
    """A loaded chart model as a ``SentenceParser[ConstituencyParse]``.

    The model reads the raw characters of each token, as ``benepar.Parser`` does for given words:
    ``(`` is ``(`` here and ``-LRB-`` only where a tree is written as brackets.

    Differs from benepar in that reserved characters (``\\0`` to ``\\4``) count as unknown ones,
    that a word counts by its first 256 characters, and that the sentences of a call are sorted by
    length, so an answer may depend on its batch by float32 rounding alone.
    """

    def __init__(
        self,
        model: ConstituencyModel,
        *,
        name: str,
        checksum: str,
        max_tokens: int = MAX_TOKENS,
        batch_cells: int = 30_000,
    ) -> None:
        """Takes a model over for prediction.

        Args:
            model: switched to evaluation mode.
            name: readable, used in paths.
            checksum: sha256 over all that determines the answers.
            max_tokens: longer sentences are rejected as ``too_long``.
            batch_cells: a batch's sentences times the square of their length; bounds memory.

        Raises:
            ValueError: the model has fewer positions than ``max_tokens`` needs.
        """
        if max_tokens > model.config.max_length - 2:
            raise ValueError(
                f"max_tokens={max_tokens}, but the model takes {model.config.max_length - 2}"
            )
        self.name = name
        self.checksum = checksum
        self._module = model.module.eval()
        self._characters = model.module.char_vocab
        self._labels = [from_benepar_label(label) for label in model.vocabularies.labels]
        self._tags = model.vocabularies.tags
        self._max_tokens = max_tokens
        self._batch_cells = batch_cells

    def parse(self, sentences: Sequence[Sentence]) -> list[Answer]:
        """Returns one tree or rejection per sentence, in input order; never raises for input.

        Any non-empty string is a token. Reasons of rejection: ``empty``, ``empty_token``,
        ``too_long``, ``parser_error``.

        Raises:
            MemoryError, RuntimeError: memory or the device failed.
        """
        rejections = [reject_input(sentence, self._max_tokens) for sentence in sentences]
        accepted = [i for i, rejection in enumerate(rejections) if rejection is None]
        answers: dict[int, Answer] = {i: r for i, r in enumerate(rejections) if r is not None}
        if accepted:
            parsed = parse_or_reject(self._parse_accepted, [sentences[i] for i in accepted])
            answers.update(zip(accepted, parsed, strict=True))
        return [answers[index] for index in range(len(sentences))]

    @torch.inference_mode()
    def _parse_accepted(self, sentences: Sequence[Sentence]) -> list[Answer]:
        """Reads each distinct word once, then parses in batches of like length."""
        row_of, vectors = self._encode_distinct_words(sentences)
        parse_batch = partial(self._parse_batch, vectors=vectors)
        answers: dict[int, Answer] = {}
        for batch in self._batches(sentences):
            rows = [[row_of[token] for token in sentences[i]] for i in batch]
            answers.update(zip(batch, parse_or_reject(parse_batch, rows), strict=True))
        return [answers[index] for index in range(len(sentences))]

    def _encode_distinct_words(
        self, sentences: Sequence[Sentence]
    ) -> tuple[dict[str, int], Tensor]:
        """Returns each distinct word's row and the word vectors ``[W, D / 2]``."""
        words = sorted({token for sentence in sentences for token in sentence}, key=_by_length)
        row_of = {word: row for row, word in enumerate(words, start=2)}
        vectors = [encode_words(self._module, word_table([], self._characters))]
        for first in range(0, len(words), _WORDS_AT_ONCE):
            chunk = [word[:MAX_WORD_CHARACTERS] for word in words[first : first + _WORDS_AT_ONCE]]
            vectors.append(encode_words(self._module, word_table(chunk, self._characters))[2:])
        return row_of, torch.cat(vectors)

    def _batches(self, sentences: Sequence[Sentence]) -> Iterator[list[int]]:
        """Yields the sentences' positions in batches of like length."""
        batch: list[int] = []
        for index in sorted(range(len(sentences)), key=lambda i: len(sentences[i])):
            if batch and (len(batch) + 1) * len(sentences[index]) ** 2 > self._batch_cells:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _parse_batch(
        self, rows: Sequence[list[int]], vectors: Tensor
    ) -> Iterator[ConstituencyParse]:
        lengths = torch.tensor([len(row) for row in rows])
        positions = torch.arange(int(lengths.max()) + 2)
        mask = positions < lengths[:, None] + 2
        padded = torch.full(mask.shape, START_ROW)
        padded[mask] = torch.tensor([r for row in rows for r in (START_ROW, *row, STOP_ROW)])
        device = vectors.device
        encoded = encode_sentences(self._module, vectors, padded.to(device), mask.to(device))
        best, labels = self._best_labels(encoded.fenceposts, lengths.to(device))
        tags = encoded.tag_scores.argmax(-1).tolist()
        trees = best_binary_trees(best, lengths.tolist())
        for b, tree in enumerate(trees):
            names = [self._tags[tag] for tag in tags[b][1 : len(rows[b]) + 1]]
            yield self._labelled(tree, labels[b], names)

    def _best_labels(
        self, fenceposts: Tensor, lengths: Tensor
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Returns each span's best score and label, both ``[B, n, n]`` by first and last token."""
        projection = fencepost_projection(self._module, fenceposts)
        spans = all_spans(lengths)
        maxima = []
        for first in range(0, len(spans.starts), _SPANS_AT_ONCE):
            chunk = slice(first, first + _SPANS_AT_ONCE)
            part = SpanIndex(spans.sentences[chunk], spans.starts[chunk], spans.ends[chunk])
            maxima.append(label_scores(self._module, projection, part).max(1))
        best = torch.cat([maximum.values for maximum in maxima])
        labels = torch.cat([maximum.indices for maximum in maxima]) + 1
        null = best <= 0
        if self._module.decoder.force_root_constituent:
            null &= (spans.starts != 0) | (spans.ends != lengths[spans.sentences])
        n = int(lengths.max())
        cells = tuple(x.cpu().numpy() for x in (spans.sentences, spans.starts, spans.ends - 1))
        best_chart = np.zeros((len(lengths), n, n), np.float32)
        label_chart = np.zeros((len(lengths), n, n), np.int64)
        best_chart[cells] = best.masked_fill(null, 0.0).cpu().numpy()
        label_chart[cells] = labels.masked_fill(null, 0).cpu().numpy()
        return best_chart, label_chart

    def _labelled(
        self, tree: Sequence[Span], labels: NDArray[np.int64], tags: list[str]
    ) -> ConstituencyParse:
        """Returns the spans of a binary tree that bear a label, the whole sentence always."""
        label_ids = labels.tolist()
        kept = [(i, j, label_ids[i][j - 1]) for i, j in tree]
        kept = [span for k, span in enumerate(kept) if span[2] or k == 0]
        return ConstituencyParse(
            starts=[i for i, _, _ in kept],
            ends=[j for _, j, _ in kept],
            labels=[self._labels[label] or TOP_LABEL for _, _, label in kept],
            tags=tags,
        )


def load_constituency_parser(
    path: Path,
    *,
    device: str = "cpu",
    expected_checksum: str | None = None,
) -> BeneparConstituencyParser:
    """Returns the parser of a folder that ``save_constituency_model`` wrote; runs no code in it.

    Args:
        path: the folder with ``weights.safetensors`` and ``parser.json``; its name becomes the
            parser's.
        device: torch's name of where to run.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing, damaged or of another kind; names the file.
    """
    model, checksum = load_constituency_model(
        path, device=device, expected_checksum=expected_checksum
    )
    return BeneparConstituencyParser(model, name=path.resolve().name, checksum=checksum)


def _by_length(word: str) -> tuple[int, str]:
    return len(word), word
