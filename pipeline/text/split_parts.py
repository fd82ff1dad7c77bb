"""Cuts parts of a source into tokenized sentences, and writes each part as one shard.

``python -m treeviews.pipeline.text.split_parts JOB.json``, whose file holds a `SplitJob`. A part is
cut without regard to the others, so the shards are the same in whatever order and by however many
processes they are made; those that stand are passed over, so that a run that was killed goes on
where it was. The text is checked before and after it is read: a shard is made of the text that the
plan is of, or not at all.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from treeviews.pipeline.base.job import Progress, Rated, run_from_command_line
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.base.refusal import Refusal, excerpt_of
from treeviews.pipeline.base.settings import Count, Natural, Settings
from treeviews.pipeline.shards.manifests import (
    CLEANED,
    ShardManifest,
    manifest_path,
    read_shard_manifest,
)
from treeviews.pipeline.shards.schema import schema_for
from treeviews.pipeline.shards.shards import FIRST_ROWS, MAX_ROWS, ShardWriter
from treeviews.pipeline.text.aligned import AlignedSentence, aligned_sentence, word_offsets
from treeviews.pipeline.text.boundaries import BOUNDARY_VERSION, sentence_ranges
from treeviews.pipeline.text.cleaning_steps import Changes, CleaningConfig, Content, clean_content
from treeviews.pipeline.text.documents import STEP_BYTES, Document, Paragraph, Source
from treeviews.pipeline.text.find_duplicates import duplicates_of
from treeviews.pipeline.text.plan import PLAN_VERSION, Plan
from treeviews.pipeline.text.tokenization import (
    CLEANING_VERSION,
    TOKENIZATION_VERSION,
    EnglishTokenizer,
    SentenceConfig,
    TokenizedText,
    clean_text,
    refuse_sentence,
    spacy_version,
)

DUPLICATES_FOLDER = "duplicates"
"""Beside the plan: what goes as it stands elsewhere in the corpus, too."""
REMEDY = "delete it and run the stage again"
"""For a plan that cannot be read."""
ITEMS_AT_ONCE = 256
ALL = 0
"""The limit of a shard that takes all of its part."""


class SplitJob(Settings):
    """Which parts to split, and where their shards go."""

    called: ClassVar[str] = "split job field"

    plan: Path
    """The file that `pipeline.text.split_corpus.CorpusSplit.begin` wrote."""
    output: Path
    number: Natural
    count: Count = 1


def execute(job: SplitJob, on_progress: Progress) -> None:
    """Makes the shards of the parts that a job names; those that stand are passed over.

    Raises:
        ChangedTextError: the text is not the one of the plan.
    """
    splitter = PartSplitter(job.plan, job.output)
    rows, started, total = 0, time.monotonic(), len(splitter.plan.parts)
    for done, number in enumerate(range(job.number, job.number + job.count), start=1):
        rows += splitter.split(number).rows
        status = f"{rows:,} sentences of part {number + 1:,} of {total:,}"
        rate = rows / max(time.monotonic() - started, 1e-9)
        on_progress(done / job.count, Rated(status, rate))


@dataclass(slots=True)
class SentenceShard:
    """The rows and refusals of one shard in the making, and how far its document is cut."""

    limit: int = ALL
    """Of kept sentences; what follows them is not taken."""
    rows: list[tuple[str, int, list[str]]] = field(default_factory=list)
    """A document's name, index and tokens of each sentence."""
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    repaired_characters: int = 0
    cleaned: Counter[str] = field(default_factory=Counter)
    """Paragraphs that were changed, by what was done."""
    document: Document | None = None
    """In hand."""
    next_index: int = 0
    """Of the sentence that comes next in the document."""

    @property
    def is_full(self) -> bool:
        """Whether no more sentences are taken."""
        return 0 < self.limit <= len(self.rows)


def describe_splitter(config: SentenceConfig) -> dict[str, Any]:
    """Returns everything but the text that determines the sentences, for a digest."""
    return {
        "config": config.to_dict(),
        "spacy": spacy_version(),
        "tokenization_version": TOKENIZATION_VERSION,
        "cleaning_version": CLEANING_VERSION,
        "boundary_version": BOUNDARY_VERSION,
        "plan_version": PLAN_VERSION,
        "step_bytes": STEP_BYTES,
        "first_rows": FIRST_ROWS,
        "max_rows": MAX_ROWS,
    }


