"""Constituency parsing with benepar's chart model: batches, rejections, trees in flat form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from pipeline.parsers.base import MAX_TOKENS, Sentence, reject_input
from pipeline.parsers.constituency.decoding import trees_of_fenceposts
from pipeline.parsers.constituency.examples import from_benepar_label
from pipeline.parsers.constituency.model import ConstituencyModel, load_constituency_model
from pipeline.parsers.constituency.packed_transformer import PackedTransformer, equal_runs
from pipeline.parsers.constituency.span_scorer import SpanScorer
from pipeline.parsers.constituency.word_vectors import WordVectors
from pipeline.parsers.precision import checksum_in, dtype_for, name_of
from pipeline.parsers.retry import parse_or_reject
from pipeline.rejection import Rejection
from pipeline.trees.parses import ConstituencyParse

BATCH_TOKENS = 2_000
"""Positions of a batch on a CPU: enough for full speed, few enough for a core's cache."""

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
        precision: str = "exact",
        max_tokens: int = MAX_TOKENS,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        """Takes a model over for prediction.

        Args:
            model: switched to evaluation mode.
            name: readable, used in paths.
            checksum: sha256 over weights and vocabularies. The parser's own also names its
                arithmetic where this is not the weights'.
            precision: ``exact`` or ``fast``, see ``pipeline.parsers.precision``.
            max_tokens: longer sentences are rejected as ``too_long``.
            batch_tokens: bound of a batch's size, sentence marks included; a longer sentence
                stands alone. A setting of the machine.

        Raises:
            ValueError: the model has fewer positions than ``max_tokens`` needs, no token fits in a
                batch, or the precision is unknown.
        """
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}")
        if max_tokens > model.config.max_length - 2:
            raise ValueError(
                f"max_tokens={max_tokens}, but the model takes {model.config.max_length - 2}"
            )
        module = model.module.eval()
        exact: torch.dtype = module.add_timing.timing_table.dtype
        dtype = dtype_for(precision, module.device, exact=exact)
        self.precision = name_of(dtype)
        """Arithmetic of the encoder: ``float32``, ``bfloat16`` or ``float16``."""
        self.name = name
        self.checksum = checksum_in(checksum, dtype, exact=exact)
        self._labels = [from_benepar_label(label) for label in model.vocabularies.labels]
        self._tags = model.vocabularies.tags
        self._max_tokens, self._batch_tokens = max_tokens, batch_tokens
        self._words = WordVectors(module)
        self._encoder = PackedTransformer(module, dtype=dtype)
        self._tagger = module.f_tag
        self._scorer = SpanScorer(module)

    def parse(self, sentences: Sequence[Sentence]) -> list[Answer]:
        """Returns one tree or rejection per sentence, in input order; never raises for input.

        Any non-empty string is a token. Reasons of rejection: ``empty``, ``empty_token``,
        ``too_long``, ``parser_error``, ``out_of_memory``.

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
        """Reads all words ahead, then parses in batches of like length."""
        self._words.remember(sentences)
        answers: dict[int, Answer] = {}
        for batch in self._batches(sentences):
            parsed = parse_or_reject(self._parse_batch, [sentences[i] for i in batch])
            answers.update(zip(batch, parsed, strict=True))
        return [answers[index] for index in range(len(sentences))]

    def _batches(self, sentences: Sequence[Sentence]) -> Iterator[list[int]]:
        """Yields the sentences' positions in batches, shortest first."""
        batch: list[int] = []
        size = 0
        for index in sorted(range(len(sentences)), key=lambda i: len(sentences[i])):
            num_positions = len(sentences[index]) + 2
            if batch and size + num_positions > self._batch_tokens:
                yield batch
                batch, size = [], 0
            batch.append(index)
            size += num_positions
        if batch:
            yield batch

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ConstituencyParse]:
        runs = list(equal_runs([len(sentence) + 2 for sentence in sentences]))
        states_PD = self._encoder(self._words.content(sentences), runs)
        best_tags = self._tagger(states_PD).argmax(-1).tolist()
        half = states_PD.shape[-1] // 2
        fenceposts, tags = [], []
        for run in runs:
            states = states_PD[run.positions].unflatten(0, (run.num_sentences, -1))
            fenceposts.append(torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1))
        first = 1
        for sentence in sentences:
            of_tokens = best_tags[first : first + len(sentence)]
            tags.append([self._tags[tag] for tag in of_tokens])
            first += len(sentence) + 2
        return trees_of_fenceposts(self._scorer, fenceposts, tags, self._labels)


def load_constituency_parser(
    path: Path,
    *,
    device: str = "cpu",
    precision: str = "exact",
    batch_tokens: int = BATCH_TOKENS,
    expected_checksum: str | None = None,
) -> BeneparConstituencyParser:
    """Returns the parser of a folder that ``save_constituency_model`` wrote; runs no code in it.

    Args:
        path: the folder with ``weights.safetensors`` and ``parser.json``; its name becomes the
            parser's.
        device: torch's name of where to run.
        precision: ``exact``, or ``fast`` for arithmetic that may change a few answers.
        batch_tokens: bound of a batch's size.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing, damaged or of another kind; names the file.
    """
    model, checksum = load_constituency_model(
        path, device=device, expected_checksum=expected_checksum
    )
    return BeneparConstituencyParser(
        model,
        name=path.resolve().name,
        checksum=checksum,
        precision=precision,
        max_tokens=min(MAX_TOKENS, model.config.max_length - 2),
        batch_tokens=batch_tokens,
    )
