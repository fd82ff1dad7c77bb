"""Raw text to trees: read as a corpus is, every token with its place in the text.

The parsers are those of the shard job, and what one of them refuses is refused here, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, get_args, overload

from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, parser_folder, shipped_parsers
from treeviews.pipeline.base.foreign_text import checked_string, listed_strings
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.refusal import Refusal, RefusedSentence, named, shortened
from treeviews.pipeline.parsers.sentence_parser import MAX_TOKENS, LazyParser, reject_input
from treeviews.pipeline.parsing.parsed_sentence import ParsedSentence, Trees

if TYPE_CHECKING:
    from treeviews.pipeline.text.aligned import AlignedSentence
    from treeviews.pipeline.text.tokenization import EnglishTokenizer

logger = logging.getLogger(__name__)

ItemT = TypeVar("ItemT")
OnRefusal = Literal["error", "skip"]
"""A sentence that cannot be parsed ends it all, or stands in its place without trees."""

SENTENCES_AT_ONCE = 2_048
"""Given to a parser together, which makes batches of like length of them."""
CHARACTERS_AT_ONCE = 1 << 20
"""Of a stream's texts, read ahead."""
TOKENS_AT_ONCE = 100_000
_TOKENS = "; Parser.parse_tokens takes tokens"
_FAILED = "the parser %s failed on all sentences, first by %s (%s): check it, libraries and device"
MOST_LOADED = 4
"""Parsers that `parse` keeps loaded; the first ones take tens of megabytes."""


class _Asked(TypedDict, total=False):
    on_refusal: OnRefusal
    on_progress: Callable[[float], None] | None


class ParserSettings(TypedDict, total=False):
    """What a `Parser` is made of; see there."""

    dependencies: bool
    constituents: bool
    dependency_parser: str | Path | None
    constituency_parser: str | Path | None
    device: str


