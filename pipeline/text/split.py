"""Cuts a source's documents into tokenized sentences and writes them as shards.

A shard ends at a paragraph's end once it has its sentences, kept and refused, and its manifest says
how far into the source it reaches. A killed run so goes on at the first shard that is not complete:
what the complete ones hold is read past without being tokenized, and the result is byte-identical.
Their manifests have a sha256 of all that was taken so far, so that a run goes on behind what it has
read, and not behind another text that stood in the files at the time.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.base.atomic_files import sweep_unfinished
from pipeline.base.digest import digest_of
from pipeline.base.job import Progress
from pipeline.base.refusal import Refusal, excerpt_of
from pipeline.shards.manifests import (
    MANIFEST_NAME,
    DatasetManifest,
    ShardManifest,
    complete_shards,
    manifest_path,
    quarantine_path,
    read_dataset_manifest,
    shard_numbers,
    shard_path,
    stands_whole,
    write_dataset_manifest,
)
from pipeline.shards.schema import SENTENCES
from pipeline.shards.shards import FIRST_ROWS, MAX_ROWS, rows_in_shard, write_shard
from pipeline.text.boundaries import BOUNDARY_VERSION, sentence_ranges
from pipeline.text.cleaning import CLEANING_VERSION, clean_text
from pipeline.sources.paragraphs import ChangedTextError, Paragraph, Source
from pipeline.text.tokenization import (
    TOKENIZATION_VERSION,
    EnglishTokenizer,
    SentenceConfig,
    refuse_sentence,
    spacy_version,
)


@dataclass(frozen=True, slots=True)
class Position:
    """How far into its source a run has come; where a killed one goes on."""

    documents: int = 0
    """Documents begun."""
    items: int = 0
    """Paragraphs and refusals consumed, over all documents."""
    next_sentence_index: int = 0
    """Index of the next sentence of the last document begun."""
    rows: int = 0
    """Sentences kept so far, over all shards."""


@dataclass(slots=True)
class SentenceShard:
    """The rows, refusals and repairs of one shard in the making."""

    number: int
    document_ids: list[str] = field(default_factory=list)
    sentence_indices: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    repaired_characters: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def is_full(self) -> bool:
        """Whether the shard has the sentences its number calls for, kept and refused.

        The refused count too, so that a text of which nothing is kept neither fills the memory
        nor is read from its beginning after every interruption.
        """
        return len(self.lengths) + len(self.quarantine) >= rows_in_shard(self.number)

    def add(self, document_id: str, sentence_index: int, tokens: list[str]) -> None:
        """Adds one sentence."""
        self.document_ids.append(document_id)
        self.sentence_indices.append(sentence_index)
        self.tokens.extend(tokens)
        self.lengths.append(len(tokens))

    def to_table(self) -> pa.Table:
        """Returns the rows, in the schema of the stage ``sentences``."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)]).astype(np.int32)
        tokens = pa.ListArray.from_arrays(
            pa.array(offsets), pa.array(self.tokens, pa.string()), SENTENCES.field("tokens").type
        )
        columns = [
            pa.array(self.document_ids, pa.string()).dictionary_encode(),
            pa.array(self.sentence_indices, pa.int32()),
            tokens,
        ]
        return pa.Table.from_arrays(columns, schema=SENTENCES)

    def write(
        self, folder: Path, position: Position, fingerprint: str, taken_sha256: str
    ) -> ShardManifest:
        """Writes the shard and its manifest.

        Args:
            position: reached in the source once this shard's last paragraph was consumed.
            fingerprint: digest of source and configuration, checked when a run is resumed.
            taken_sha256: of all items up to there, checked then, too.
        """
        drops = Counter(record["reason"] for record in self.quarantine)
        return write_shard(
            folder,
            "sentences",
            self.number,
            self.to_table(),
            drops=drops,
            quarantine=self.quarantine,
            extra={
                "position": asdict(position),
                "fingerprint": fingerprint,
                "taken_sha256": taken_sha256,
                "num_tokens": len(self.tokens),
                "repaired_characters": self.repaired_characters,
            },
            seconds=time.monotonic() - self.started,
        )


