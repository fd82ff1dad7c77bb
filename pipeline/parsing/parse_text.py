"""Raw text to trees: read as a corpus is, every token with its place in the text.

The parsers are those of the shard job, and what one of them refuses is refused here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args, overload

from pipeline.base.foreign_text import checked_string, listed_strings
from pipeline.base.refusal import Refusal, RefusedSentence, named, shortened
from pipeline.parsers.parser_files import checksum_of_parser_folder
from pipeline.parsers.sentence_parser import MAX_TOKENS, LazyParser, reject_input
from pipeline.parsing.chosen_parsers import device_called, folders_of
from pipeline.parsing.parsed_sentence import ParsedSentence, Trees

if TYPE_CHECKING:
    from pipeline.text.aligned import AlignedSentence
    from pipeline.text.tokenization import EnglishTokenizer

OnRefusal = Literal["error", "skip"]
"""A sentence that cannot be parsed ends it all, or stands in its place without trees."""

SENTENCES_AT_ONCE = 2_048
"""Given to a parser together, which makes batches of like length of them."""
CHARACTERS_AT_ONCE = 1 << 20
"""Of a stream's texts, read ahead."""
TOKENS_AT_ONCE = 100_000
_TOKENS = "; Parser.parse_tokens takes tokens"
_KEPT_PARSERS = 4
"""Parsers that `parse` keeps loaded; the first ones take tens of megabytes."""


class _Asked(TypedDict, total=False):
    on_refusal: OnRefusal
    on_progress: Callable[[float], None] | None


class _AskedOfParsers(_Asked, total=False):
    dependencies: bool
    constituents: bool
    dependency_parser: str | Path | None
    constituency_parser: str | Path | None
    device: str


