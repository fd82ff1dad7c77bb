"""What a sentence must have to be found: words, relations, labels, depth, length.

All conditions hold at once. They are held against a table of many rows by flat arrays; only a
regular expression over the text is tried row by row, and only on rows that have all else.
Legend: R rows, N tokens over all the rows, K constituents over all the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.inspect.rows import Ints, ListColumn, Mask
from pipeline.trees.flat import CHAIN_MARK

CONSTITUENTS, DEPENDENCIES = "constituents", "dependencies"
PLACE_COLUMNS = ("document_id", "sentence_index", "tokens")
NEEDED_COLUMNS = {
    "sentences": PLACE_COLUMNS,
    DEPENDENCIES: ("heads", "deprels"),
    CONSTITUENTS: ("span_starts", "span_ends", "span_labels", "tags"),
}
"""Columns that are read where a condition is of the stage."""


@dataclass(frozen=True)
class Conditions:
    """What a sentence must have; what is empty or None asks nothing."""

    words: tuple[str, ...] = ()
    """Each a token, or several with spaces between that stand side by side."""
    pattern: str = ""
    """A regular expression found in the sentence's tokens joined by spaces."""
    form: str = ""
    """A regular expression that a whole token matches."""
    ignore_case: bool = False
    relation: str = ""
    """Of an arc; `nsubj` is also `nsubj:pass`."""
    dependent: str = ""
    """The token that hangs on that arc."""
    head: str = ""
    """The token that it hangs from."""
    labels: tuple[str, ...] = ()
    """Of constituents, those within a unary chain, too."""
    lengths: tuple[int, int | None] = (0, None)
    """Least and most tokens; None without an end."""
    depths: tuple[int, int | None] = (0, None)
    """Least and most levels of the tree; see `tree_depths`."""
    depth_of: str = CONSTITUENTS
    """Of which tree the depth is."""

    def __post_init__(self) -> None:
        for name, pattern in (("pattern", self.pattern), ("form", self.form)):
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(
                    f"--{name} {pattern!r} is no regular expression: {error}; write a backslash "
                    "before signs that stand for themselves"
                ) from None
        for name, (least, most) in (("length", self.lengths), ("depth", self.depths)):
            if most is not None and most < least:
                raise ValueError(f"--min-{name} {least} is more than --max-{name} {most}")
        if not all(phrase.split() for phrase in self.words):
            raise ValueError("--words is empty; give a word, or several that stand side by side")

    @property
    def asks_anything(self) -> bool:
        """Whether there is any condition."""
        given = (self.words, self.pattern, self.form, self.labels, self.asks_arc)
        return any(given) or self.lengths != (0, None) or self.asks_depth

    @property
    def asks_arc(self) -> bool:
        """Whether there is a condition on an arc."""
        return bool(self.relation or self.dependent or self.head)

    @property
    def asks_depth(self) -> bool:
        """Whether there is a condition on the depth of a tree."""
        return self.depths != (0, None)

    def stages(self) -> dict[str, str]:
        """Returns the stages that are read, each with the option that asks for it."""
        needed = {"sentences": "any search"}
        if self.asks_arc:
            needed[DEPENDENCIES] = "--relation, --dependent and --head"
        if self.labels:
            needed[CONSTITUENTS] = "--label"
        if self.asks_depth:
            needed.setdefault(self.depth_of, "--min-depth and --max-depth")
        return needed

    def columns(self) -> list[str]:
        """Returns the columns that are read."""
        return [name for stage in self.stages() for name in NEEDED_COLUMNS[stage]]

    def rows_of(self, table: pa.Table) -> Ints:
        """Returns the numbers of the rows that have all of this, in order.

        Args:
            table: has `columns`; [R].
        """
        found = np.ones(table.num_rows, dtype=np.bool_)
        tokens = ListColumn(table, "tokens")
        found &= _within(tokens.lengths, self.lengths)
        if self.words or self.form:
            found &= self._has_words(tokens)
        if self.asks_arc:
            found &= self._has_arc(table, tokens)
        if self.labels:
            found &= _has_labels(table, self.labels)
        if self.asks_depth:
            depths = tree_depths(table, self.depth_of)
            found &= (depths > 0) & _within(depths, self.depths)
        rows: Ints = np.flatnonzero(found)
        if self.pattern:
            sentences = table["tokens"].take(pa.array(rows, pa.int64())).to_pylist()
            texts = (" ".join(words) for words in sentences)
            rows = rows[np.fromiter((bool(self._pattern.search(t)) for t in texts), np.bool_)]
        return rows

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.IGNORECASE if self.ignore_case else 0)

    @cached_property
    def _form(self) -> re.Pattern[str]:
        return re.compile(self.form, re.IGNORECASE if self.ignore_case else 0)

    def _has_words(self, tokens: ListColumn) -> Mask:
        found = np.ones(len(tokens.lengths), dtype=np.bool_)
        for phrase in self.words:
            found &= tokens.rows_with(self._phrase(tokens, phrase.split()))
        if self.form:
            encoded = pc.dictionary_encode(tokens.values)
            matches = [bool(self._form.fullmatch(w)) for w in encoded.dictionary.to_pylist()]
            codes = encoded.indices.to_numpy()
            found &= tokens.rows_with(np.array([*matches, False])[codes])
        return found

    def _phrase(self, tokens: ListColumn, words: Sequence[str]) -> Mask:
        """Returns where the words of a phrase begin; [N]."""
        found = np.zeros(len(tokens.rows), dtype=np.bool_)
        places = max(len(found) - len(words) + 1, 0)
        begins: Mask = tokens.rows[:places] == tokens.rows[len(found) - places :]
        for shift, word in enumerate(words):
            begins &= self._is(tokens, word)[shift : shift + places]
        found[:places] = begins
        return found

    def _is(self, tokens: ListColumn, word: str) -> Mask:
        """Returns which tokens are this word; [N]."""
        values = tokens.values
        if self.ignore_case:
            values, word = pc.utf8_lower(values), pc.utf8_lower(pa.scalar(word)).as_py()
        equal: Mask = pc.equal(values, word).to_numpy(zero_copy_only=False)
        return equal

    def _has_arc(self, table: pa.Table, tokens: ListColumn) -> Mask:
        """Returns which rows have an arc of this relation between these words; [R]."""
        heads, deprels = ListColumn(table, "heads"), ListColumn(table, "deprels")
        fits = (heads.lengths == tokens.lengths) & (deprels.lengths == heads.lengths)
        found = np.zeros(len(fits), dtype=np.bool_)
        parsed = table.filter(pa.array(fits))
        heads, tokens = ListColumn(parsed, "heads"), ListColumn(parsed, "tokens")
        of_arc = _matching(ListColumn(parsed, "deprels"), self._is_relation)
        if self.dependent:
            of_arc &= self._is(tokens, self.dependent)
        if self.head:
            places = heads.starts[heads.rows] + heads.numbers - 1
            has_head = (heads.numbers > 0) & (heads.numbers <= heads.lengths[heads.rows])
            is_head = self._is(tokens, self.head)
            of_arc &= has_head & is_head[np.where(has_head, places, 0)]
        found[fits] = heads.rows_with(of_arc)
        return found

    def _is_relation(self, name: str) -> bool:
        return not self.relation or name == self.relation or name.startswith(f"{self.relation}:")

    def names(self) -> dict[str, tuple[str, ...]]:
        """Returns the relation and the labels that are asked for, by the column of such names."""
        relations = (self.relation,) if self.relation else ()
        return {"deprels": relations, "span_labels": self.labels}

    def evidence(self, row: dict[str, Any]) -> Iterator[str]:
        """Yields what of a found row's trees was asked for, in words.

        Args:
            row: its columns, printable.
        """
        tokens = row["tokens"]
        if self.asks_arc:
            names = ["ROOT", *tokens]
            for word, head, relation in zip(tokens, row["heads"], row["deprels"], strict=True):
                wanted = ((self.dependent, word), (self.head, names[head] if head else ""))
                if self._is_relation(relation) and all(self._same(a, b) for a, b in wanted):
                    yield f"{word}←{relation}–{names[head]}"
        if self.labels:
            spans = zip(row["span_starts"], row["span_ends"], row["span_labels"], strict=True)
            for start, end, chain in spans:
                if not set(chain.split(CHAIN_MARK)).isdisjoint(self.labels):
                    yield f"({chain} {' '.join(tokens[start:end])})"

    def _same(self, wanted: str, found: str) -> bool:
        if not wanted or wanted == found:
            return True
        return self.ignore_case and wanted.lower() == found.lower()


