"""The declared tasks, and their files: formats, SentEval's order, malformed lines, absence."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.support.senteval_files import load, rows, write_files
from treeviews.models.evaluation import task_registry
from treeviews.models.evaluation.senteval_format import DATASETS, declared_dataset
from treeviews.models.evaluation.task_data import AbsentDataError
from treeviews.models.evaluation.task_registry import (
    DISCOURSE,
    PROBING,
    SENTEVAL_NAMES,
    TASKS,
    declared_tasks,
    task_named,
    tasks_named,
)

PROTOCOLS = {
    "nested_folds": "MR CR SUBJ MPQA",
    "folds": "TREC MRPC",
    "split": "SST2 SST5 SICK-E SentLen WC TreeDepth TopConst BShift Tense SubjNum ObjNum SOMO "
    "CoordInv DC",
    "relatedness": "SICK-R STS-B",
    "similarity": "STS12 STS13 STS13-SMT STS14 STS15 STS16 SICK14 STS-B-cosine",
}


def test_every_task_has_the_protocol_classes_and_names_that_senteval_gives_it() -> None:
    declared = {p: {task.name for task in TASKS if task.protocol == p} for p in PROTOCOLS}
    assert declared == {protocol: set(names.split()) for protocol, names in PROTOCOLS.items()}
    assert len({task.name for task in TASKS}) == len(TASKS)
    assert task_named("SUBJ").classes == ("subjective", "objective")
    assert task_named("SICK-E").classes == ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
    assert all(not task.classes for task in (*PROBING, *DISCOURSE))
    assert task_named("sick-r").name == "SICK-R"
    assert {theirs: task_named(theirs).name for theirs in SENTEVAL_NAMES} == SENTEVAL_NAMES


def test_a_list_of_tasks_keeps_its_order_and_each_task_once() -> None:
    assert [task.name for task in tasks_named("TREC, mr,TREC")] == ["TREC", "MR"]
    assert set(TASKS) - set(tasks_named("all")) == set(DISCOURSE)
    left_out = set(TASKS) - set(tasks_named("all", derived=True))
    assert {task.name for task in left_out} == {"BShift", "SOMO", "CoordInv"}
    with pytest.raises(ValueError, match="no evaluation task is named 'MNLI'; known are"):
        tasks_named("MNLI")


NEW_SET = """
[citations]
"Ada 2030" = "Ada 2030, Letters by mood"

[datasets.letters]
reader = "binary_sentiment"
files = { train = "letters/train.tsv", dev = "letters/dev.tsv", test = "letters/test.tsv" }

