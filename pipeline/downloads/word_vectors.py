"""The one declaration of published word vectors: addresses, sha256, licences.

Nothing here is guessed. The sha256 of GloVe's archives are those that several public catalogues
record for these addresses (Keras's examples, TorchText, Embeddings.jl); that of the Google News
vectors, which Google itself only shares by a drive, is Embeddings.jl's for the address that is
usually named. For fastText's archives none is known: they are taken with a sha256 that the user
gives, or unverified, and what came is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.base.digest import sha256_of_file
from pipeline.base.foreign_text import without_secrets
from pipeline.base.job import Progress
from pipeline.base.json_files import read_object, write_sealed_json
from pipeline.base.mistakes import did_you_mean
from pipeline.base.refusal import shortened
from pipeline.downloads.download import DownloadConfig, check_sha256, download

DOWNLOAD_FILE = "download.json"
"""Says where a file came from and why it is believed; sealed, written last."""
DOWNLOADS_FOLDER = Path("downloads", "word-vectors")
"""In a work folder: of each name a folder, or several where other files were asked for."""
_STANFORD = "https://nlp.stanford.edu/data"
_FASTTEXT = "https://dl.fbaipublicfiles.com/fasttext/vectors-english"


@dataclass(frozen=True, slots=True)
class PublishedVectors:
    """One archive."""

    name: str
    url: str
    licence: str
    about: str
    """Words, dimensions, and how `import_vectors` is told what it cannot see."""
    sha256: str | None = None
    """None: none is known."""

    @property
    def file_name(self) -> str:
        """The last part of its address, by which a mirror has it."""
        return self.url.rpartition("/")[2]


PUBLISHED_VECTORS = tuple(
    PublishedVectors(*fields)
    for fields in (
        (
            "glove-6b",
            f"{_STANFORD}/glove.6B.zip",
            "PDDL 1.0",
            "400,000 words in lower case; members glove.6B.50d.txt, .100d, .200d and .300d.txt",
            "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
        ),
        (
            "glove-42b",
            f"{_STANFORD}/glove.42B.300d.zip",
            "PDDL 1.0",
            "1.9 million words in lower case, 300 dimensions",
            "03d5d7fa28e58762ace4b85fb71fe86a345ef0b5ff39f5390c14869da0fc1970",
        ),
        (
            "glove-840b",
            f"{_STANFORD}/glove.840B.300d.zip",
            "PDDL 1.0",
            "2.2 million words with their case, 300 dimensions",
            "c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
        ),
        (
            "fasttext-crawl",
            f"{_FASTTEXT}/crawl-300d-2M.vec.zip",
            "CC BY-SA 3.0",
            "2 million words with their case, 300 dimensions",
        ),
        (
            "fasttext-wiki-news",
            f"{_FASTTEXT}/wiki-news-300d-1M.vec.zip",
            "CC BY-SA 3.0",
            "1 million words with their case, 300 dimensions",
        ),
        (
            "word2vec-google-news",
            "https://s3.amazonaws.com/dl4j-distribution/GoogleNews-vectors-negative300.bin.gz",
            "not stated",
            "3 million words and phrases with their case, 300 dimensions",
            "21c05ae916a67a4da59b1d006903355cced7de7da1e42bff9f0504198c748da8",
        ),
    )
)


def vectors_named(name: str) -> PublishedVectors:
    """Returns a declaration.

    Raises:
        ValueError: there is none of this name; says which there are.
    """
    known = {one.name: one for one in PUBLISHED_VECTORS}
    if name not in known:
        raise ValueError(
            f"no word vectors named {name!r}{did_you_mean(name, known=known)}; known: "
            f"{', '.join(known)}"
        )
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
    if declared.sha256 is None and not accept_unverified:
        raise ValueError(
            f"{declared.name}: nobody has published a sha256 of {declared.url}: give --sha256 of a "
            "copy that you trust, or --accept-unverified, which notes the sha256 of what comes"
        )
    return declared.sha256


def fetch_vectors(
    declared: PublishedVectors,
    folder: Path,
    sha256: str | None,
    *,
    mirror: str = "",
    config: DownloadConfig | None = None,
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
    url = f"{mirror.rstrip('/')}/{declared.file_name}" if mirror else declared.url
    path = download(
        url, folder / declared.file_name, sha256, config=config, on_progress=on_progress
    )
    facts: Mapping[str, Any] = {
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
    if (given / DOWNLOAD_FILE).is_file():
        return _archive_in(given)
    if given.exists():
        return given
    names = [one.name for one in PUBLISHED_VECTORS]
    if str(given) in names:
        return _downloaded(str(given), work_folder)
    raise FileNotFoundError(
        f"{given}: no such word vectors{did_you_mean(str(given), known=names)}; give a file, the "
        f"folder of a download, or a name of published ones: {', '.join(names)}"
    )


def _archive_in(folder: Path) -> Path:
    """Returns the archive that `fetch_vectors` brought into a folder.

    Raises:
        FileNotFoundError, ValueError: the folder does not hold it, or does not say what it holds.
    """
    remedy = f"delete {folder} and download it again (treeviews data download vectors)"
    name = read_object(folder / DOWNLOAD_FILE, ("name",), remedy=remedy)["name"]
    path = folder / vectors_named(str(name)).file_name
    if not path.is_file():
        raise FileNotFoundError(f"{path}: gone; {remedy}")
    return path


def _downloaded(name: str, work_folder: Path) -> Path:
    """Returns the archive of published vectors, as it was downloaded into a work folder.

    Raises:
        FileNotFoundError: it was not; says how it is.
        ValueError: several files were downloaded.
    """
    place = work_folder / DOWNLOADS_FOLDER
    found = sorted(file.parent for file in place.glob(f"{name}-*/{DOWNLOAD_FILE}"))
    if not found:
        raise FileNotFoundError(
            f"{place}: {name} is not there; download it first (treeviews data download vectors "
            f"{name}), or say in which --work-folder it is"
        )
    if len(found) > 1:
        folders = shortened([str(folder) for folder in found])
        raise ValueError(f"{place}: {name} was downloaded several times; give one of {folders}")
    return _archive_in(found[0])
