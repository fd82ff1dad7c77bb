"""Stages that bring text in and cut it into sentences."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any

import luigi

from pipeline.base.atomic_files import RUN_LOCK
from pipeline.base.foreign_text import told, values_without_secrets, without_secrets
from pipeline.downloads.connection import file_name_of
from pipeline.downloads.download import MAX_BYTES, DownloadConfig, check_sha256, download
from pipeline.downloads.hub_dataset import TEXT_FOLDER
from pipeline.sources.opened import DECLARED, config_of, source_of
from pipeline.sources.streams import Source
from pipeline.text.split import describe_splitter, split_sentences
from pipeline.text.tokenization import SentenceConfig
from tasks.artefact import ReportingTask, ShardStage
from tasks.datasets import FetchDataset
from tasks.parameters import GIGABYTE, AddressParameter, CorpusParameters

_GIVEN_BY = {"paths": "files", "url": "url", "dataset": "hf"}
"""What says where a text is -> the source that is made for it."""


class DownloadCorpus(ReportingTask):
    """Downloads one file, resuming where it broke off, and verifies its sha256."""

    url = AddressParameter(description="Address of a text file or archive of one.")
    sha256 = luigi.Parameter(description="The file's sha256 in hexadecimal.")
    work_folder = luigi.PathParameter(default=Path("data/work"), significant=False)
    max_download_gigabytes = luigi.FloatParameter(
        default=MAX_BYTES / GIGABYTE, significant=False, description="Longest file that is taken."
    )

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


class SplitSentences(CorpusParameters, ShardStage):
    """Cuts a corpus into tokenized sentences.

    Output: sentence shards in document order, one manifest each, refused sentences with their
    reasons beside them.
    """

    def requires(self) -> list[luigi.Task]:
        """Returns the download where the source is one."""
        self._check_source()
        if self.source == "hf":
            return [self.clone(FetchDataset)]
        return [self.clone(DownloadCorpus)] if self.url else []

    def _check_source(self) -> None:
        """Refuses parameters that contradict the source, rather than ignoring them.

        Raises:
            ValueError: a parameter of another source is given, or one of this source is not.
        """
        needed = DECLARED[self.source].given_by if self.source in DECLARED else ()
        given = [name for name in _GIVEN_BY if getattr(self, name)]
        wrong = next((name for name in given if name not in needed), "")
        if wrong or (len(needed) == 1 and not given):
            name = wrong or needed[0]
            raise ValueError(
                f"source is {self.source!r} and {name} is {told(getattr(self, name))!r}: give "
                f"--source {_GIVEN_BY[name]} together with --{name}"
                f"{' and --sha256' if name == 'url' else ''}, and no other source"
            )
        if needed and len(given) != 1:
            raise ValueError(
                f"source is {self.source!r}: give either --paths of your copy, or --url and "
                "--sha256 of a download"
            )
        if self.url:
            check_sha256(self.url, self.sha256)
        if needed:
            config_of(self.source, self._file_settings, self._named_paths)

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
        return SentenceConfig(
            limit=self.limit, min_tokens=self.min_tokens, max_tokens=self.max_tokens
        )

    def content(self) -> dict[str, Any]:
        """Returns what the text is and how it is cut; a download is known by its sha256.

        Its address has no login and no token in it: the same file fetched with another one is the
        same text.
        """
        self._check_source()
        if self.url:
            read = config_of(self.source, self._file_settings, self._named_paths).to_dict()
            named = {"source": self.source, "url": self.url, "sha256": self.sha256}
            source = values_without_secrets(named | read)
        elif self.source == "hf":
            read = config_of(self.source, self._file_settings, self._named_paths).to_dict()
            source = {"source": "hf", "fetched": self.requires()[0].digest} | read
        else:
            source = self.opened_source.describe()
        return {"corpus": source, "splitter": describe_splitter(self.config)}

    def place(self) -> Path:
        """Returns the folder of the corpus."""
        return self.work_folder / "corpora" / self.source

    @property
    def folder(self) -> Path:
        """The sentence shards; parses stand beside them in the corpus's folder."""
        return super().folder / "sentences"

    def fill(self) -> None:
        """Splits the text, going on at the first shard that is not complete."""
        self.write_config()
        split_sentences(
            self.opened_source, self.config, self.folder, on_progress=self.report_progress
        )
