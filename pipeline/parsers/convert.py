"""Turns a parser of supar or benepar into a parser folder, which loads without running code.

Command line::

    python -m treeviews.pipeline.parsers.convert CHECKPOINT FOLDER --sha256 HEX

CHECKPOINT is a file that supar or benepar saved, a folder or zip that they published, or the name
of a published one, such as ``biaffine-dep-en`` or ``benepar_en3``. Such files are pickles, which
are programs; so only a file is read whose sha256 you give, and nothing of what the pickle holds is
run. Where the parser has a transformer inside, its configuration and tokenizer are taken from
--transformer, else from where the checkpoint says.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from treeviews.pipeline.base.atomic_files import RUN_LOCK
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.downloads.download import DownloadError, download
from treeviews.pipeline.parsers.parser_files import DESCRIPTION_NAME, RELEASED_WEIGHTS, STAGES
from treeviews.pipeline.parsers.sentence_parser import load_parser

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
    *("benepar_en3", "benepar_en3_large", "benepar_en3_wsj"),
    *(f"benepar_{code}2" for code in ("ar", "de", "eu", "fr", "he", "hu", "ko", "pl", "sv", "zh")),
)

DOWNLOADS = Path("data/work/downloads")
CONVERSION_VERSION = 1
"""Raised when the same checkpoint would give another parser."""
_ALLOWED = frozenset({"config.json", "jobs", RUN_LOCK})
"""What a task writes into a parser's folder before it converts."""


class OfficialParser(NamedTuple):
    """A published parser that can be taken over."""

    url: str
    stage: str
    """What it gives: ``dependencies`` or ``constituents``."""


OFFICIAL_PARSERS = {
    name: OfficialParser(f"{_SUPAR}/{file}", "dependencies") for name, file in _SUPAR_FILES.items()
} | {name: OfficialParser(f"{_BENEPAR}/{name}.zip", "constituents") for name in _BENEPAR_NAMES}
"""Neither project publishes sha256 sums, so whoever takes one gives its sha256."""


def convert_checkpoint(
    checkpoint: str,
    folder: Path,
    *,
    sha256: str,
    stage: str = "",
    transformer: str = "",
    downloads: Path = DOWNLOADS,
) -> str:
    """Converts a checkpoint and returns the checksum of the parser that ``folder`` then holds.

    Args:
        checkpoint: path of a file or folder, or a published parser's name.
        folder: made where missing, else empty but for what a task writes there; the parser's
            description comes last.
        sha256: of the file that you trust (of a folder, of its ``benepar_model.bin``); nothing is
            read from any other.
        stage: ``dependencies`` or ``constituents``, what the parser must give; empty takes either.
        transformer: folder or hub's name with the configuration and tokenizer of the transformer.
        downloads: folder that keeps downloads.

    Raises:
        ValueError: no such file, no or another sha256, not a parser that can be taken over, or a
            folder that holds something else.
        DownloadError: a published parser is not to be had.
    """
    official = OFFICIAL_PARSERS.get(checkpoint)
    if official and stage not in ("", official.stage):  # known before it is downloaded
        raise ValueError(f"{checkpoint}: a parser that gives {official.stage}, not {stage}")
    path = _find(checkpoint, downloads, sha256)
    trusted = path / RELEASED_WEIGHTS if path.is_dir() else path
    _check_sha256(trusted, sha256)
    _check_empty(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".converting-") as own:
        built, scratch = Path(own) / "parser", Path(own) / "scratch"
        built.mkdir()
        try:
            checksum = _take_over(path.resolve(), built, scratch, stage, transformer)
        except MemoryError:
            raise
        except (ValueError, OSError) as error:
            raise ValueError(f"{path.name}: {error}") from error
        except Exception as error:  # what the library's code, or ours, makes of a stranger's file
            raise ValueError(
                f"{path.name}: what is in it is not as supar or benepar save it "
                f"({type(error).__name__}: {error}); name a checkpoint that one of them saved whole"
            ) from error
        # The description comes last: without it a folder is no parser.
        for part in sorted(built.iterdir(), key=lambda part: part.name == DESCRIPTION_NAME):
            part.rename(folder / part.name)
    return checksum


def _take_over(checkpoint: Path, folder: Path, scratch: Path, stage: str, transformer: str) -> str:
    """Writes the parser folder of a checkpoint, loads it once as a proof, returns its checksum.

    Raises:
        ValueError: it is no checkpoint, or not one that can be taken over here.
    """
    from treeviews.pipeline.parsers import checkpoint_conversion as conversion
    from treeviews.pipeline.parsers.torch_checkpoint_reader import STAGE_OF_LIBRARY, open_checkpoint

    library, content, its_transformer = open_checkpoint(checkpoint, scratch)
    gives = STAGE_OF_LIBRARY[library]
    if stage and stage != gives:
        raise ValueError(
            f"a parser of {library}, which gives {gives}, but one for {stage} is needed here"
        )
    convert = getattr(conversion, f"convert_{library}_checkpoint")
    checksum: str = convert(content, folder, transformer=transformer or its_transformer)
    load_parser(folder, gives, expected_checksum=checksum)
    return checksum


def main(arguments: Sequence[str] | None = None) -> int:
    """Converts as the arguments say; returns the exit status, 2 for a user's mistake."""
    parser = argparse.ArgumentParser(
        prog="python -m treeviews.pipeline.parsers.convert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkpoint", help="file, folder or published name")
    parser.add_argument("folder", type=Path, help="parser folder to write")
    parser.add_argument("--sha256", default="", help="of the checkpoint that you trust")
    parser.add_argument("--stage", default="", choices=["", *STAGES], help="what it must give")
    parser.add_argument("--transformer", default="", help="folder with configuration and tokenizer")
    options = vars(parser.parse_args(arguments))
    try:
        checksum = convert_checkpoint(**options)
    except (ValueError, OSError, DownloadError) as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    print(checksum)
    return 0


def _find(checkpoint: str, downloads: Path, sha256: str) -> Path:
    path = Path(checkpoint)
    if path.exists():
        return path
    if checkpoint not in OFFICIAL_PARSERS:
        raise ValueError(
            f"{checkpoint}: neither a file or folder, nor a published parser; known names: "
            f"{', '.join(OFFICIAL_PARSERS)}"
        )
    url = OFFICIAL_PARSERS[checkpoint].url
    return download(url, downloads / Path(url).name, sha256 or None)


def _check_sha256(file: Path, sha256: str) -> None:
    actual = sha256_of_file(file)
    if actual != sha256.lower():
        raise ValueError(
            f"{file}: a pickle of sha256 {actual}, and not read, as {sha256 or 'no sha256'} is "
            f"given; give this one if the file is the one that you mean and trust, by comparing it "
            f"with one that its authors or somebody you trust computed with `sha256sum`"
        )


def _check_empty(folder: Path) -> None:
    """Checks that a parser may be put into a folder.

    Raises:
        ValueError: it is a file, or holds something else; names what.
    """
    if foreign := {path.name for path in folder.glob("*")} - _ALLOWED:
        raise ValueError(
            f"{folder}: holds {shortened(sorted(foreign))}, which a converted parser would replace "
            f"or stand among; name a folder that is empty or not there yet, or move its files away"
        )


if __name__ == "__main__":
    raise SystemExit(main())
