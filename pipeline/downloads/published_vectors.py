"""Published word vectors by name: ``published_vectors.tsv`` declares addresses, sha256, licences.

Nothing in it is guessed. The sha256 of GloVe's archives are those that several public catalogues
record for these addresses (Keras's examples, TorchText, Embeddings.jl); that of the Google News
vectors, which Google itself only shares by a drive, is Embeddings.jl's for the address that is
usually named. For fastText's archives none is known: they are taken with a sha256 that the user
gives, or unverified, and what came is noted.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.base.job import Progress
from treeviews.pipeline.base.json_files import read_object, write_sealed_json
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.downloads.download import check_sha256, download, file_name_of

DOWNLOAD_FILE = "download.json"
"""Says where a file came from and why it is believed; sealed, written last."""
DOWNLOADS_FOLDER = Path("downloads", "word-vectors")
"""In a work folder: of each name a folder, or several where other files were asked for."""


@dataclass(frozen=True, slots=True)
class PublishedVectors:
    """One archive."""

    name: str
    url: str
    licence: str
    sha256: str
    """Empty: none is known."""
    about: str
    """Words, dimensions, and how `import_vectors` is told what it cannot see."""


_TABLE = Path(__file__).with_suffix(".tsv").read_text("utf-8").splitlines()
PUBLISHED_VECTORS = tuple(PublishedVectors(**row) for row in csv.DictReader(_TABLE, delimiter="\t"))


def vectors_named(name: str) -> PublishedVectors:
    """Returns a declaration.

    Raises:
        ValueError: there is none of this name; says which there are.
    """
    known = {vectors.name: vectors for vectors in PUBLISHED_VECTORS}
    if name not in known:
        raise ValueError(f"no word vectors named {name!r}; known: {', '.join(known)}")
    return known[name]


def expected_sha256(
    declared: PublishedVectors, given: str, *, accept_unverified: bool
) -> str | None:
    """Returns the sha256 that a download must have; None where any is taken.

    Args:
        given: by the user, who may know of a newer file; empty: what is declared counts.

    Raises:
        ValueError: none is known, and what comes is not to be taken unverified.
    """
    if given:
        check_sha256(declared.url, given)
        return given.lower()
    if not (declared.sha256 or accept_unverified):
        raise ValueError(
            f"{declared.name}: nobody has published a sha256 of {declared.url}: give --sha256 of a "
            "copy that you trust, or --accept-unverified, which notes the sha256 of what comes"
        )
    return declared.sha256 or None


def fetch_vectors(
    declared: PublishedVectors,
    folder: Path,
    sha256: str | None,
    *,
    mirror: str = "",
    on_progress: Progress | None = None,
) -> Path:
    """Downloads an archive into a folder, resuming where an earlier call broke off.

    Args:
        sha256: that it must have; None takes what comes. `DOWNLOAD_FILE` says what came.
        mirror: address under which it stands by its name; empty: the declared address.

    Returns:
        Its path.

    Raises:
        ValueError, DownloadError: see `download`.
    """
    path = folder / file_name_of(declared.url)
    url = f"{mirror.rstrip('/')}/{path.name}" if mirror else declared.url
    download(url, path, sha256, on_progress=on_progress)
    facts = {
        "name": declared.name,
        "url": without_secrets(url),
        "licence": declared.licence,
        "bytes": path.stat().st_size,
        "sha256": sha256_of_file(path),
        "proof": "none" if sha256 is None else "sha256",
    }
    write_sealed_json(folder / DOWNLOAD_FILE, facts, [path])
    return path


def file_to_import(given: Path, work_folder: Path) -> Path:
    """Returns the file that is meant by what somebody gave.

    Args:
        given: a file, the folder of a download, or a name of `PUBLISHED_VECTORS`.
        work_folder: where those were downloaded that are given by name.

    Raises:
        FileNotFoundError: nothing there, or not yet downloaded; says how it is.
        ValueError: a download is damaged, or of the name there are several.
    """
    names = [vectors.name for vectors in PUBLISHED_VECTORS]
    if not given.exists() and str(given) in names:
        place = work_folder / DOWNLOADS_FOLDER
        folders = sorted(file.parent for file in place.glob(f"{given}-*/{DOWNLOAD_FILE}"))
        if not folders:
            raise FileNotFoundError(
                f"{place}: {given} is not there; download it first (treeviews data download "
                f"vectors {given}), or say in which --work-folder it is"
            )
        if len(folders) > 1:
            listed = shortened([str(folder) for folder in folders])
            raise ValueError(f"{place}: {given} was downloaded several times; give one of {listed}")
        given = folders[0]
    if not given.exists():
        raise FileNotFoundError(
            f"{given}: no such word vectors; give a file, the folder of a download, or a name of "
            f"published ones: {', '.join(names)}"
        )
    if not (given / DOWNLOAD_FILE).is_file():
        return given
    remedy = f"delete {given} and download it again (treeviews data download vectors)"
    name = read_object(given / DOWNLOAD_FILE, ("name",), remedy=remedy)["name"]
    return given / file_name_of(vectors_named(str(name)).url)
