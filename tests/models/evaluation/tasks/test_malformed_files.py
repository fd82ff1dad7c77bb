"""Lines that are not of SentEval's formats are named by file, line and problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.senteval_files import load, write_files

SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
WHOLE = f"{SICK}1\tA boy\tA girl\t2\tNEUTRAL\n"
MRPC = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
STS = {"gs.headlines": "3\n", "gs.OnWN": "2\n", "input.headlines": "a\tb\n", "input.OnWN": "a\tb\n"}


def three(text: str) -> dict[str, str | bytes]:
    return dict.fromkeys(("train", "dev", "test"), text)


def sts(pairs: str, gold: str) -> dict[str, str | bytes]:
    return {**STS, "input.FNWN": pairs, "gs.FNWN": gold}


@pytest.mark.parametrize(
    ("task", "dataset", "files", "said"),
    [
        ("SICK-R", "SICK", three(f"{WHOLE}2\tA\tB\t3.5\n"), "line 3: 4 tab-separated columns wh"),
        ("SICK-R", "SICK", three(f"{WHOLE}2\tA\tB\tnan\tNEUTRAL\n"), "score nan lies outside 1 to"),
        ("SICK-E", "SICK", three(f"{WHOLE}2\tA\tB\t3\tno\n"), "'no' is none of the classes CONTR"),
        ("SICK-R", "SICK", three("1\tA boy\tA girl\t2\tNEUTRAL\n"), "line 1: no header line that"),
        ("MRPC", "MRPC", three(f"{MRPC}2\t10\t11\tYes .\tNo .\n"), "'2' is none of the classes 0"),
        ("STS-B", "STSBenchmark", three("a\tb\t2012\t1\t0.0\tOne .\n"), "6 tab-separated columns"),
        ("STS13", "STS13", sts("a\tb\n", "1\n2\n"), r"FNWN\.txt has 1 lines and .*FNWN\.txt 2"),
        ("STS13", "STS13", sts("a b\n", "1\n"), r"FNWN\.txt, line 1: one column where two"),
        ("STS13", "STS13", sts("a\tb\n", "high\n"), r"gs\.FNWN\.txt, line 1: 'high' is no score"),
        ("STS13", "STS13", sts("a\tb\n", "\n"), "STS13: the files in .* hold no item of FNWN"),
        ("TREC", "TREC", three("HUM ind Who sings ?\n"), "not of the form 'COARSE:fine question'"),
        ("TREC", "TREC", three("WHO:ind Who sings ?\n"), "'WHO' is none of the classes ABBR, DESC"),
        ("SST2", "SST2", three("a joy 1\n"), "train, line 1: 1 tab-separated columns where 2"),
        ("SST5", "SST5", three("5 a joy\n"), "'5' is none of the classes 0, 1, 2, 3, 4; restore"),
        ("SST2", "SST2", {**three("b\t0"), "train": b"a\t1\nM\xf6\t1\n"}, "line 2: not utf-8"),
        ("BShift", "bigram_shift", {"all": "dev\tO\tA word .\n"}, "the split 'dev' is none of tr"),
        ("BShift", "bigram_shift", {"all": "tr\tO\tA .\nva\tI\tB .\n"}, "training split has no cl"),
        ("BShift", "bigram_shift", {"all": "tr\tO\tA .\nva\tO\tB .\n"}, "hold no item of test"),
    ],
)
def test_what_is_not_of_the_format_is_named(
    tmp_path: Path, task: str, dataset: str, files: dict[str, str | bytes], said: str
) -> None:
    roles = {"TREC": ("train", "test"), "MRPC": ("train", "test")}.get(task, tuple(files))
    write_files(tmp_path, dataset, {role: files[role] for role in roles})
    with pytest.raises(ValueError, match=said):
        load(task, tmp_path)
