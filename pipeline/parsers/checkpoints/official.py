"""The parsers that supar and benepar publish under a name, where they lie.

Neither project publishes sha256 sums, so whoever takes one gives its sha256.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.downloads.download import DownloadConfig, DownloadError, download

RELEASED_WEIGHTS = "benepar_model.bin"
"""The pickle in a folder that benepar released."""

_SUPAR = "https://github.com/yzhangcs/parser/releases/download/v1.1.0"
_BENEPAR = "https://github.com/nikitakit/self-attentive-parser/releases/download/models"
_SUPAR_FILES = {
    "biaffine-dep-en": "ptb.biaffine.dep.lstm.char.zip",
    "biaffine-dep-zh": "ctb7.biaffine.dep.lstm.char.zip",
    "biaffine-dep-roberta-en": "ptb.biaffine.dep.roberta.zip",
    "biaffine-dep-electra-zh": "ctb7.biaffine.dep.electra.zip",
    "biaffine-dep-xlmr": "ud.biaffine.dep.xlmr.zip",
}
_BENEPAR_NAMES = (
    "benepar_en3",
    "benepar_en3_large",
    "benepar_en3_wsj",
    "benepar_ar2",
    "benepar_de2",
    "benepar_eu2",
    "benepar_fr2",
    "benepar_he2",
    "benepar_hu2",
    "benepar_ko2",
    "benepar_pl2",
    "benepar_sv2",
    "benepar_zh2",
)


@dataclass(frozen=True, slots=True)
class OfficialParser:
    """A published parser that can be taken over."""

    name: str
    url: str
    stage: str
    """What it gives: ``dependencies`` or ``constituents``."""


OFFICIAL_PARSERS = {
    **{
        name: OfficialParser(name, f"{_SUPAR}/{file}", "dependencies")
        for name, file in _SUPAR_FILES.items()
    },
    **{
        name: OfficialParser(name, f"{_BENEPAR}/{name}.zip", "constituents")
        for name in _BENEPAR_NAMES
    },
}


def fetch_official(
    parser: OfficialParser,
    downloads: Path,
    sha256: str,
    *,
    config: DownloadConfig | None = None,
) -> Path:
    """Returns a published parser's file, downloaded if it is not there yet.

    Args:
        downloads: folder that keeps downloads.
        sha256: of the file; without it whatever comes is taken, to be judged by the caller.

    Raises:
        DownloadError: it is not to be had; names the address and the remedy.
        ValueError: another file came than the sha256 says.
    """
    destination = downloads / Path(parser.url).name
    try:
        return download(parser.url, destination, sha256 or None, config=config)
    except DownloadError as error:
        raise DownloadError(
            f"{parser.name}: {error}. Where there is no network, download {parser.url} elsewhere, "
            f"and give the file's path in place of the name"
        ) from error
