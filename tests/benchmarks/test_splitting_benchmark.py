"""The splitting benchmark on a small text and treebank; no times are judged."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import splitting
from benchmarks.splitting_stage import StageRun, check_same, measure_stage, stage_table
from benchmarks.splitting_treebanks import Agreement, GoldParagraph, read_paragraphs
from benchmarks.timed_command import Taken

pytestmark = pytest.mark.usefixtures("machine_as_before")

TREEBANK = """\
# newdoc id = one
# newpar
# text = I don't.
1\tI\t_\t_\t_\t_\t0\troot\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\t_\t_\t_\t_\t1\tdep\t_\t_
3\tn't\t_\t_\t_\t_\t1\tdep\t_\t_
4\t.\t_\t_\t_\t_\t1\tdep\t_\t_

# text = You do.
1\tYou\t_\t_\t_\t_\t0\troot\t_\t_
2\tdo\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No
3\t.\t_\t_\t_\t_\t1\tdep\t_\t_

# newpar
# text = Both.
1\tBoth\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t.\t_\t_\t_\t_\t1\tdep\t_\t_
"""


ONE = StageRun(
    "one worker",
    Taken(wall_seconds=8.0, cpu_seconds=7.0, peak_bytes=300 << 20),
    sentences=160,
    shards=1,
    jobs=2,
    drops={"too_long": 1},
    files={"00000.parquet": "a"},
)
TWO = replace(ONE, name="two workers", taken=Taken(5.0, 7.5, 301 << 20))


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_raw_text_of_a_treebank(tmp_path: Path) -> None:
    first, second = read_paragraphs(Path(write(tmp_path / "t.conllu", TREEBANK)))

    assert (first.text, second.text) == ("I don't. You do. ", "Both. ")
    assert [first.text[a:b] for a, b in first.sentences] == ["I don't.", "You do."]
    assert [first.text[a:b] for a, b in first.tokens] == ["I", "do", "n't", ".", "You", "do", "."]


def test_what_agrees_begins_and_ends_at_the_same_characters() -> None:
    paragraph = GoldParagraph("It rains. We go. ", [(0, 9), (10, 16)])
    agreement = Agreement()
    agreement.add(paragraph, paragraph.sentences, ["It rains.", "We", "go."])
    assert (agreement.right, agreement.found, agreement.gold) == (1, 3, 2)
    assert agreement.f1 == 40.0


def test_a_splitter_that_changes_characters_is_right_nowhere() -> None:
    paragraph = GoldParagraph("It rains. We go. ", [(0, 9), (10, 16)])
    agreement = Agreement()
    agreement.add(paragraph, paragraph.sentences, ["It rains.", "We go"])
    assert (agreement.right, agreement.found) == (0, 2)


@pytest.mark.slow
def test_the_last_line_has_every_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").mkdir()
    for name in "ab":
        lines = (f"Dr. {name} has {number} cats. Really!" for number in range(40))
        write(tmp_path / "text" / f"{name}.txt", "\n\n".join(lines))
    treebank = write(tmp_path / "t.conllu", TREEBANK)
    hide(monkeypatch, tmp_path / "hidden", "pysbd")
    few = {package: splitting.SPLITTERS[package] for package in ("spacy", "pysbd")}
    monkeypatch.setattr(splitting, "SPLITTERS", few)
    measured: list[str] = []
    monkeypatch.setattr(
        splitting, "measure_stage", lambda paths: measured.extend(paths) or [ONE, TWO]
    )
    given = ["--quick", "--text", str(tmp_path / "text"), "--treebank", f"small={treebank}"]

    assert splitting.main(given) == 0
    said = capsys.readouterr().out
    figures = json.loads(said.splitlines()[-1])
    assert figures["sentence_f1"] == {"small": 100.0} == figures["token_f1"]
    assert figures["best_other_f1"] == {"small": 100.0}
    assert figures["sentences"] == 160
    assert figures["absent"] == ["pysbd"]
    assert "Not installed, so not compared: pysbd (pip install pysbd)" in said
    for name in ("sentences_per_second", "in_memory_sentences_per_second", "vs_spacy_sentencizer"):
        assert figures[name] > 0
    assert measured == [str(tmp_path / "text")]
    assert figures["two_processes_vs_one"] == 1.6
    assert (figures["stage_sentences"], figures["shards"], figures["jobs"]) == (160, 1, 2)
    assert figures["drops"] == {"too_long": 1}
    assert (figures["one_worker_seconds"], figures["two_workers_seconds"]) == (8.0, 5.0)
    assert (figures["one_worker_cpu_seconds"], figures["two_workers_cpu_seconds"]) == (7.0, 7.5)
    assert (figures["one_worker_peak_mib"], figures["two_workers_peak_mib"]) == (300.0, 301.0)


@pytest.mark.slow
def test_the_stage_is_measured_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").mkdir()
    write(tmp_path / "text" / "a.txt", "It rains. We go.\n\n!!! ???\n")
    write(tmp_path / "text" / "b.txt", "The sun shines.\n")
    monkeypatch.chdir(tmp_path)

    assert splitting.main(["--parts", "workers", "--text", "text"]) == 0
    said = capsys.readouterr().out
    figures = json.loads(said.splitlines()[-1])
    assert (figures["stage_sentences"], figures["shards"], figures["jobs"]) == (3, 1, 1)
    assert figures["drops"] == {"no_letters": 1}
    assert figures["two_processes_vs_one"] is None  # one job: nothing for a second worker
    for run in ("one_worker", "two_workers"):
        for unit in ("seconds", "cpu_seconds", "peak_mib"):
            assert figures[f"{run}_{unit}"] > 0
    for name in ("sentences_per_second", "vs_spacy_sentencizer", "sentences", "peak_mib"):
        assert figures[name] is None
    assert "## Splitting by one and by two workers" in said
    assert "too short for two jobs" in said
    assert "## Speed" not in said


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"0.parquet": "a", "1.parquet": "x", "2.parquet": "x"}, r"1\.parquet: .* other bytes"),
        (
            {"0.parquet": "a", "1.parquet": "b"},
            r"2\.parquet: made with one worker, but not with two",
        ),
        (
            {"0.parquet": "a", "1.parquet": "b", "1.quarantine.jsonl": "q", "2.parquet": "c"},
            r"1\.quarantine\.jsonl: made with two workers, but not with one",
        ),
    ],
)
def test_the_first_file_that_differs_is_named(files: dict[str, str], said: str) -> None:
    one = replace(ONE, files={"0.parquet": "a", "1.parquet": "b", "2.parquet": "c"})
    check_same(one, replace(TWO, files=one.files))
    with pytest.raises(RuntimeError, match=said):
        check_same(one, replace(TWO, files=files))


def test_other_drops_of_the_same_rows_are_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"'too_long': 1.*'too_long': 2"):
        check_same(ONE, replace(TWO, drops={"too_long": 2}))


def test_the_table_of_the_stage_tells_time_memory_and_drops() -> None:
    table = stage_table([ONE, TWO])
    assert table.rows[0] == [
        *("one worker", "8.0", "7.0", "300", "160", "1", "2", "20", "23"),
    ]
    assert "refused by both: 1 too_long" in table.notes
    assert not any("too short" in note for note in table.notes)


def test_a_path_that_the_stage_would_take_for_two_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a,b\.txt: .* rename"):
        measure_stage(["a,b.txt"])


@pytest.mark.slow
def test_what_luigi_says_of_a_text_without_a_sentence_is_told(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.txt", "!!!\n")
    with pytest.raises(RuntimeError, match="no sentence could be taken from the source"):
        measure_stage([empty])


def hide(monkeypatch: pytest.MonkeyPatch, folder: Path, package: str) -> None:
    """Lets a package be absent, here and in processes that are started."""
    folder.mkdir()
    name = f"No module named '{package}'"
    write(folder / f"{package}.py", f"raise ModuleNotFoundError({name!r})\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


@pytest.mark.parametrize(
    ("treebank", "said"),
    [
        ("t.conllu", "give NAME=FILE"),
        ("a=missing.conllu", "missing.conllu"),
        ("a=bad.conllu", "line 1: not the 10 columns"),
        ("a=empty.conllu", "no sentence"),
    ],
)
def test_a_mistake_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    treebank: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bad.conllu", "1\tone\n\n")
    write(tmp_path / "empty.conllu", "\n")
    assert splitting.main(["--treebank", treebank]) == 2
    assert said in capsys.readouterr().err