class Parser:
    """A dependency and a constituency parser, loaded once, over raw text.

    Several threads may parse at once and take turns, for parsers reuse their buffers.
    """

    def __init__(
        self,
        *,
        dependencies: bool = True,
        constituents: bool = True,
        dependency_parser: str | Path | None = None,
        constituency_parser: str | Path | None = None,
        device: str = "cpu",
    ) -> None:
        """Finds the parsers; they are loaded when the first sentence is parsed.

        Args:
            dependencies: whether heads and relations are wanted.
            constituents: whether spans and tags are wanted.
            dependency_parser: a parser's folder, or the name of one that ships: ``dependency``
                (the default) or ``dependency-large``, which older models need.
            constituency_parser: the same: ``constituency`` or ``constituency-large``.
            device: where to parse: ``cpu``, ``cuda``, ``cuda:1``; ``auto`` takes a GPU where there
                is one.

        Raises:
            FileNotFoundError: no such parser; names those that ship.
            ValueError: nothing is wanted, a parser is given for what is not, a folder lacks a file,
                or this machine has no such device.
        """
        folders = folders_of(dependencies, constituents, dependency_parser, constituency_parser)
        device = device_called(device)
        self._turn = Lock()
        self.parsers: dict[str, LazyParser] = {
            stage: LazyParser(stage, folder, device=device) for stage, folder in folders.items()
        }
        """Stage (``dependencies``, ``constituents``) -> its parser."""

    # A string is a sequence of strings, too; type checkers take the first that fits.
    @overload
    def parse(  # type: ignore[overload-overlap]
        self, texts: str, *, split: Literal[False] = False, **asked: Unpack[_Asked]
    ) -> ParsedSentence: ...

    @overload
    def parse(
        self, texts: Sequence[str], *, split: bool = False, **asked: Unpack[_Asked]
    ) -> list[ParsedSentence]: ...

    def parse(
        self,
        texts: Sequence[str],
        *,
        split: bool = False,
        on_refusal: OnRefusal = "error",
        on_progress: Callable[[float], None] | None = None,
    ) -> ParsedSentence | list[ParsedSentence]:
        """Returns the sentences with their trees, in the texts' order; of one string, its sentence.

        Args:
            texts: raw text; each string is one sentence, whatever it holds.
            split: each string is a text of any number of sentences instead, which a blank line and
                the rules of `pipeline.text.boundaries` end. A text without any gives none. What is
                returned is a list, of one string, too.
            on_refusal: ``error`` for a sentence that cannot be parsed (empty, more than 510 tokens,
                or refused by a parser), or ``skip`` for one in its place whose ``refusal`` says
                why.
            on_progress: told the share of the sentences done.

        Raises:
            ValueError: no strings; or sentences cannot be parsed: names them and the remedy. All
                empty and too long ones are found before any is parsed.
            RuntimeError: memory, the device or a parser failed.
        """
        _check_on_refusal(on_refusal)
        cut = _cut(
            [texts] if isinstance(texts, str) else listed_strings(texts, _TOKENS), split=split
        )
        if on_refusal == "error":
            _fail_if_any(_refused_unparsed(cut, split=split))
        parsed: list[ParsedSentence] = []
        for pool in _pools(cut):
            parsed += self._parsed(pool, on_refusal, split=split)
            if on_progress is not None:
                on_progress(len(parsed) / len(cut))
        return parsed[0] if isinstance(texts, str) and not split else parsed

    def stream(
        self, texts: Iterable[str], *, split: bool = False, on_refusal: OnRefusal = "error"
    ) -> Iterator[ParsedSentence]:
        """Yields what `parse` returns, of any number of texts in bounded memory.

        Args:
            texts: read ahead by some thousands; one string is one text.
            split: see `parse`.
            on_refusal: see `parse`; an error is raised where the sentence stands.

        Raises:
            ValueError: see `parse`.
            RuntimeError: see `parse`.
        """
        _check_on_refusal(on_refusal)
        first = 0
        for piece in _pieces([texts] if isinstance(texts, str) else texts):
            for pool in _pools(_cut(piece, split=split, first=first)):
                yield from self._parsed(pool, on_refusal, split=split)
            first += len(piece)

    def parse_tokens(self, sentences: Sequence[Sequence[str]]) -> list[Trees | Refusal]:
        """Returns the trees of sentences that are cut into tokens already, or why there are none.

        Args:
            sentences: any string but an empty one is a token.

        Raises:
            RuntimeError: memory, the device or a parser failed.
        """
        from pipeline.parsing.parse_shard import row_of

        refused: dict[int, Refusal] = {}
        found: dict[str, dict[int, Any]] = {}
        for stage, parser in self.parsers.items():
            asked = [i for i in range(len(sentences)) if i not in refused]
            with self._turn:
                answers = parser.parse([sentences[i] for i in asked])
            found[stage] = dict(zip(asked, answers, strict=True))
            for i, answer in found[stage].items():
                if isinstance(row := row_of(answer, sentences[i]), Refusal):
                    refused[i] = row
        return [
            refused.get(i) or Trees(**{stage: answers[i] for stage, answers in found.items()})
            for i in range(len(sentences))
        ]

    def _parsed(
        self, pool: Sequence[AlignedSentence], on_refusal: OnRefusal, *, split: bool
    ) -> list[ParsedSentence]:
        trees = self.parse_tokens([sentence.words for sentence in pool])
        parsed = [_sentence(*pair, split=split) for pair in zip(pool, trees, strict=True)]
        if on_refusal == "error":
            _fail_if_any([sentence for sentence in parsed if sentence.refusal is not None])
        return parsed


@overload
def parse(  # type: ignore[overload-overlap]
    texts: str, *, split: Literal[False] = False, **asked: Unpack[_AskedOfParsers]
) -> ParsedSentence: ...


@overload
def parse(
    texts: Sequence[str], *, split: bool = False, **asked: Unpack[_AskedOfParsers]
) -> list[ParsedSentence]: ...


def parse(
    texts: Sequence[str],
    *,
    split: bool = False,
    dependencies: bool = True,
    constituents: bool = True,
    dependency_parser: str | Path | None = None,
    constituency_parser: str | Path | None = None,
    device: str = "cpu",
    on_refusal: OnRefusal = "error",
    on_progress: Callable[[float], None] | None = None,
) -> ParsedSentence | list[ParsedSentence]:
    """Returns sentences with their trees, of one string one sentence::

        sentence = treeviews.parse("The cat sees the dog.")
        sentence.tokens    # ['The', 'cat', 'sees', 'the', 'dog', '.']
        sentence.offsets   # [(0, 3), (4, 7), (8, 12), …]
        sentence.heads     # [2, 3, 0, 5, 3, 3]
        sentence.spans     # [Span(start=0, end=6, label='S'), …]
        print(sentence.to_conllu())

    The first call loads the parsers, which takes seconds; further calls find them loaded.

    Args:
        texts: see `Parser.parse`, as for ``split``, ``on_refusal`` and ``on_progress``.
        dependencies: see `Parser`, as for what follows.

    Raises:
        FileNotFoundError: no such parser; names those that ship.
        ValueError: no strings, a setting that makes no sense, or sentences that cannot be
            parsed: names them and the remedy.
        RuntimeError: memory, the device or a parser failed.
    """
    texts = texts if isinstance(texts, str) else listed_strings(texts, _TOKENS)
    folders = folders_of(dependencies, constituents, dependency_parser, constituency_parser)
    checksums = tuple(checksum_of_parser_folder(folder) for folder in folders.values())
    parser = _kept_parser(tuple(folders.items()), checksums, device_called(device))
    return parser.parse(texts, split=split, on_refusal=on_refusal, on_progress=on_progress)