def _within(values: Ints, bounds: tuple[int, int | None]) -> Mask:
    least, most = bounds
    within: Mask = values >= least
    return within if most is None else within & (values <= most)


def _matching(column: ListColumn, is_wanted: Any) -> Mask:
    """Returns which values of a flat column of few texts are wanted."""
    names = column.values.dictionary.to_pylist()
    wanted = np.array([*map(is_wanted, names), False])
    found: Mask = wanted[column.values.indices.to_numpy()]
    return found


def _has_labels(table: pa.Table, labels: Sequence[str]) -> Mask:
    column = ListColumn(table, "span_labels")
    found = np.ones(len(column.lengths), dtype=np.bool_)
    for label in labels:
        found &= column.rows_with(_matching(column, lambda c, b=label: b in c.split(CHAIN_MARK)))
    return found


def tree_depths(table: pa.Table, of: str) -> Ints:
    """Returns how deep each row's tree is; 0 where there is none; [R].

    Args:
        table: has the stage's columns.
        of: ``constituents``: most labels above a word, those of a unary chain one by one, tags not
            counted. ``dependencies``: most words on the way from a word up to the root, both
            counted.
    """
    return _constituent_depths(table) if of == CONSTITUENTS else _dependency_depths(table)


def _constituent_depths(table: pa.Table) -> Ints:
    starts, ends = ListColumn(table, "span_starts"), ListColumn(table, "span_ends").numbers
    labels = ListColumn(table, "span_labels")
    names = labels.values.dictionary.to_pylist()
    in_chain = np.array([*(len(name.split(CHAIN_MARK)) for name in names), 0], dtype=np.int64)
    levels = in_chain[labels.values.indices.to_numpy()]
    # How many labels more a word has above it than the word before it; then summed up.
    widths = np.zeros(len(starts.lengths), dtype=np.int64)
    np.maximum.at(widths, starts.rows, ends)
    widths += 1
    bases = np.cumsum(widths) - widths
    steps = np.zeros(int(widths.sum()), dtype=np.int64)
    np.add.at(steps, bases[starts.rows] + starts.numbers, levels)
    np.subtract.at(steps, bases[starts.rows] + ends, levels)
    if not len(steps):
        return widths
    depths: Ints = np.maximum.reduceat(np.cumsum(steps), bases)
    return depths


def _dependency_depths(table: pa.Table) -> Ints:
    heads = ListColumn(table, "heads")
    numbers = heads.numbers
    depths = np.zeros(len(heads.lengths), dtype=np.int64)
    places, rows = np.arange(len(heads.rows)), heads.rows
    for depth in range(1, int(heads.lengths.max(initial=0)) + 1):  # a cycle ends here, too
        depths[rows] = depth
        above = numbers[places]
        rises = (above > 0) & (above <= heads.lengths[rows])
        places, rows = (heads.starts[rows] + above - 1)[rises], rows[rises]
        if not len(places):
            break
    return depths