ITEMS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class _Item:
    """One paragraph or refusal of the source and where it stands."""

    document_number: int
    """1 for the first document."""
    document_id: str
    content: Paragraph | Refusal


def describe_splitter(config: SentenceConfig) -> dict[str, Any]:
    """Returns everything but the text that determines the sentences, for a digest."""
    return {
        "config": config.to_dict(),
        "spacy": spacy_version(),
        "tokenization_version": TOKENIZATION_VERSION,
        "cleaning_version": CLEANING_VERSION,
        "boundary_version": BOUNDARY_VERSION,
        "first_rows": FIRST_ROWS,
        "max_rows": MAX_ROWS,
    }


def split_sentences(
    source: Source, config: SentenceConfig, folder: Path, *, on_progress: Progress | None = None
) -> DatasetManifest:
    """Writes all sentence shards of a source, going on where a killed run stopped.

    Args:
        folder: where the shards go; empty, or holding shards of the same source and config.
        on_progress: called now and then.

    Returns:
        The manifest, which marks the stage complete; an existing one is returned as it is, unless
        a shard that it lists is gone or has another size: from there on all is made again.

    Raises:
        ValueError: the folder holds the sentences of something else, or the source has none.
        ChangedTextError: the text changed while it was read; no shard is kept.
    """
    described = {"corpus": source.describe(), "splitter": describe_splitter(config)}
    fingerprint = digest_of(described)
    folder.mkdir(parents=True, exist_ok=True)
    shards = complete_shards(folder)
    for shard in shards:
        if shard.extra.get("fingerprint") != fingerprint:
            raise ValueError(
                f"{folder}: shard {shard.number} was made from another text or with other "
                "settings; delete the folder or choose another one"
            )
    if stands_whole(folder):
        return read_dataset_manifest(folder, "sentences")
    (folder / MANIFEST_NAME).unlink(missing_ok=True)  # a shard that it lists is gone
    sweep_unfinished(folder)
    splitter = _Splitter(
        source=source,
        config=config,
        folder=folder,
        fingerprint=fingerprint,
        position=Position(**shards[-1].extra["position"]) if shards else Position(),
        taken_before=shards[-1].extra.get("taken_sha256", "") if shards else "",
        shard=SentenceShard(len(shards)),
        on_progress=on_progress,
    )
    try:
        splitter.run()
    except ChangedTextError:
        _remove_shards(folder)
        raise
    met = {"left_out": dict(left_out)} if (left_out := source.left_out()) else {}
    return write_dataset_manifest(folder, "sentences", config=described | met)


def _remove_shards(folder: Path) -> None:
    """Removes all shards, the manifest of each first, so that none is taken for complete."""
    for number in shard_numbers(folder):
        for path in (manifest_path, shard_path, quarantine_path):
            path(folder, number).unlink(missing_ok=True)


