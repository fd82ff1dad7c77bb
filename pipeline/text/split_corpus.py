"""All sentence shards of a corpus: what is to be made, in what order, and when it is whole.

Many jobs of `pipeline.text.split_parts` may work on one folder. What parts there are stands in its
``plan.json``, which is found before the first job begins.

Of a corpus with a limit the plan has the first parts alone. It goes further when all of them are
split and hold too few sentences: how far follows from the text, so it is the same plan in the end
whatever was killed in between.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

from treeviews.pipeline.base.atomic_files import sweep_unfinished
from treeviews.pipeline.base.digest import digest_of
from treeviews.pipeline.base.json_files import read_object, write_sealed_json
from treeviews.pipeline.shards.manifests import (
    CLEANED,
    MANIFEST_NAME,
    MOST_RANGES,
    DatasetManifest,
    ShardManifest,
    ShardRange,
    complete_shards,
    manifest_path,
    quarantine_path,
    read_shard_manifest,
    shard_numbers,
    shard_path,
    write_dataset_manifest,
)
from treeviews.pipeline.text.cleaning_steps import CleaningConfig, check_language, describe_cleaning
from treeviews.pipeline.text.documents import START, Source
from treeviews.pipeline.text.plan import BYTES_PER_ROW, Plan, plan_of
from treeviews.pipeline.text.split_parts import REMEDY, PartSplitter, describe_splitter
from treeviews.pipeline.text.tokenization import SentenceConfig

PLAN_NAME = "plan.json"
JOB_BYTES = 16_000_000
"""Of text in a run of parts that one job splits: some seconds of work."""
SPARE_TEXT = 1.1
"""A plan has so many times the text that by all that is known holds the wanted sentences."""
UNSOUGHT_RUNS = 8
"""Runs that a stream is split in at most which each of them reads from the beginning."""


class CorpusSplit:
    """The sentence shards of one source, in one folder.

    Args:
        source: of the text.
        config: how sentences are cut and which are refused.
        folder: where the shards go; empty, or holding shards of the same source and config.
        cleaning: what is done to paragraphs before they are cut.
    """

    def __init__(
        self,
        source: Source,
        config: SentenceConfig,
        folder: Path,
        cleaning: CleaningConfig | None = None,
    ) -> None:
        self._source, self._config, self._folder = source, config, folder
        self._cleaning = cleaning or CleaningConfig()
        cleaned = describe_cleaning(self._cleaning)
        self._described = {"corpus": source.describe(), "splitter": describe_splitter(config)} | (
            {"cleaning": cleaned} if cleaned else {}
        )
        self._fingerprint = digest_of(self._described)
        self.plan: Plan  # its parts as far as they are known to be wanted, once `begin` was called

    @property
    def plan_path(self) -> Path:
        """The file with the plan, which a job reads."""
        return self._folder / PLAN_NAME

    def begin(self, *, sweep: bool = True) -> None:
        """Finds out what parts there are and writes it down, unless that is written.

        Args:
            sweep: False where others may be writing into the folder.

        Raises:
            ValueError: the folder holds the sentences of something else, or the text is to be in a
                language that is not known.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in shard_numbers(self._folder):
            shard = read_shard_manifest(self._folder, number)
            if shard is not None and shard.extra.get("fingerprint") != self._fingerprint:
                raise ValueError(
                    f"{self._folder}: shard {number} was made from another text or with other "
                    "settings; delete the folder or choose another one"
                )
        (self._folder / MANIFEST_NAME).unlink(missing_ok=True)  # a shard that it lists is gone
        if sweep:
            sweep_unfinished(self._folder)
        plan = self._written_plan()
        if plan is not None:
            self.plan = plan
            return
        check_language(self._cleaning.language)
        is_limited = self._config.limit and not self._cleaning.needs_corpus
        wanted = SPARE_TEXT * BYTES_PER_ROW * self._config.limit
        self._make_plan(wanted if is_limited else math.inf)

    def _make_plan(self, num_bytes: float) -> None:
        """Finds the parts that hold so much text, and writes them down for the jobs."""
        self.plan = plan_of(self._source, num_bytes)
        values = {
            "fingerprint": self._fingerprint,
            "config": self._config.to_dict(),
            "cleaning": self._cleaning.to_dict(),
            "plan": self.plan.to_dict(),
        }
        write_sealed_json(self.plan_path, values)

    def _plan_further(self) -> None:
        """Adds parts to the plan if those that it has are split and do not reach the limit.

        How many depends on what these parts hold and on nothing else.
        """
        while not self.plan.is_whole:
            made = self._shards_made()
            rows = sum(shard.rows for shard in made)
            if rows >= self._config.limit or len(made) < len(self.plan.parts):
                return
            num_bytes = self.plan.num_bytes
            missing = SPARE_TEXT * (self._config.limit - rows) * num_bytes / max(rows, 1)
            self._make_plan(num_bytes + min(missing, num_bytes))

    def _written_plan(self) -> Plan | None:
        """Returns the plan that an earlier run wrote, if it is of the same files."""
        try:
            values = read_object(self.plan_path, ("fingerprint", "plan"), remedy=REMEDY)
        except (FileNotFoundError, ValueError):
            return None
        source = json.loads(json.dumps(self._source.to_dict()))
        plan = values["plan"]  # one of an earlier release has other keys
        if (values["fingerprint"], plan["source"]) != (self._fingerprint, source):
            return None
        return Plan.from_dict(plan, self._source) if "ends" in plan else None

    def runs(self) -> list[ShardRange]:
        """Returns the runs of parts to be split next; none when all shards are there.

        Where the number of sentences has a limit, the plan goes further where its parts did not
        have them, so `runs` is asked again when they are done: a job is to read the plan after
        `runs` named its parts.
        """
        self._plan_further()
        made = self._shards_made()
        if 0 < self._config.limit <= sum(shard.rows for shard in made):
            return []
        return [run for run in self.all_runs() if run.number + run.num_shards > len(made)]

    def all_runs(self) -> list[ShardRange]:
        """Returns runs of all parts of the plan; their bounds are the same whatever is done."""
        parts, streams = self.plan.parts, self.plan.streams
        sizes = Counter[int]()
        for part in parts:
            sizes[part.stream - (part.end == START)] += part.num_bytes
        unsought = max((n for i, n in sizes.items() if not streams[i].is_sought), default=0)
        least = max(JOB_BYTES, sizes.total() // MOST_RANGES, unsought // UNSOUGHT_RUNS)
        runs, start, num_bytes = [], 0, 0
        for number, part in enumerate(parts, start=1):
            num_bytes += part.num_bytes
            if num_bytes >= least or number == len(parts):
                runs.append(ShardRange(start, number - start))
                start, num_bytes = number, 0
        return runs

    def _shards_made(self) -> list[ShardManifest]:
        """Returns the manifests of the plan's shards from the first on, up to a missing one."""
        return complete_shards(self._folder)[: len(self.plan.parts)]

    def finish(self) -> DatasetManifest:
        """Ends the corpus at its limit and marks it complete.

        Raises:
            ValueError: the source has no sentence; says what was refused.
            FileNotFoundError: a shard is missing.
        """
        self._plan_further()  # a plan that was lost is found anew from its beginning
        num_shards = self._cut_at_limit() if self._config.limit else len(self.plan.parts)
        made = self._shards_made()[:num_shards]
        if len(made) == num_shards and not any(shard.rows for shard in made):
            raise ValueError(self._nothing_found())
        _remove_shards(self._folder, num_shards)
        cleaned = Counter[str]()
        for shard in made:
            cleaned.update(shard.extra.get(CLEANED, {}))
        counts = {"left_out": self.plan.left_out, CLEANED: dict(sorted(cleaned.items()))}
        met = {name: dict(count) for name, count in counts.items() if count}
        return write_dataset_manifest(
            self._folder, "sentences", config=self._described | met, num_shards=num_shards
        )

    def _cut_at_limit(self) -> int:
        """Makes the shard in which the limit is reached end there; returns how many shards stay."""
        rows = 0
        for shard in self._shards_made():
            room = self._config.limit - rows
            if shard.rows >= room:
                if shard.rows > room:
                    _remove_shards(self._folder, shard.number + 1)
                    splitter = PartSplitter(self.plan_path, self._folder, self._source)
                    splitter.split(shard.number, limit=room)
                return shard.number + 1
            rows += shard.rows
        return len(self.plan.parts)

    def _nothing_found(self) -> str:
        refused = [shard for shard in complete_shards(self._folder) if shard.drops]
        if not refused:
            return "the source holds no text; check its path and format"
        reasons = sum((Counter(shard.drops) for shard in refused), Counter[str]())
        counts = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
        with quarantine_path(self._folder, refused[0].number).open(encoding="utf-8") as lines:
            first = json.loads(next(lines))
        return (
            f"no sentence could be taken from the source; refused: {counts}; first, at "
            f"{first['position']}: {first['reason']} ({first['detail']})"
        )


def _remove_shards(folder: Path, first: int) -> None:
    """Removes the shards from a number on, the manifest of each first."""
    for number in shard_numbers(folder):
        if number >= first:
            for path in (manifest_path, shard_path, quarantine_path):
                path(folder, number).unlink(missing_ok=True)
