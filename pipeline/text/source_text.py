"""A corpus's sentences with their text and their places, from its source, which is read again.

Shards keep tokens, neither white space nor places: a source that is still there has both. Its text
is cut once more, by the same rules, and each sentence is held against its row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path

from pipeline.shards.manifests import manifest_path, read_dataset_manifest, read_shard_manifest
from pipeline.text.aligned import AlignedSentence
from pipeline.text.documents import START, ChangedTextError
from pipeline.text.split_corpus import PLAN_NAME
from pipeline.text.split_parts import ALL, describe_splitter, planned_splitter


class SourceText:
    """The text that a folder of sentences was made from.

    Shards are read fastest in order. One in the middle of a long document costs reading what is
    before it in its file.
    """

    def __init__(self, folder: Path) -> None:
        """Opens the source; none of its text is read yet.

        Args:
            folder: of the sentences, with the plan by which they were split.

        Raises:
            FileNotFoundError: the folder has no plan.
            ValueError: the sentences were cut by other rules than those of this release.
        """
        self._folder = folder
        plan = folder / PLAN_NAME
        if not plan.is_file():
            raise FileNotFoundError(
                f"{plan}: not there, so it is not known which text these sentences are of; give "
                "the folder of a corpus that a run has split"
            )
        self._splitter = planned_splitter(plan, folder)
        if not self._splitter.plan.source.has_places:
            raise ValueError(
                f"{folder}: its text is taken out of other text, in which sentences have no "
                "place; a corpus of --source files has places"
            )
        self._next = 0
        made_by = read_dataset_manifest(folder, "sentences").config.get("splitter")
        if made_by != describe_splitter(self._splitter.config):
            raise ValueError(
                f"{folder}: these sentences were cut by the rules of another release, which would "
                "cut the text elsewhere now; make the corpus again"
            )

    def sentences(self, number: int) -> Iterator[AlignedSentence | None]:
        """Yields the sentences of a shard, row by row, with where they stand in their documents.

        None stands for a sentence whose paragraph cleaning changed: its place is not known.

        Raises:
            ValueError: the source is gone, is another text than then, or knows no places.
        """
        shard = read_shard_manifest(self._folder, number)
        if shard is None:
            raise ValueError(
                f"{manifest_path(self._folder, number)}: not there; `treeviews inspect check "
                f"{self._folder}` says what is damaged"
            )
        if shard.extra.get("fingerprint") != self._splitter.fingerprint:
            raise ValueError(
                f"{self._folder}: shard {number} is not of the text that {PLAN_NAME} names; make "
                "the corpus again"
            )
        try:
            self._read_up_to(number)
            yield from self._splitter.read_again(number, shard.extra.get("limit", ALL))
        except ChangedTextError as error:
            what, _, _ = str(error).partition(": ")
            raise ValueError(
                f"{what}: gone, or no longer the text that {self._folder} was made from, so places "
                "in it are not known; put it back, or export without it"
            ) from error
        except FileNotFoundError as error:
            raise ValueError(
                f"{error.filename}: not there, without which the text cannot be cleaned once more; "
                "put it back, or export without the source"
            ) from error

    def _read_up_to(self, number: int) -> None:
        """Reads what is before a part in documents that it goes on with, unless that was read.

        Raises:
            ChangedTextError: the text is not the one of the plan.
        """
        plan = self._splitter.plan
        is_next, self._next = number == self._next, number + 1
        first = plan.parts[number].pieces[0]
        if is_next or first.begin == START:
            return
        for before in range(number):
            if any(piece.stream == first.stream for piece in plan.parts[before].pieces):
                for document in plan.documents(before):
                    deque(document.paragraphs, maxlen=0)