class _AskedOfParsers(_Asked, ParserSettings, total=False):
    pass


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
        choices = {
            "dependencies": (dependencies, dependency_parser),
            "constituents": (constituents, constituency_parser),
        }
        for stage, (is_wanted, parser) in choices.items():
            if parser is not None and not is_wanted:
                raise ValueError(
                    f"{parser} is given, but no {stage} are asked for; leave it out or ask for them"
                )
        if device not in {"auto", "cpu"}:  # torch need not be asked
            from treeviews.pipeline.parsers.devices import resolve_device

            resolve_device(device)
        self._turn = Lock()
        self._failed: set[str] = set()
        self.parsers: dict[str, LazyParser] = {
            stage: LazyParser(stage, _folder_of(stage, parser), device=device)
            for stage, (is_wanted, parser) in choices.items()
            if is_wanted
        }
        """Stage (``dependencies``, ``constituents``) -> its parser."""
        if not self.parsers:
            raise ValueError("nothing to parse: ask for dependencies, for constituents or for both")

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
            unparsed = ((one, reject_input(one.words, MAX_TOKENS)) for one in cut)
            _fail_if_any([_sentence(one, why, split=split) for one, why in unparsed if why])
        parsed: list[ParsedSentence] = []
        for part in self._parsed(cut, on_refusal, split=split):
            parsed += part
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
        given = [texts] if isinstance(texts, str) else texts
        checked = (checked_string(text, index, _TOKENS) for index, text in enumerate(given))
        first = 0
        for piece in _runs(checked, len, CHARACTERS_AT_ONCE):
            cut = _cut(piece, split=split, first=first)
            yield from chain.from_iterable(self._parsed(cut, on_refusal, split=split))
            first += len(piece)

    def parse_tokens(self, sentences: Sequence[Sequence[str]]) -> list[Trees | Refusal]:
        """Returns the trees of sentences that are cut into tokens already, or why there are none.

        Warns once of a parser that failed on all that it could be given.

        Args:
            sentences: any string but an empty one is a token.

        Raises:
            RuntimeError: memory, the device or a parser failed.
        """
        from treeviews.pipeline.parsing.parse_shard import PARSER_FAULTS, row_of

        trees: list[Any] = [Trees()] * len(sentences)
        for stage, parser in self.parsers.items():
            taken = [i for i, answer in enumerate(trees) if isinstance(answer, Trees)]
            with self._turn:
                answers = parser.parse([sentences[i] for i in taken])
            for i, answer in zip(taken, answers, strict=True):
                row = row_of(answer, sentences[i])
                is_refused = isinstance(row, Refusal)
                trees[i] = row if is_refused else replace(trees[i], **{stage: answer})
            refused = [trees[i] for i in taken if isinstance(trees[i], Refusal)]
            faults = [refusal for refusal in refused if refusal.reason in PARSER_FAULTS]
            if faults and len(refused) == len(taken) and stage not in self._failed:
                self._failed.add(stage)
                logger.warning(_FAILED, parser.name, faults[0].reason, faults[0].detail)
        return trees

    def _parsed(
        self, cut: Sequence[AlignedSentence], on_refusal: OnRefusal, *, split: bool
    ) -> Iterator[list[ParsedSentence]]:
        for pool in _runs(cut, lambda sentence: len(sentence.words), TOKENS_AT_ONCE):
            trees = self.parse_tokens([sentence.words for sentence in pool])
            parsed = [_sentence(*pair, split=split) for pair in zip(pool, trees, strict=True)]
            if on_refusal == "error":
                _fail_if_any(parsed)
            yield parsed


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
    on_refusal: OnRefusal = "error",
    on_progress: Callable[[float], None] | None = None,
    **parsers: Unpack[ParserSettings],
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
        parsers: ``dependencies``, ``constituents``, ``dependency_parser``, ``constituency_parser``
            and ``device``; see `Parser`.

    Raises:
        FileNotFoundError: no such parser; names those that ship.
        ValueError: no strings, a setting that makes no sense, or sentences that cannot be
            parsed: names them and the remedy.
        RuntimeError: memory, the device or a parser failed.
    """
    texts = texts if isinstance(texts, str) else listed_strings(texts, _TOKENS)
    found = Parser(**parsers).parsers.values()
    parser = _loaded(tuple((one.path.resolve(), one.checksum) for one in found), **parsers)
    return parser.parse(texts, split=split, on_refusal=on_refusal, on_progress=on_progress)


@lru_cache(maxsize=MOST_LOADED)
def _loaded(made_of: tuple[tuple[Path, str], ...], **settings: Unpack[ParserSettings]) -> Parser:
    del made_of  # part of the key only: the parser of a folder may be trained again
    return Parser(**settings)


def _folder_of(stage: str, given: str | Path | None) -> Path:
    folder = BUNDLED_PARSERS[stage] if given is None else parser_folder(given)
    if not folder.is_dir():
        names = shipped_parsers(stage)
        raise FileNotFoundError(
            f"{shortened(str(given))}: no parser folder and no parser that ships "
            f"({', '.join(names)}){did_you_mean(str(given), known=names)}"
        )
    return folder


def _check_on_refusal(value: str) -> None:
    if value not in get_args(OnRefusal):
        raise ValueError(f"on_refusal must be error or skip, got {shortened(value)}")


def _runs(items: Iterable[ItemT], size: Callable[[ItemT], int], most: int) -> Iterator[list[ItemT]]:
    """Yields items in runs that end once they have this size, or are `SENTENCES_AT_ONCE`."""
    run: list[ItemT] = []
    total = 0
    for item in items:
        run.append(item)
        total += size(item)
        if len(run) == SENTENCES_AT_ONCE or total >= most:
            yield run
            run, total = [], 0
    if run:
        yield run


@cache
def _tokenizer() -> EnglishTokenizer:
    from treeviews.pipeline.text.tokenization import EnglishTokenizer

    return EnglishTokenizer()


def _cut(texts: Sequence[str], *, split: bool, first: int = 0) -> list[AlignedSentence]:
    from treeviews.pipeline.text.aligned import split_texts, whole_texts

    return (split_texts if split else whole_texts)(texts, _tokenizer(), first=first)


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
    reasons = [
        f"{RefusedSentence(s.source, s.refusal.reason, s.refusal.detail)}"
        + (f", at character {s.start}" if s.start else "")
        for s in refused
        if s.refusal is not None
    ]
    if reasons:
        raise ValueError(
            f"{named(reasons)}; leave out what cannot be parsed, or have it skipped "
            "(on_refusal='skip', --on-refusal skip): a sentence without trees then stands in its "
            "place"
        )
