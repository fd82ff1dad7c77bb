"""The declared tasks: which there are, their files, protocols and classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.evaluation.task_data import AbsentDataError, load_task, missing_files
from models.evaluation.task_registry import (
    DATASETS,
    DISCOURSE,
    PROBING,
    SENTEVAL_NAMES,
    TASKS,
    dataset_named,
    task_named,
    tasks_named,
)
from tests.support.senteval_files import write_files

PROTOCOLS = {
    "nested_folds": "MR CR SUBJ MPQA",
    "folds": "TREC MRPC",
    "split": "SST2 SST5 SICK-E SentLen WC TreeDepth TopConst BShift Tense SubjNum ObjNum SOMO "
    "CoordInv DC",
    "relatedness": "SICK-R STS-B",
    "similarity": "STS12 STS13 STS13-SMT STS14 STS15 STS16 SICK14 STS-B-cosine",
}

FILES = {
    "MR": "downstream/MR: rt-polarity.pos rt-polarity.neg",
    "CR": "downstream/CR: custrev.pos custrev.neg",
    "SUBJ": "downstream/SUBJ: subj.objective subj.subjective",
    "MPQA": "downstream/MPQA: mpqa.pos mpqa.neg",
    "SST2": "downstream/SST/binary: sentiment-train sentiment-dev sentiment-test",
    "SST5": "downstream/SST/fine: sentiment-train sentiment-dev sentiment-test",
    "TREC": "downstream/TREC: train_5500.label TREC_10.label",
    "MRPC": "downstream/MRPC: msr_paraphrase_train.txt msr_paraphrase_test.txt",
    "SICK-R": "downstream/SICK: SICK_train.txt SICK_trial.txt SICK_test_annotated.txt",
    "STS-B": "downstream/STS/STSBenchmark: sts-train.csv sts-dev.csv sts-test.csv",
    "STS13": "downstream/STS/STS13-en-test: STS.input.FNWN.txt STS.gs.FNWN.txt "
    "STS.input.headlines.txt STS.gs.headlines.txt STS.input.OnWN.txt STS.gs.OnWN.txt",
    "SentLen": "probing: sentence_length.txt",
    "WC": "probing: word_content.txt",
    "TreeDepth": "probing: tree_depth.txt",
    "TopConst": "probing: top_constituents.txt",
    "BShift": "probing: bigram_shift.txt",
    "Tense": "probing: past_present.txt",
    "SubjNum": "probing: subj_number.txt",
    "ObjNum": "probing: obj_number.txt",
    "SOMO": "probing: odd_man_out.txt",
    "CoordInv": "probing: coordination_inversion.txt",
}

SUBSETS = {
    "STS12": "MSRpar MSRvid SMTeuroparl surprise.OnWN surprise.SMTnews",
    "STS13": "FNWN headlines OnWN",
    "STS13-SMT": "FNWN headlines OnWN SMT",
    "STS14": "deft-forum deft-news headlines images OnWN tweet-news",
    "STS15": "answers-forums answers-students belief headlines images",
    "STS16": "answer-answer headlines plagiarism postediting question-question",
}


def test_every_task_has_the_protocol_that_senteval_gives_it() -> None:
    declared = {
        protocol: {task.name for task in TASKS if task.protocol == protocol}
        for protocol in PROTOCOLS
    }
    assert declared == {protocol: set(names.split()) for protocol, names in PROTOCOLS.items()}
    assert len({task.name for task in TASKS}) == len(TASKS) == 30


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_where_senteval_or_their_authors_have_them(name: str) -> None:
    folder, names = FILES[name].split(": ")
    expected = [f"{folder}/{file}" for file in names.split()]
    assert list(dataset_named(task_named(name).dataset).files.values()) == expected


@pytest.mark.parametrize("name", SUBSETS)
def test_the_subsets_of_each_year_in_senteval_order(name: str) -> None:
    folder = f"downstream/STS/{name[:5]}-en-test"
    assert list(DATASETS[name].files.values()) == [
        f"{folder}/STS.{kind}.{subset}.txt"
        for subset in SUBSETS[name].split()
        for kind in ("input", "gs")
    ]


def test_the_encodings_are_those_with_which_senteval_opens_the_files() -> None:
    latin_1 = {name for name, dataset in DATASETS.items() if dataset.encoding == "latin-1"}
    assert latin_1 == {"MR", "CR", "SUBJ", "MPQA", "TREC"}


def test_class_numbers_are_those_of_senteval() -> None:
    assert task_named("MR").classes == ("negative", "positive")
    assert task_named("SUBJ").classes == ("subjective", "objective")
    assert task_named("TREC").classes == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert task_named("SICK-E").classes == ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
    assert all(not task.classes for task in (*PROBING, *DISCOURSE))


def test_a_task_is_found_in_any_case_and_by_the_name_in_senteval_code() -> None:
    assert task_named("sick-r").name == "SICK-R"
    for theirs, ours in SENTEVAL_NAMES.items():
        assert task_named(theirs).name == ours


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no evaluation task is named 'MNLI'; known are MR, CR"):
        task_named("MNLI")


def test_a_list_of_tasks_keeps_its_order_and_each_task_once() -> None:
    assert [task.name for task in tasks_named("TREC, mr,TREC")] == ["TREC", "MR"]
    assert set(TASKS) - set(tasks_named("all")) == set(DISCOURSE)
    left_out = set(TASKS) - set(tasks_named("all", derived=True))
    assert {task.name for task in left_out} == {"BShift", "SOMO", "CoordInv"}
    with pytest.raises(ValueError, match="no evaluation task is named ''"):
        tasks_named("")


def test_absent_data_name_the_file_and_the_remedy(tmp_path: Path) -> None:
    write_files(tmp_path, "SICK", {"train": "pair_ID\n", "dev": "pair_ID\n"})
    path = tmp_path / "downstream/SICK/SICK_test_annotated.txt"
    assert missing_files(task_named("SICK-R"), tmp_path) == [path]
    with pytest.raises(AbsentDataError, match=rf"SICK-R: no {path}; download SentEval's data"):
        load_task(task_named("SICK-R"), tmp_path)


def test_a_task_on_discourse_that_is_absent_is_not_to_be_downloaded(tmp_path: Path) -> None:
    path = tmp_path / "probing/discourse_coherence.txt"
    with pytest.raises(AbsentDataError, match=rf"DC: no {path}; SentEval's data do not hold this"):
        load_task(task_named("DC"), tmp_path)
