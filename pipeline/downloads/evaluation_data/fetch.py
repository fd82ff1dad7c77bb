"""Fetches the declared downloads, each once, from a mirror or the declared addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.base.digest import sha256_of_file
from pipeline.base.foreign_text import without_secrets
from pipeline.base.job import Progress
from pipeline.downloads.download import DownloadConfig, DownloadError, UnreachableError, download
from pipeline.downloads.evaluation_data.manifest import MANIFEST_NAME, Download
from pipeline.downloads.evaluation_data.unpack import MissingMemberError, read_members

PATIENCE = DownloadConfig(attempts=4, max_bytes=1 << 30)


@dataclass(frozen=True, slots=True)
class FetchConfig:
    """Where downloads come from and which are taken."""

    mirror: str = ""
    """Address under which every download stands by its name; empty: the declared addresses."""
    accept_unverified: bool = False
    """Take sets that nothing declared can verify, and note their downloads' sha256: later runs
    ask for the same bytes."""
    download: DownloadConfig = PATIENCE


@dataclass(frozen=True, slots=True)
class Fetched:
    """A download that is there."""

    path: Path
    address: str
    """Without a login or a token in it."""
    sha256: str


class Fetcher:
    """Keeps downloads in one folder and remembers for a run what failed.

    A server that never answered is asked once a download from then on, so that a run without a
    network ends soon.

    Args:
        folder: of the downloads; a part that a run left behind is gone on with.
        trusted: sha256 of undeclared downloads that were accepted before, by name.

    Attributes:
        trusted: the same and those accepted since.
    """

    def __init__(self, folder: Path, trusted: Mapping[str, str], config: FetchConfig) -> None:
        self._folder = folder
        self.config = config
        self.trusted = dict(trusted)
        self.on_progress: Progress | None = None
        """Called as bytes arrive."""
        self._fetched: dict[str, Fetched] = {}
        self._failures: dict[str, Exception] = {}
        self._unreachable: set[str] = set()
        self._suspects: set[str] = set()
        self._proven: set[str] = set()

    def fetch(self, wanted: Download) -> Fetched:
        """Returns the download; a failure is remembered, and raised again at the next call.

        Raises:
            DownloadError: no address gives it, with the sha256 that was accepted before if any.
        """
        if wanted.name in self._failures:
            raise self._failures[wanted.name]
        try:
            if wanted.name not in self._fetched:
                self._fetched[wanted.name] = self._from_any_address(wanted)
        except DownloadError as error:
            self._failures[wanted.name] = error
            raise
        return self._fetched[wanted.name]

    def read(self, wanted: Download, members: Sequence[str]) -> dict[str, bytes]:
        """Returns these members of an archive; ``""`` is all of a download that is no archive.

        Raises:
            DownloadError, ValueError: as `fetch`; or the archive is damaged or another.
        """
        path = self.fetch(wanted).path
        if not any(members):
            return {"": path.read_bytes()}
        try:
            return read_members(path, members)
        except ValueError as error:
            self.suspect(wanted)
            if not isinstance(error, MissingMemberError):  # another set may find its members
                self._failures[wanted.name] = error
            raise

    def suspect(self, wanted: Download) -> None:
        """Notes that a download may not be what it should."""
        self._suspects.add(wanted.name)

    def prove(self, wanted: Download) -> None:
        """Notes that a download gave files of known sha256: whatever it lacks, it is the one."""
        self._proven.add(wanted.name)

    def remove_suspects(self) -> None:
        """Removes what was suspect and not proven, so that another run asks for it again."""
        for name in (self._suspects - self._proven) & set(self._fetched):
            self._fetched.pop(name).path.unlink(missing_ok=True)
        self._suspects.clear()

    def _from_any_address(self, wanted: Download) -> Fetched:
        sha256 = self.trusted.get(wanted.name)
        path = self._folder / wanted.name
        limits = self.config.download
        faults = []
        mirror = self.config.mirror.rstrip("/")
        for address in (f"{mirror}/{wanted.name}",) if mirror else wanted.addresses:
            server = urlsplit(address).netloc
            patience = replace(limits, attempts=1) if server in self._unreachable else limits
            try:
                download(address, path, sha256, config=patience, on_progress=self.on_progress)
            except (DownloadError, ValueError) as error:
                faults.append(str(error))
                if isinstance(error, UnreachableError):
                    self._unreachable.add(server)
            else:
                return Fetched(path, without_secrets(address), sha256 or sha256_of_file(path))
        if sha256 is not None:
            faults.append(
                f"{wanted.name} was accepted with this sha256 before: to accept another, delete it "
                f"from trusted in {MANIFEST_NAME}"
            )
        raise DownloadError("; ".join(faults))
