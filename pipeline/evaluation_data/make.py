"""Makes one set's files of its downloads, and says why their bytes are to be believed."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.download import DownloadError
from pipeline.evaluation_data.declaration import DataFile, Dataset, Download, Making, Way
from pipeline.evaluation_data.fetch import Fetcher
from pipeline.evaluation_data.manifest import FileEntry, Proof

OTHER_TOKENS = "tokenised otherwise than SentEval's"


class UnverifiedError(ValueError):
    """The set could be made, but nothing says that its bytes are right."""


@dataclass(frozen=True, slots=True)
class MadeFile:
    """One finished file that is not yet written."""

    content: bytes
    entry: FileEntry


@dataclass(frozen=True, slots=True)
class MadeDataset:
    """All files of a set, by path, and the downloads that were taken on trust for them."""

    files: Mapping[str, MadeFile]
    trusted: Mapping[str, str]


def make_dataset(
    dataset: Dataset, fetcher: Fetcher, trusted: Mapping[str, str], *, accept_unverified: bool
) -> MadeDataset:
    """Returns a set's files, made in the first way whose bytes are verified.

    Args:
        trusted: sha256 of undeclared downloads that were accepted before, by name.
        accept_unverified: take the first way that gives the right number of lines if none is
            verified.

    Raises:
        UnverifiedError: a way gives the set, but nothing declared can verify it.
        ValueError: no way gives it; the message holds what each met.
    """
    faults: list[str] = []
    unverified: MadeDataset | None = None
    for way in dataset.ways:
        try:
            made = _make(dataset, way, fetcher, trusted)
        except (DownloadError, ValueError) as error:
            faults.append(str(error))
            continue
        if not made.trusted:
            return made
        unverified = unverified or made
    if unverified is None:
        raise ValueError("; ".join(dict.fromkeys(faults)))
    if not accept_unverified:
        taken = ", ".join(f"{name} ({sha256})" for name, sha256 in unverified.trusted.items())
        raise UnverifiedError(
            f"no sha256 is known to verify {taken} with; pass --accept-unverified to take it as it "
            "came"
        )
    return unverified


def _make(dataset: Dataset, way: Way, fetcher: Fetcher, trusted: Mapping[str, str]) -> MadeDataset:
    """Returns the files made in one way; ``trusted`` holds what would have to be accepted."""
    raw = _raw_contents(way, fetcher)
    by_path = {making.path: making for making in way.makings}
    files: dict[str, MadeFile] = {}
    accepted: dict[str, str] = {}
    for file in dataset.files:
        making = by_path[file.path]
        try:
            made = _make_file(file, making, raw[file.path], fetcher)
        except ValueError as error:
            fetcher.suspect(making.download)
            raise ValueError(f"{file.path} from {making.download.name}: {error}") from error
        files[file.path] = made
        if made.entry.proof == "finished":
            fetcher.prove(making.download)
        if made.entry.proof == "first use":
            accepted[making.download.name] = fetcher.fetch(making.download).sha256
    new = {name: sha256 for name, sha256 in accepted.items() if trusted.get(name) != sha256}
    return MadeDataset(files, new)


def _raw_contents(way: Way, fetcher: Fetcher) -> dict[str, bytes]:
    """Returns what each file is made of; an archive is read once for all of them."""
    by_download: dict[Download, list[Making]] = defaultdict(list)
    for making in way.makings:
        by_download[making.download].append(making)
    raw: dict[str, bytes] = {}
    for download, makings in by_download.items():
        members = [making.member for making in makings if making.member]
        contents = fetcher.read(download, members) if members else {}
        for making in makings:
            raw[making.path] = (
                contents[making.member]
                if making.member
                else fetcher.fetch(download).path.read_bytes()
            )
    return raw


def _make_file(file: DataFile, making: Making, content: bytes, fetcher: Fetcher) -> MadeFile:
    for step in making.steps:
        content = step(content)
    fetched = fetcher.fetch(making.download)
    sha256 = hashlib.sha256(content).hexdigest()
    as_senteval = None if file.sha256 is None else sha256 == file.sha256
    if making.own_tokens:  # known without SentEval's sha256
        as_senteval = False
    num_lines = count_lines(content)
    check_lines(num_lines, file)
    proof: Proof = "first use"
    if as_senteval:
        proof = "finished"
    elif making.download.sha256 is not None:
        proof = "declared"
    elif as_senteval is False and not making.own_tokens:
        raise ValueError(f"sha256 is {sha256}, SentEval's file has {file.sha256}")
    remark = OTHER_TOKENS if making.own_tokens else ""
    entry = FileEntry(sha256, len(content), num_lines, proof, as_senteval, fetched.address, remark)
    return MadeFile(content, entry)


def count_lines(content: bytes) -> int:
    """Returns the number of lines, of which the last may lack its end."""
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))


def check_lines(num_lines: int, file: DataFile) -> None:
    """Refuses a file that has not the declared number of lines, or none.

    Raises:
        ValueError: the numbers differ.
    """
    if num_lines == 0 or num_lines != (file.num_lines or num_lines):
        expected = f"{file.num_lines:,}" if file.num_lines else "some"
        raise ValueError(f"{num_lines:,} lines, expected {expected}")