@lru_cache(maxsize=_KEPT_PARSERS)
def _kept_parser(
    folders: tuple[tuple[str, Path], ...], checksums: tuple[str, ...], device: str
) -> Parser:
    """Returns a parser of these folders, the same one while they hold the same."""
    given = dict(folders)
    return Parser(
        dependencies="dependencies" in given,
        constituents="constituents" in given,
        dependency_parser=given.get("dependencies"),
        constituency_parser=given.get("constituents"),
        device=device,
    )


def _check_on_refusal(value: str) -> None:
    if value not in get_args(OnRefusal):
        raise ValueError(f"on_refusal must be error or skip, got {shortened(value)}")


def _pieces(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yields texts in runs that are read ahead together."""
    piece: list[str] = []
    characters = 0
    for index, text in enumerate(texts):
        piece.append(checked_string(text, index, _TOKENS))
        characters += len(text)
        if len(piece) == SENTENCES_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield piece
            piece, characters = [], 0
    if piece:
        yield piece


def _pools(sentences: Sequence[AlignedSentence]) -> Iterator[Sequence[AlignedSentence]]:
    """Yields sentences in pools that are parsed together, one sentence at least."""
    start = tokens = 0
    for stop, sentence in enumerate(sentences):
        tokens += len(sentence.words)
        is_full = stop - start == SENTENCES_AT_ONCE or tokens > TOKENS_AT_ONCE
        if is_full and stop > start:
            yield sentences[start:stop]
            start, tokens = stop, len(sentence.words)
    if start < len(sentences):
        yield sentences[start:]


@cache
def _tokenizer() -> EnglishTokenizer:
    from pipeline.text.tokenization import EnglishTokenizer

    return EnglishTokenizer()


def _cut(texts: Sequence[str], *, split: bool, first: int = 0) -> list[AlignedSentence]:
    from pipeline.text.aligned import split_texts, whole_texts

    return (split_texts if split else whole_texts)(texts, _tokenizer(), first=first)


def _refused_unparsed(cut: Sequence[AlignedSentence], *, split: bool) -> list[ParsedSentence]:
    """Returns those of the sentences that are refused for being empty or too long."""
    rejections = ((one, reject_input(one.words, MAX_TOKENS)) for one in cut)
    return [_sentence(one, why, split=split) for one, why in rejections if why is not None]


def _sentence(cut: AlignedSentence, found: Trees | Refusal, *, split: bool) -> ParsedSentence:
    return ParsedSentence(
        text=cut.text,
        tokens=cut.tokens,
        offsets=cut.offsets,
        trees=found if isinstance(found, Trees) else Trees(),
        refusal=found if isinstance(found, Refusal) else None,
        source=cut.source,
        start=cut.start,
        sent_id=f"{cut.source + 1}-{cut.number + 1}" if split else str(cut.source + 1),
    )


def _fail_if_any(refused: Sequence[ParsedSentence]) -> None:
    if not refused:
        return
    told_of = named([_told(sentence) for sentence in refused])
    raise ValueError(
        f"{told_of}; leave out what cannot be parsed, or have it skipped (on_refusal='skip', "
        "--on-refusal skip): a sentence without trees then stands in its place"
    )


def _told(sentence: ParsedSentence) -> str:
    assert sentence.refusal is not None
    why = RefusedSentence(sentence.source, sentence.refusal.reason, sentence.refusal.detail)
    return f"{why}" if sentence.start == 0 else f"{why}, at character {sentence.start}"
