"""The stages that bring text in, clean it and cut it into sentences."""

from __future__ import annotations

import hashlib
import logging
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from treeviews.pipeline.base.atomic_files import RUN_LOCK, sweep_unfinished
from treeviews.pipeline.base.foreign_text import values_without_secrets, without_secrets
from treeviews.pipeline.base.job import run_job_process
from treeviews.pipeline.downloads.download import (
    DownloadConfig,
    check_sha256,
    download,
    file_name_of,
)
from treeviews.pipeline.downloads.hub_dataset import DATASET_FILE, TEXT_FOLDER, FetchJob, HubDataset
from treeviews.pipeline.shards.manifests import ShardRange, read_dataset_manifest
from treeviews.pipeline.text.cleaning_steps import check_language, describe_cleaning
from treeviews.pipeline.text.documents import Source
from treeviews.pipeline.text.find_duplicates import MANIFEST_NAME, signature_path
from treeviews.pipeline.text.split_corpus import PLAN_NAME, CorpusSplit
from treeviews.pipeline.text.split_parts import DUPLICATES_FOLDER, describe_splitter
from treeviews.pipeline.text.text_files import is_compressed
from treeviews.pipeline.text.text_sources import (
    LOCATIONS,
    PARAMETERS,
    SOURCES,
    TextFiles,
    check_parameters,
    config_of,
    source_of,
)
from treeviews.pipeline.text.tokenization import SentenceConfig
from treeviews.tasks.artefact import Artefact, ReportingTask, ShardStage
from treeviews.tasks.checks import Check, check_installed, check_work_folder
from treeviews.tasks.parameter_kinds import AddressParameter, Sha256Parameter, settings_of, takes
from treeviews.tasks.parameters import GIGABYTE, CorpusParameters

logger = logging.getLogger("luigi-interface")

UNREAD = (
    *("unreadable_file", "damaged_file", "binary_file", "undecodable"),
    *("missing_text", "bad_row", "bad_json", "giant_line", "giant_paragraph"),
)
"""Reasons of refusals that lie in files rather than in sentences."""
_PACKED = {"parquet", "arrow", "tar"}
"""Formats whose bytes say little of how much text they hold."""
_LEAST_BYTES = 2
"""Of a sentence: a letter and what parts it from the next."""


class DownloadCorpus(ReportingTask):
    """Downloads a file and verifies its sha256; an interrupted download resumes."""

    url = AddressParameter(description="Address of a text file or of an archive with one.")
    sha256 = Sha256Parameter(description="sha256 of the file in hexadecimal.")
    work_folder = Artefact.work_folder
    max_download_gigabytes = CorpusParameters.max_download_gigabytes

    def checks(self) -> list[Check]:
        """Refuses what is no sha256, and a work folder in which nothing can be made."""
        return [
            lambda: check_sha256(self.url, self.sha256),
            lambda: check_work_folder(Path(self.work_folder)),
        ]

    def output(self) -> luigi.LocalTarget:
        """Returns the file, which has its name only when it is whole and verified."""
        known = without_secrets(self.url)  # another token is no other file
        key = hashlib.sha256(f"{known}\n{self.sha256}".encode()).hexdigest()[:12]
        place = self.work_folder / "downloads" / key / file_name_of(self.url)
        return luigi.LocalTarget(str(place))

    def run(self) -> None:
        """Downloads the file; where another run is at it, waits and takes its result."""
        path = Path(self.output().path)
        config = DownloadConfig(max_bytes=round(self.max_download_gigabytes * GIGABYTE))
        with self.held(path.parent / RUN_LOCK):
            if not self.complete():
                report = self.report_progress
                download(self.url, path, self.sha256, config=config, on_progress=report)


