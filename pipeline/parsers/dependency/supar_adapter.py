"""Parses sentences with supar's biaffine dependency model: the cheap way.

Only the network is supar's. Its own prediction writes and re-reads CoNLL text, which breaks on
tabs, blank tokens and long repeats, inserts every unknown word into its vocabulary, scores all
relations of all arcs, and loses a whole batch to one bad sentence; in exact arithmetic the heads
and relations here are the same (``tree=True, proj=False``) without any of that. One difference is
meant: a token spelled like a special of supar's (``<bos>``) is an unknown word, not the special.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from pipeline.parsers.base import MAX_TOKENS, Sentence, reject_input
from pipeline.parsers.batches import length_batches
from pipeline.parsers.dependency.decoding import decode
from pipeline.parsers.dependency.fixed_scorers import with_fixed_scorers
from pipeline.parsers.dependency.model import DependencyModel, load_dependency_model
from pipeline.parsers.dependency.precision import encoder_dtype, with_precision
from pipeline.parsers.dependency.spellings import spelling_cache
from pipeline.parsers.dependency.token_batch import token_batch
from pipeline.parsers.precision import checksum_in, name_of
from pipeline.parsers.retry import parse_or_reject
from pipeline.rejection import Rejection
from pipeline.trees.parses import DependencyParse

_CACHED_WORDS = 100_000
"""Distinct words whose spelling features are kept; 40 MB at the bundled parser's 100 features."""

Answer = DependencyParse | Rejection


class SuparDependencyParser:
    """A ``SentenceParser[DependencyParse]`` over a biaffine dependency model.

    Deterministic: sentences of similar length are parsed together, and apart from the last bits of
    a score, which depend on the shape of a matrix product, a sentence's batch has no influence on
    its answer.
    """

    def __init__(
        self,
        model: DependencyModel,
        *,
        name: str,
        checksum: str = "",
        precision: str = "exact",
        max_tokens: int = MAX_TOKENS,
        batch_tokens: int = 3000,
    ) -> None:
        """Takes a loaded model.

        Args:
            model: put into evaluation mode; its device is where parsing happens.
            name: used in paths.
            checksum: of the weights and vocabularies; empty for a model that is on no disk. The
                parser's own also names its arithmetic where this is not the weights'.
            precision: ``exact`` or ``fast``, see ``with_precision``.
            max_tokens: longer sentences are rejected as ``too_long``.
            batch_tokens: bound of a batch's padded size; a setting of the machine.

        Raises:
            ValueError: a limit below 1, or more than the spelling cache can hold; an unknown
                precision.
        """
        for limit_name, limit in (("max_tokens", max_tokens), ("batch_tokens", batch_tokens)):
            if not 1 <= limit < _CACHED_WORDS:
                raise ValueError(f"{limit_name} must lie in [1, {_CACHED_WORDS}), got {limit}")
        self._device = next(model.network.parameters()).device
        self._network = with_fixed_scorers(with_precision(model.network.eval(), precision))
        dtype = encoder_dtype(self._network)
        self.precision = name_of(dtype)
        """Arithmetic of the encoder: ``float32``, ``bfloat16`` or ``float16``."""
        self.name = name
        self.checksum = checksum_in(checksum, dtype)
        self._max_tokens, self._batch_tokens = max_tokens, batch_tokens
        self._vocabulary = model.vocabulary
        self._spellings = spelling_cache(self._network, self._vocabulary, capacity=_CACHED_WORDS)

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Sentence]) -> list[Answer]:
        """Returns one tree or rejection per sentence, in input order; never raises for input.

        Any non-empty string is a token. Reasons of rejection: ``empty``, ``empty_token``,
        ``too_long``, ``parser_error``, ``out_of_memory``.

        Raises:
            MemoryError, RuntimeError: memory or the device failed.
        """
        rejections = [reject_input(sentence, self._max_tokens) for sentence in sentences]
        accepted = [i for i, rejection in enumerate(rejections) if rejection is None]
        lengths = [len(sentences[i]) for i in accepted]
        # All at once: words are read in arrays of a fixed size, of which few are then half empty.
        tokens = (token for i in accepted for token in sentences[i])
        self._spellings.remember(token for token in tokens if isinstance(token, str))
        answers: dict[int, Answer] = {i: r for i, r in enumerate(rejections) if r is not None}
        for batch in length_batches(lengths, max_tokens=self._batch_tokens):
            members = [accepted[position] for position in batch]
            parsed = parse_or_reject(self._parse_batch, [sentences[i] for i in members])
            answers.update(zip(members, parsed, strict=True))
        return [answers[i] for i in range(len(sentences))]

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[DependencyParse]:
        batch = token_batch(sentences, self._vocabulary, device=self._device)
        spellings = self._spellings.vectors(batch.distinct_words)
        return decode(self._network, batch, spellings, self._vocabulary.relations)


def load_dependency_parser(
    path: Path,
    *,
    device: str = "cpu",
    precision: str = "exact",
    max_tokens: int = MAX_TOKENS,
    batch_tokens: int = 3000,
    expected_checksum: str | None = None,
) -> SuparDependencyParser:
    """Returns the parser of a parser folder, such as the bundled one; executes nothing from it.

    Args:
        path: a folder that a training or a conversion wrote; its name becomes the parser's.
        device: where to parse.
        precision: ``exact``, or ``fast`` for arithmetic that may change a few answers.
        max_tokens: longer sentences are rejected.
        batch_tokens: bound of a batch's padded size.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing, damaged, or of another kind; names the file and the remedy.
    """
    model, checksum = load_dependency_model(path, expected_checksum=expected_checksum)
    model.network.to(device)
    return SuparDependencyParser(
        model,
        name=path.resolve().name,
        checksum=checksum,
        precision=precision,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
    )
