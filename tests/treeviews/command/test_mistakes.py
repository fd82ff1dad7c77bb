"""Mistakes that people make: each is answered by a sentence with its remedy, and exit code 2.

At most three lines on standard error, no traceback among them, nothing on standard output.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.command import main
from treeviews.pipeline.base.bundled import BUNDLED_MODELS, BUNDLED_PARSERS

MOST_LINES = 3
STAGE_LINE = r"[\d-]+ [\d:]+ \d+ of \d+ stages: "
TYPO_OF_PARSER = str(BUNDLED_PARSERS["dependencies"]).replace("dependency", "dependancy")


@dataclass(frozen=True)
class Mistake:
    """A command line, and what its answer says: what is wrong, and the remedy."""

    arguments: tuple[str, ...]
    says: tuple[str, ...]


def mistake(*arguments: str, says: tuple[str, ...]) -> Mistake:
    return Mistake(arguments, says)


FILES = ("run", "--source", "files", "--paths")
URL = ("run", "--source", "url", "--url", "https://example.org/text.txt")
ENGLISH = ("encode", "english", "--input", "text.txt", "--out", "out.npy")
SCORES = ("evaluate", "--data", "senteval", "--encoder")

MISTAKES = {
    # commands, options and parameters
    "subcommand misspelt": mistake("encod", says=("'encod'", "mean 'encode'")),
    "argument left out": mistake("encode", says=("Missing argument", "treeviews encode --help")),
    "option misspelt": mistake(*ENGLISH, "--poling", "mean", says=("--poling", "--pooling")),
    "stage misspelt": mistake("run", "TrainEncodres", says=("mean TrainEncoders?",)),
    "parameter misspelt": mistake("run", "--viws", "DEP", says=("--viws", "mean --views?")),
    "field as a parameter": mistake("run", "--width", "9", says=("--width", "RunAll --help")),
    "parameter left out": mistake("run", "DownloadCorpus", says=("DownloadCorpus needs --url",)),
    "value of another kind": mistake(
        "run", "--seed", "one", says=("--seed cannot be 'one'", "such as 1")
    ),
    "setting of Luigi malformed": mistake(
        "run", "--workers", "two", says=("--workers cannot be 'two'",)
    ),
    "choice misspelt": mistake("run", "--source", "file", says=("--source", "files")),
    "JSON malformed": mistake(
        "run", "--changes", "{epochs: 2}", says=("--changes cannot be", "such as '{\"")
    ),
    "JSON, but no object": mistake(
        "run", "--changes", "[5]", says=("--changes cannot be", "no JSON object")
    ),
    "no scheduler there": mistake(
        *("run", "--scheduler-port", "9"), says=("no scheduler answers at", "--local-scheduler")
    ),
    # text
    "no such text": mistake(*FILES, "nowhere.txt", says=("nowhere.txt: no such", "check the path")),
    "folder without text": mistake(*FILES, "empty", says=("no text in this folder; looked for",)),
    "paths of no files": mistake("run", "--paths", "text.txt", says=("give --source files",)),
    "sha256 cut": mistake(*URL, "--sha256", "12ab", says=("'12ab', not 64 hexadecimal digits",)),
    "no worker": mistake("run", "--workers", "0", says=("--workers must be at least 1",)),
    "empty text": mistake(
        *("run", "SplitSentences", *FILES[1:], "empty.txt", "--workers", "1"),
        says=("empty.txt: empty or not readable", "give files that hold some"),
    ),
    "text in another encoding": mistake(
        *("run", "SplitSentences", *FILES[1:], "latin.txt", "--workers", "1"),
        says=("convert the file or set its encoding",),
    ),
    "sentences in another encoding": mistake(
        *("encode", "english", "--input", "latin.txt", "--out", "out.npy"),
        says=("latin.txt:1: not UTF-8", "convert it"),
    ),
    "no such sentences": mistake(
        *("encode", "english", "--input", "nowhere.txt", "--out", "out.npy"),
        says=("nowhere.txt: No such file", "check the path"),
    ),
    # what else is read
    "parser misspelt": mistake(
        "run",
        "--dependency-parser",
        TYPO_OF_PARSER,
        says=("no such folder", "known are dependency,"),
    ),
    "encoder misspelt": mistake(
        *("encode", "englsh", *ENGLISH[2:]), says=("'englsh'", "mean english?")
    ),
    "model damaged": mistake("encode", "damaged", *ENGLISH[2:], says=("damaged", "restore")),
    "no such device": mistake(
        *ENGLISH, "--device", "cuda:7", says=("'cuda:7': torch", "use auto or cpu")
    ),
    "extra not installed": mistake(
        "run", "TrainWordVectors", says=("gensim, which cannot be imported", "pip install")
    ),
    "no sentences": mistake("parse", "--input", "/dev/null", says=("no sentences; give one a",)),
    "parser of a command misspelt": mistake(
        *("parse", "--dependency-parser", "dependency-larg"), says=("mean dependency-large?",)
    ),
    # what is written
    "format without a name": mistake("parse", "--out", "t.xml", says=("its name tells no format",)),
    "no such folder of the output": mistake(
        *ENGLISH[:-1], "nowhere/out.npy", says=("nowhere: no such folder; make it first",)
    ),
    "a folder for the output": mistake(
        *ENGLISH[:-1], "empty", says=("empty is a folder; give --out a file in it",)
    ),
    "a full folder for a model": mistake(
        "models", "export", "english", "--out", "senteval", says=("not empty; give a new folder",)
    ),
    "binary on a terminal": mistake(
        "encode",
        "english",
        "--input",
        "text.txt",
        says=("redirect standard output, or give",),
    ),
    "format misspelt": mistake(
        *("models", "export", "english", "--out", "out", "--format", "model2vce"),
        says=("model2vec",),
    ),
    "no such model": mistake("models", "show", "nowhere", says=("nowhere",)),
    # evaluation and looking at results
    "wrong folder of data": mistake(
        *("evaluate", "--data", "empty", "--encoder", "english"),
        says=("empty: holds none of downstream", "the folder that SentEval calls data"),
    ),
    "task misspelt": mistake(*SCORES, "english", "--tasks", "SICK-D", says=("mean SICK-",)),
    "data set misspelt": mistake("data", "download", "senteval", "MRP", says=("'MRP'", "mean MR")),
    "data set misspelt after a switch": mistake(
        *("data", "download", "senteval", "--accept-unverified", "MRP"), says=("mean MR",)
    ),
    "function not found": mistake(
        *SCORES, "own:encode", "--tasks", "MR", says=("own cannot be imported", "PYTHONPATH")
    ),
    "choice of an option misspelt": mistake(
        *(*SCORES, "english", "--on-refusal", "zeroes"), says=("'zero'",)
    ),
    "no vocabulary": mistake(
        "vocabulary", "show", "empty", says=("vocabulary.json is not there; run CountVocabulary",)
    ),
    "vectors that were not downloaded": mistake(
        *("vectors", "import", "glove-840b", "--out", "out"),
        says=("download it first (treeviews data download vectors glove-840b)",),
    ),
    "nothing to compare": mistake("compare", "empty", "empty", says=("run the evaluation first",)),
    "no shard": mistake("inspect", "text.txt", says=("or a shard such as 00000.parquet",)),
    "nothing to look at": mistake("inspect", "nowhere", "-n", "3", says=("nowhere: no such file",)),
    "none for programs": mistake("inspect", "nowhere", "--json", says=("nowhere: no such file",)),
    "a URL to look at": mistake("inspect", "s3://b/c", says=("copy the stages",)),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, and things that are not as they should be."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "text.txt").write_text("A cat sat here.\n", encoding="utf-8")
    (folder / "empty.txt").touch()
    (folder / "latin.txt").write_bytes("Un caf\xe9.\n".encode("latin-1"))
    (folder / "empty").mkdir()
    write_tiny_senteval(folder / "senteval")
    shutil.copytree(BUNDLED_MODELS["english"], folder / "damaged")
    weights = folder / "damaged" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_common_mistake_is_answered_by_its_remedy(
    name: str,
    prepared: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(prepared)
    if "terminal" in name:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    if "extra" in name:
        monkeypatch.setattr("treeviews.tasks.words.gensim_version", lambda: None)
        monkeypatch.setitem(sys.modules, "gensim", None)
    asked = MISTAKES[name]

    assert main(asked.arguments) == 2

    printed = capfd.readouterr()
    lines = [line for line in printed.err.splitlines() if not re.match(STAGE_LINE, line)]
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("error: ")
    assert "traceback" not in printed.err.lower()
    assert [words for words in asked.says if words not in " ".join(lines)] == []
    assert printed.out == ""


SEVERAL = {
    "encode english --pooling lst --batch-size 0 --on-refusal nul": (
        *("got ['lst']", "batch_size must be at least 1, got 0", "'nul' is not one of"),
    ),
    "evaluate --encoder english --data . --tasks MRR,TRECK --classifier linaer": (
        *("did you mean MR?", "did you mean TREC?", "'linaer' is not one of"),
    ),
    "evaluate --encoder english --data nix --representation plane --preset labtop": (
        *("nix: no such folder", "did you mean plain?", "did you mean laptop?"),
    ),
    """evaluate --encoder english --data nix --protocol-changes '{"folds": 1, "sead": 2}'""": (
        *("nix: no such folder", "unknown protocol settings", "did you mean num_folds, seed?"),
    ),
}
"""Command lines -> what is said of each of their mistakes."""


@pytest.mark.parametrize("asked", SEVERAL)
def test_all_mistakes_of_a_command_are_reported_together(
    asked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(asked)) == 2
    told = capsys.readouterr().err
    assert [words for words in SEVERAL[asked] if words not in told] == []
    assert all(line.startswith("error: ") for line in told.splitlines())


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("inspect show english.parqet", "no such file or folder; did you mean english.parquet?"),
        ("diff english engels", "did you mean english?"),
        ("parse --out /dev/full --input english.parquet", "give one by --format"),
        ("encode englsh --out a.npy", "no known name; did you mean english?"),
        ("run RunAl", "did you mean RunAll?"),
    ],
)
def test_a_misspelt_name_is_corrected_in_a_line(
    asked: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("english.parquet").touch()
    assert main(asked.split()) == 2
    first, *others = capsys.readouterr().err.splitlines()
    assert says in first and len(first) < 200 and len(others) < 2


def test_an_error_that_nobody_foresaw_is_told_by_its_kind_and_exits_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError("the wheel came off")

    monkeypatch.setattr("treeviews.models.report.sections.markdown_table", fail)
    assert main(["list"]) == 1
    sentence, where = capsys.readouterr().err.splitlines()
    assert sentence == "error: RuntimeError: the wheel came off"
    assert where.startswith("traceback: ")


def test_who_interrupts_is_told_so_and_no_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("treeviews.models.report.sections.markdown_table", interrupt)
    assert main(["list"]) == 1
    assert capsys.readouterr().err == "error: interrupted\n"