@takes(HubDataset)
class FetchDataset(Artefact):
    """Fetches the text of a data set on a hub (needs ``pip install 'datasets<5'``).

    Output: compressed JSON lines. An interrupted fetch resumes at the next file.
    """

    marker = DATASET_FILE
    job_module = "treeviews.pipeline.downloads.hub_dataset"
    text_field = CorpusParameters.text_field

    @property
    def wanted(self) -> HubDataset:
        """Which column of which data set."""
        return settings_of(self, HubDataset, text_field=self.text_field or "text")

    def checks(self) -> list[Check]:
        """Refuses to fetch without the library."""
        return [*super().checks(), lambda: check_installed("datasets", "source hf", "corpora")]

    def content(self) -> dict[str, Any]:
        """Returns what the text is; of a folder, its files' checksum."""
        return {"dataset": self.wanted.describe()}

    def place(self) -> Path:
        """Returns the folder of the files."""
        return self.work_folder / "downloads" / Path(self.dataset).name

    def job(self) -> FetchJob:
        """Returns the fetch."""
        return FetchJob(dataset=self.wanted, out=self.folder)


class SplitSentences(CorpusParameters, ShardStage):
    """Splits a corpus into tokenized sentences.

    Output: sentence shards in document order, each with a manifest and its refused sentences with
    reasons. About 40,000 sentences/s per core.
    """

    job_module = "treeviews.pipeline.text.split_parts"
    verb = "split"

    def checks(self) -> list[Check]:
        """Refuses a source that cannot be, cleaning that cannot be, and text without a byte."""
        return [*super().checks(), self.check_source, self._check_cleaning, self._check_text]

    def _check_cleaning(self) -> None:
        cleaning = self.resolved_cleaning()
        describe_cleaning(cleaning)
        check_language(cleaning.language)

    def _check_text(self) -> None:
        paths = self._known_files()
        if paths and not any(os.access(path, os.R_OK) and path.stat().st_size for path in paths):
            raise ValueError(f"{paths[0]}: empty or not readable; give files that hold some text")

    def _known_files(self) -> list[Path]:
        """Returns the files of the text; none where they are to be downloaded, or are no files."""
        if self.url or self.source == "hf" or not self._named_paths:
            return []
        source = self.opened_source
        return source.paths if isinstance(source, TextFiles) else []

    def most_sentences(self, tokens: int = 1) -> float:
        """Returns how many sentences there are at most, as far as that is known before a run.

        Args:
            tokens: of a sentence, at least; shorter ones do not count.
        """
        if (self.folder / self.marker).exists():
            return read_dataset_manifest(self.folder).rows
        most = float(self.limit or "inf")
        paths = self._known_files()
        read = config_of(self.source, self._file_settings) if paths else None
        if read is None or any(is_compressed(p) or read.format_of(p) in _PACKED for p in paths):
            return most
        return min(most, sum(path.stat().st_size for path in paths) / (tokens * _LEAST_BYTES))

    def is_one_document(self) -> bool:
        """Returns whether the text is known to be one document."""
        paths = self._known_files()
        return len(paths) == 1 and self.opened_source.streams()[0].is_one_document

    def requires(self) -> list[luigi.Task]:
        """Returns the download where the source is one."""
        self.check_source()
        if self.source == "hf":
            return [self.clone(FetchDataset)]
        return [self.clone(DownloadCorpus)] if self.url else []

    def check_source(self) -> None:
        """Refuses parameters that contradict the source, rather than ignoring them.

        Raises:
            ValueError: a parameter of another source is given, or one of this source is not.
        """
        given = {name: value for name in LOCATIONS if (value := getattr(self, name))}
        for name in PARAMETERS:
            usual = getattr(CorpusParameters, name).task_value("SplitSentences", name)
            if (value := getattr(self, name)) != usual:
                given[name] = value
        check_parameters(self.source, given)
        if self.url:
            check_sha256(self.url, self.sha256)
        if SOURCES[self.source].located_by:
            config_of(self.source, self._file_settings)

    @property
    def _named_paths(self) -> list[str]:
        """Where the files are as the user said it."""
        if self.url:
            return [file_name_of(self.url)]
        return [part.strip() for part in self.paths.split(",") if part.strip()]

    @property
    def _file_settings(self) -> dict[str, str | None]:
        """How files are read, as far as the user said it."""
        settings = {
            "paragraphs": self.paragraphs,
            "encoding": self.encoding,
            "format": self.text_format,
        }
        # The column of a data set is the one field that its files have.
        return settings if self.source == "hf" else settings | {"text_field": self.text_field}

    @cached_property
    def opened_source(self) -> Source:
        """The source of the text."""
        paths = self._named_paths
        if self.url:
            paths = [self.input()[0].path]
        elif self.source == "hf":
            paths = [str(Path(self.input()[0].path).parent / TEXT_FOLDER)]
        return source_of(self.source, paths, self._file_settings)

    @property
    def config(self) -> SentenceConfig:
        """How sentences are cut and which are refused."""
        return settings_of(self, SentenceConfig)

    def content(self) -> dict[str, Any]:
        """Returns what the text is and how it is cut; a download is known by its sha256.

        Its address has no login and no token in it: the same file fetched with another one is the
        same text.
        """
        self.check_source()
        if self.url or self.source == "hf":
            named = {"url": self.url, "sha256": self.sha256}
            if self.source == "hf":
                named = {"fetched": self.clone(FetchDataset).digest}
            read = config_of(self.source, self._file_settings).to_dict()
            source = values_without_secrets({"source": self.source, **named, **read})
        else:
            source = self.opened_source.describe()
        described = {"corpus": source, "splitter": describe_splitter(self.config)}
        cleaned = describe_cleaning(self.resolved_cleaning())
        return described | ({"cleaning": cleaned} if cleaned else {})

    def place(self) -> Path:
        """Returns the folder of the corpus."""
        return self.work_folder / "corpora" / self.source

    @property
    def folder(self) -> Path:
        """The sentence shards; parses stand beside them in the corpus's folder."""
        return super().folder / "sentences"

    def _begin(self, *, sweep: bool = False) -> CorpusSplit:
        """Returns what stands and is to be made, once plan and configuration are written."""
        self.write_config(sweep=sweep)
        cleaning = self.resolved_cleaning()
        corpus = CorpusSplit(self.opened_source, self.config, self.folder, cleaning)
        corpus.begin(sweep=sweep)
        return corpus

    def make_shards(self) -> None:
        """Has all parts split, as far as they are wanted, once it is known what stands twice."""
        if self.resolved_cleaning().needs_corpus:
            with self.planning(self.folder):
                if self.complete():  # by the run that this one waited for
                    return
                corpus = self._begin()
            self._find_duplicates(corpus)
        super().make_shards()

    def shard_job(self) -> dict[str, Any]:
        """Returns the job that splits parts."""
        return {"plan": str(self.folder / PLAN_NAME), "output": str(self.folder)}

    def ranges_left(self) -> list[ShardRange]:
        """Returns the parts that come next."""
        return self._begin().runs()

    def _find_duplicates(self, corpus: CorpusSplit) -> None:
        """Finds which paragraphs of the corpus stand earlier in it, which lines in many documents.

        Every part is signed, then it is decided; what a killed run has done is not done again.
        """
        folder, module = self.folder / DUPLICATES_FOLDER, "treeviews.pipeline.text.find_duplicates"
        manifest, cleaning = folder / MANIFEST_NAME, self.resolved_cleaning()
        job = {**self.shard_job(), "output": str(folder), "config": cleaning.to_dict()}
        self.share_jobs(
            folder,
            module,
            job,
            corpus.all_runs,
            lambda number: signature_path(folder, number).exists() or manifest.exists(),
            "signed",
        )
        with self.held(folder / RUN_LOCK):
            sweep_unfinished(folder)
            if not manifest.exists():
                path = folder / "jobs" / "duplicates.json"
                run_job_process(module, job, path, self.report_progress, threads=1)

    def fill(self) -> None:
        """Marks the stage complete, whose shards are there; tells of text that was not readable."""
        made = self._begin(sweep=True).finish()
        if unread := {name: made.drops[name] for name in UNREAD if name in made.drops}:
            refused = ", ".join(f"{name} {count:,}" for name, count in unread.items())
            logger.warning(
                "%s: %s sentences; text was refused (%s): `treeviews inspect %s` and the "
                "files *.quarantine.jsonl say what and where",
                self.folder,
                f"{made.rows:,}",
                refused,
                self.folder.parent,
            )