class PartSplitter:
    """Makes sentence shards of a plan's parts, one a part.

    Args:
        plan: the file that `pipeline.text.split_corpus.CorpusSplit.begin` wrote.
        output: folder of the shards.
        source: the plan's, where it is open.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged.
    """

    def __init__(self, plan: Path, output: Path, source: Source | None = None) -> None:
        needed = ("fingerprint", "config", "cleaning", "plan")
        values = read_object(plan, needed, remedy=REMEDY)
        self.plan = Plan.from_dict(values["plan"], source)
        self.config = SentenceConfig.from_dict(values["config"])
        self.fingerprint = values["fingerprint"]
        """Digest of the text and of what cuts it, which each shard's manifest keeps."""
        self._folder = output
        self._cleaning = CleaningConfig.from_dict(values["cleaning"])
        self._duplicates = plan.parent / DUPLICATES_FOLDER
        self._tokenizer = EnglishTokenizer()

    def split(self, number: int, limit: int = ALL) -> ShardManifest:
        """Returns the manifest of a part's shard, which is made unless it stands.

        One that was cut at the corpus's limit stands, too, for who asks for all of it.

        Args:
            limit: of the shard's sentences, kept ones; what follows them is not taken.

        Raises:
            ChangedTextError: the text is not the one of the plan; nothing is written.
        """
        standing = read_shard_manifest(self._folder, number)
        if standing is not None and limit in (ALL, standing.extra.get("limit", ALL)):
            return standing
        manifest_path(self._folder, number).unlink(missing_ok=True)
        started, shard = time.monotonic(), SentenceShard(limit)
        deque(self._fill(shard, number), maxlen=0)
        names, indices, tokens = zip(*shard.rows, strict=True) if shard.rows else ((), (), ())
        schema = schema_for("sentences")
        columns = [
            pa.array(names, pa.string()).dictionary_encode(),
            pa.array(indices, pa.int32()),
            pa.array(tokens, schema.field("tokens").type),
        ]
        extra = {
            "fingerprint": self.fingerprint,
            **({"limit": limit} if limit else {}),
            **({CLEANED: dict(shard.cleaned)} if shard.cleaned else {}),
            "num_tokens": sum(map(len, tokens)),
            "repaired_characters": shard.repaired_characters,
        }
        with ShardWriter(self._folder, "sentences", number) as writer:
            writer.write(pa.Table.from_arrays(columns, schema=schema))
            return writer.finish(
                drops=Counter(record["reason"] for record in shard.quarantine),
                quarantine=shard.quarantine,
                extra=extra,
                seconds=time.monotonic() - started,
            )

    def read_again(self, number: int) -> list[AlignedSentence | None]:
        """Returns the sentences of a shard, row by row, with where they stand in their documents.

        None stands for one of which that is not known: cleaning changed its paragraph, or its line
        stands behind one that is too long. Nothing is written.

        Raises:
            ChangedTextError: the text is not the one of the plan.
        """
        for stream in self.plan.streams:
            stream.is_sought = False  # places are counted from the beginning
        manifest = read_shard_manifest(self._folder, number)
        limit = manifest.extra.get("limit", ALL) if manifest else ALL
        filled = self._fill(SentenceShard(limit), number)
        return [place for taken in filled for place in _placed(*taken)]

    def _contents(self, number: int) -> Iterator[tuple[Document, Content, Changes]]:
        needs_corpus = self._cleaning.needs_corpus
        drops = duplicates_of(self._duplicates, number) if needs_corpus else {}
        is_cleaned, numbers = self._cleaning.is_on, count()
        for document in self.plan.documents(number):
            for content in document.paragraphs:
                cleaned, changes = content, Changes()
                if is_cleaned:
                    duplicate = drops.get(next(numbers))
                    cleaned, changes = clean_content(content, self._cleaning, duplicate)
                yield document, cleaned, changes

    def _fill(
        self, shard: SentenceShard, number: int
    ) -> Iterator[tuple[Content, str, TokenizedText, list[tuple[int, int]]]]:
        """Takes the sentences and refusals of a part until its shard is full.

        What follows is read, too, so that a change of the text is noticed.

        Yields:
            Each paragraph, cleaned, with its tokens and the token ranges of its sentences.
        """
        contents = self._contents(number)
        while batch := list(islice(contents, ITEMS_AT_ONCE)):
            if shard.is_full:
                continue
            texts = (item.text if isinstance(item, Paragraph) else "" for _, item, _ in batch)
            cleaned = [clean_text(text) for text in texts]
            tokenized = self._tokenizer.tokenize([text for text, _ in cleaned])
            for (document, content, changes), (clean, repaired), tokens in zip(
                batch, cleaned, tokenized, strict=True
            ):
                if shard.is_full:
                    break
                shard.cleaned.update(changes)
                shard.repaired_characters += repaired
                yield content, clean, tokens, self._take(shard, document, content, tokens)

    def _take(
        self,
        shard: SentenceShard,
        document: Document,
        content: Content,
        of_text: TokenizedText,
    ) -> list[tuple[int, int]]:
        """Adds the sentences of a paragraph, and refusals; returns the sentences' token ranges."""
        if shard.document is not document:
            shard.document, shard.next_index = document, document.first_index
        place = {"document_id": document.document_id, "position": content.position}
        if isinstance(content, Refusal) or not of_text.words:
            nothing = Refusal("empty", "a paragraph without a printable character")
            why = content if isinstance(content, Refusal) else nothing
            shard.quarantine.append(why.record(sentence_index=shard.next_index, **place))
            shard.next_index += 1  # a gap, so that no context reaches across what is missing
        kept = []
        for start, end in sentence_ranges(of_text.words, of_text.spaces):
            if shard.is_full:
                break
            tokens, index = of_text.words[start:end], shard.next_index
            refusal = refuse_sentence(tokens, self.config)
            if refusal is None:
                shard.rows.append((document.document_id, index, tokens))
                kept.append((start, end))
            else:
                refusal = replace(refusal, excerpt=excerpt_of(tokens))
                shard.quarantine.append(refusal.record(sentence_index=index, **place))
            shard.next_index += 1
        return kept


def _placed(
    content: Content, clean: str, tokens: TokenizedText, kept: list[tuple[int, int]]
) -> list[AlignedSentence | None]:
    """Returns sentences of a paragraph, given their token ranges, with their places."""
    if isinstance(content, Refusal) or content.start is None:
        return [None] * len(kept)
    offsets = word_offsets(content.text, clean, tokens)
    return [
        aligned_sentence(content.text, tokens.words[a:b], offsets[a:b], content.start)
        for a, b in kept
    ]


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute, kind=SplitJob))