[tasks.Letters]
dataset = "letters"
protocol = "split"
classes = ["glum", "merry"]
description = "Mood of a letter's sentence"
citation = "Ada 2030"
"""


def test_a_set_is_added_by_its_declaration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = tomllib.loads(NEW_SET)
    monkeypatch.setattr(task_registry, "TASKS", (*TASKS, *declared_tasks(declared)))
    monkeypatch.setitem(DATASETS, "letters", declared_dataset(declared["datasets"]["letters"]))
    assert task_named("letters").citation == "Ada 2030, Letters by mood"
    with pytest.raises(ValueError, match="did you mean Letters"):
        task_named("Leters")
    write_files(tmp_path, "letters", three("so sad\t0\nwhat fun we had\t1\n"))
    data = load("Letters", tmp_path)
    assert rows(data, "test") == [("so sad", 0), ("what fun we had", 1)]
    assert data.class_names == ("glum", "merry")


def test_absent_data_name_the_file_and_the_remedy(tmp_path: Path) -> None:
    write_files(tmp_path, "SICK", {"train": "pair_ID\n", "dev": "pair_ID\n"})
    for name, said in (
        ("SICK-R", r"no .*SICK_test_annotated\.txt; download SentEval's data"),
        ("DC", "do not hold this"),
    ):
        with pytest.raises(AbsentDataError, match=f"{name}: .*{said}"):
            load(name, tmp_path)


HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
SIX = "One .\tTwo .\tThree .\tFour .\tFive .\tSix ."
SICK = {
    "train": f"{HEADER}1\tA man sings\tA man hums\t4.5\tENTAILMENT\n"
    "2\tA dog runs\tNo dog runs\t3.25\tCONTRADICTION\n3\tA dog\tA man sings\t4.75\tNEUTRAL\n"
    "4\tA cat\tTwo cats sleep\t1\tNEUTRAL\n",
    "dev": f"{HEADER}5\tA boy\tA girl\t2\tNEUTRAL\n",
    "test": f"{HEADER}6\tOne\tA dog\t3\tENTAILMENT\n7\tTwo\tA cat\t2.9\tNEUTRAL\n",
}
STS13 = {
    "input.FNWN": "a hat\ta cap\nunscored\tpair\n",
    "gs.FNWN": "4.5\n\n",
    "input.headlines": "rates rise again\trates up\tmore\nan egg\ta hen\n\ta loaf\n",
    "gs.headlines": "3\n0.0\n 1.000 \n",
    "input.OnWN": "to go\tto run\n",
    "gs.OnWN": "2\n",
}


@pytest.mark.parametrize(
    ("name", "files", "split", "expected"),
    [
        ("MR", {"positive": "a warm film .\nsplendid\n", "negative": "a cold film .\ndull\n"},
         "all", [("dull", 0), ("splendid", 1), ("a cold film .", 0), ("a warm film .", 1)]),
        # 0x85, 0x0c and 0x1c, at which str.splitlines would end the line
        ("MR", {"positive": b"slow\x85 but\x0cgood\x1c\r\nwarm\rkind", "negative": "dull\n"},
         "all", [("dull", 0), ("warm", 1), ("kind", 1), ("slow but good", 1)]),
        ("TREC", {"train": b"LOC:city Where is Malm\xf6 ?\nDESC:def Why : why ?\nABBR:exp NB ?\n",
                  "test": "HUM:ind Who sings ?\n"},
         "train", [("NB ?", 0), ("Why : why ?", 1), ("Where is Malmö ?", 4)]),
        ("SST2", {"train": "a joy \t1\nno fun\t0\n", "dev": "meh\t0", "test": "très bon\t1\n"},
         "train", [("no fun", 0), ("a joy", 1)]),
        # classes in the alphabetical order of train, the sentence in the last column
        ("TreeDepth", {"all": "tr\t5\tx\tone two\ntr\t12\tthree\ntr\t10\tfour\nva\t5\tfive\n"
                              "te\t12\tsix\n"},
         "train", [("four", 0), ("three", 1), ("one two", 2)]),
        ("DC", {"all": "".join(f"{s}\t{c}\t{SIX}\n" for s in ("tr", "va", "te") for c in "ba")},
         "test", [(*SIX.split("\t"), 0), (*SIX.split("\t"), 1)]),
        ("MRPC", {"train": f'{MRPC_HEADER}1\t1\t2\tHe said " yes .\tYes !\n0\t1\t2\tUp .\tNo .\n',
                  "test": f"{MRPC_HEADER}1\t14\t15\tUp .\tUp !\n"},
         "train", [("Up .", "No .", 0), ('He said " yes .', "Yes !", 1)]),
        ("SICK-R", SICK,
         "train", [("A cat", "Two cats sleep", 1.0), ("A dog", "A man sings", 4.75),
                   ("A dog runs", "No dog runs", 3.25), ("A man sings", "A man hums", 4.5)]),
        ("STS-B", {"train": 'n\tm\t2012\t1\t0.000\t" Quoted , she left .\tHe came .\tsource A\n'
                            "n\tm\t2012\t2\t5.0\tA bird\tThe bird\n",
                   "dev": "n\tm\t2014\t3\t2.4\tWhy ?\tHow ?\n",
                   "test": "n\tm\t2014\t4\t3.6\tGo on .\tGo !\n"},
         "train", [("A bird", "The bird", 5.0), ('" Quoted , she left .', "He came .", 0.0)]),
        ("STS13", STS13, "headlines", [(".", "a loaf", 1.0), ("an egg", "a hen", 0.0),
                                       ("rates rise again", "rates up", 3.0)]),
    ],
)  # fmt: skip
def test_files_are_read_and_arranged_as_senteval_has_them(
    tmp_path: Path,
    name: str,
    files: dict[str, str | bytes],
    split: str,
    expected: list[tuple[str | float, ...]],
) -> None:
    write_files(tmp_path, task_named(name).dataset, files)
    data = load(name, tmp_path)
    assert rows(data, split) == expected
    is_score = data.splits[split].labels.dtype == np.float64
    assert is_score == (task_named(name).protocol in ("relatedness", "similarity"))


def test_sentences_are_distinct_and_an_empty_one_is_a_period(tmp_path: Path) -> None:
    write_files(tmp_path, "MPQA", {"positive": "very  fond\n\n", "negative": "very fond\nangry\n"})
    data = load("MPQA", tmp_path)
    assert data.sentences == ("very fond", ".", "angry")
    assert rows(data, "all")[0] == (".", 1), "sorted by its own length"
    assert data.replaced == {"empty sentence, given as a period": 1}


def test_tasks_of_one_dataset_share_sentences_and_count_what_they_leave_out(tmp_path: Path) -> None:
    write_files(tmp_path, "SICK", dict(SICK))
    relatedness, entailment, cosine = (load(n, tmp_path) for n in ("SICK-R", "SICK-E", "SICK14"))
    assert relatedness.sentences == entailment.sentences == cosine.sentences
    assert list(cosine.splits) == ["test"]
    assert cosine.left_out == {"pair of the train split": 4, "pair of the dev split": 1}
    write_files(tmp_path, "STS13", dict(STS13))
    subsets = load("STS13", tmp_path)
    assert list(subsets.splits) == ["FNWN", "headlines", "OnWN"]
    assert subsets.left_out == {"pair without a gold score": 1}
    assert "unscored" not in subsets.sentences


WHOLE = f"{HEADER}1\tA boy\tA girl\t2\tNEUTRAL\n"


def three(text: str) -> dict[str, str | bytes]:
    return dict.fromkeys(("train", "dev", "test"), text)


def sts(pairs: str, gold: str) -> dict[str, str | bytes]:
    return {**STS13, "input.FNWN": pairs, "gs.FNWN": gold}


@pytest.mark.parametrize(
    ("task", "dataset", "files", "said"),
    [
        ("SICK-R", "SICK", three(f"{WHOLE}2\tA\tB\t3.5\n"), "line 3: 4 tab-separated columns wh"),
        ("SICK-E", "SICK", three(f"{WHOLE}2\tA\tB\t3\tno\n"), "'no' is none of the classes CONTR"),
        ("SICK-R", "SICK", three("1\tA boy\tA girl\t2\tNEUTRAL\n"), "line 1: no header line that"),
        ("STS13", "STS13", sts("a\tb\n", "1\n2\n"), r"FNWN\.txt has 1 lines and .*FNWN\.txt 2"),
        ("STS13", "STS13", sts("a\tb\n", "high\n"), r"gs\.FNWN\.txt, line 1: 'high' is no score"),
        ("STS13", "STS13", sts("a\tb\n", "\n"), "STS13: the files in .* hold no item of FNWN"),
        ("TREC", "TREC", three("HUM ind Who sings ?\n"), "not of the form 'COARSE:fine question'"),
        ("SST2", "SST2", {**three("b\t0"), "train": b"a\t1\nM\xf6\t1\n"}, "line 2: not utf-8"),
        ("BShift", "bigram_shift", {"all": "tr\tO\tA .\nva\tI\tB .\n"}, "training split has no cl"),
    ],
)
def test_what_is_not_of_the_format_is_named(
    tmp_path: Path, task: str, dataset: str, files: dict[str, str | bytes], said: str
) -> None:
    roles = ("train", "test") if task == "TREC" else tuple(files)
    write_files(tmp_path, dataset, {role: files[role] for role in roles})
    with pytest.raises(ValueError, match=said):
        load(task, tmp_path)