@dataclass(slots=True, kw_only=True)
class _Splitter:
    """One run over a source: what was reached, and the shard in the making."""

    source: Source
    config: SentenceConfig
    folder: Path
    fingerprint: str
    position: Position
    taken_before: str
    """The sha256 of what the complete shards were made from; empty if an earlier release did."""
    shard: SentenceShard
    on_progress: Progress | None
    taken: hashlib._Hash = field(default_factory=hashlib.sha256)

    def run(self) -> None:
        """Consumes the rest of the source and writes its shards."""
        tokenizer = EnglishTokenizer()
        all_items = (
            _Item(number, document.document_id, content)
            for number, document in enumerate(self.source.documents(), start=1)
            for content in document.paragraphs
        )
        items = self._behind_complete_shards(all_items)
        while not self._limit_reached() and (batch := list(islice(items, ITEMS_AT_ONCE))):
            texts = [c.text if isinstance(c := item.content, Paragraph) else "" for item in batch]
            cleaned = [clean_text(text) for text in texts]
            tokenized = tokenizer.tokenize([text for text, _ in cleaned])
            for item, (_, repaired), text in zip(batch, cleaned, tokenized, strict=True):
                if not self._limit_reached():
                    self._take(item, text.words, text.spaces, repaired)
            self._report()
        self.source.check_unchanged()
        if self.position.rows == 0:
            raise ValueError(self._nothing_found())
        if self.shard.lengths or self.shard.quarantine:
            self._write_shard()

    def _behind_complete_shards(self, items: Iterator[_Item]) -> Iterator[_Item]:
        """Returns the items that follow those of the complete shards.

        Raises:
            ChangedTextError: the shards were not made from these items.
        """
        for item in islice(items, self.position.items):
            self._note(item)
        if self.taken_before not in ("", self.taken.hexdigest()):
            raise ChangedTextError(
                f"{self.folder}: its shards were made while the text was another; they are "
                "removed: start the run again"
            )
        return items

    def _note(self, item: _Item) -> None:
        """Counts an item among those taken."""
        content = item.content
        what = content.text if isinstance(content, Paragraph) else f"\0{content.reason}"
        place = f"{item.document_id}\0{content.position}\0"
        self.taken.update(f"{place}{what}\0".encode("utf-8", "surrogatepass"))

    def _limit_reached(self) -> bool:
        return 0 < self.config.limit <= self.position.rows

    def _take(self, item: _Item, words: list[str], spaces: list[bool], repaired: int) -> None:
        """Adds one item's sentences and refusals to the shard it belongs to."""
        before = self.position
        same_document = item.document_number == before.documents
        index = before.next_sentence_index if same_document else 0
        kept: list[tuple[int, list[str]]] = []
        refused: list[dict[str, Any]] = []
        room = self.config.limit - before.rows if self.config.limit else None
        place = {"document_id": item.document_id, "position": item.content.position}
        if isinstance(item.content, Refusal) or not words:
            nothing = Refusal("empty", "a paragraph without a printable character")
            why = item.content if isinstance(item.content, Refusal) else nothing
            refused.append(why.record(sentence_index=index, **place))
            index += 1  # a gap, so that no context reaches across what is missing
        for start, end in sentence_ranges(words, spaces):
            if room is not None and len(kept) == room:
                break
            tokens = words[start:end]
            refusal = refuse_sentence(tokens, self.config)
            if refusal is None:
                kept.append((index, tokens))
            else:
                refusal = replace(refusal, excerpt=excerpt_of(tokens))
                refused.append(refusal.record(sentence_index=index, **place))
            index += 1
        if self.shard.is_full:
            self._write_shard()
        self._note(item)
        for sentence_index, tokens in kept:
            self.shard.add(item.document_id, sentence_index, tokens)
        self.shard.quarantine.extend(refused)
        self.shard.repaired_characters += repaired
        self.position = Position(
            documents=item.document_number,
            items=before.items + 1,
            next_sentence_index=index,
            rows=before.rows + len(kept),
        )

    def _write_shard(self) -> None:
        taken = self.taken.hexdigest()
        self.shard.write(self.folder, self.position, self.fingerprint, taken)
        self.shard = SentenceShard(self.shard.number + 1)

    def _report(self) -> None:
        if self.on_progress is not None:
            fraction = self.source.fraction_read()
            if self.config.limit:
                fraction = max(fraction, self.position.rows / self.config.limit)
            rows, documents = self.position.rows, self.position.documents
            self.on_progress(fraction, f"{rows:,} sentences of {documents:,} documents")

    def _nothing_found(self) -> str:
        reasons = Counter(record["reason"] for record in self.shard.quarantine)
        for written in complete_shards(self.folder):
            reasons.update(written.drops)
        if not reasons:
            return "the source holds no text; check its path and format"
        first = self._first_refused()
        return (
            f"no sentence could be taken from the source; refused: {dict(reasons)}; first, at "
            f"{first['position']}: {first['reason']} ({first['detail']})"
        )

    def _first_refused(self) -> dict[str, Any]:
        if self.shard.number == 0:
            return self.shard.quarantine[0]
        with quarantine_path(self.folder, 0).open(encoding="utf-8") as lines:
            record: dict[str, Any] = json.loads(next(lines))
        return record
