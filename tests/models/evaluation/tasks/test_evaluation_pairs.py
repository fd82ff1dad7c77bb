"""Loaders of pairs: formats, headers, gold scores, SentEval's order, malformed lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.senteval_files import load, rows, write_files

SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"


def sick(*lines: str) -> str:
    return SICK_HEADER + "".join(f"{number}\t{line}\n" for number, line in enumerate(lines))


def write_sick(folder: Path) -> None:
    write_files(
        folder,
        "SICK",
        {
            "train": sick(
                "A man sings\tA man hums\t4.5\tENTAILMENT",
                "A dog runs\tNo dog runs\t3.25\tCONTRADICTION",
                "A dog\tA man sings\t4.75\tNEUTRAL",
                "A cat\tTwo cats sleep\t1\tNEUTRAL",
            ),
            "dev": sick("A boy\tA girl\t2\tNEUTRAL"),
            "test": sick("One\tA dog\t3\tENTAILMENT", "Two\tA cat\t2.9\tNEUTRAL"),
        },
    )


def test_relatedness_is_arranged_by_both_lengths_then_the_score(tmp_path: Path) -> None:
    write_sick(tmp_path)
    data = load("SICK-R", tmp_path)
    assert rows(data, "train") == [
        ("A cat", "Two cats sleep", 1.0),
        ("A dog", "A man sings", 4.75),
        ("A dog runs", "No dog runs", 3.25),
        ("A man sings", "A man hums", 4.5),
    ]
    assert data.splits["train"].labels.dtype == np.float64


def test_entailment_is_arranged_by_both_lengths_then_the_class(tmp_path: Path) -> None:
    write_sick(tmp_path)
    data = load("SICK-E", tmp_path)
    assert rows(data, "train") == [
        ("A dog", "A man sings", 1),
        ("A cat", "Two cats sleep", 1),
        ("A dog runs", "No dog runs", 0),
        ("A man sings", "A man hums", 2),
    ]
    assert rows(data, "test") == [("Two", "A cat", 1), ("One", "A dog", 2)]


def test_tasks_of_one_dataset_have_the_same_sentences(tmp_path: Path) -> None:
    write_sick(tmp_path)
    relatedness, entailment, cosine = (load(n, tmp_path) for n in ("SICK-R", "SICK-E", "SICK14"))
    assert relatedness.sentences == entailment.sentences == cosine.sentences
    assert relatedness.sentences[:5] == (
        "A man sings",
        "A man hums",
        "A dog runs",
        "No dog runs",
        "A dog",
    )


def test_cosine_uses_the_test_split_alone_and_counts_the_others(tmp_path: Path) -> None:
    write_sick(tmp_path)
    data = load("SICK14", tmp_path)
    assert list(data.splits) == ["test"]
    assert rows(data, "test") == [("Two", "A cat", 2.9), ("One", "A dog", 3.0)]
    assert data.left_out == {"pair of the train split": 4, "pair of the dev split": 1}


def test_paraphrases_have_quality_first_and_sentences_last(tmp_path: Path) -> None:
    train = '1\t10\t11\tHe said " yes .\tYes , he said .\n0\t12\t13\tRates rose .\tRain fell .\n'
    write_files(
        tmp_path,
        "MRPC",
        {"train": MRPC_HEADER + train, "test": MRPC_HEADER + "1\t14\t15\tUp .\tUp !\n"},
    )
    data = load("MRPC", tmp_path)
    assert rows(data, "train") == [
        ("Rates rose .", "Rain fell .", 0),
        ('He said " yes .', "Yes , he said .", 1),
    ]
    assert rows(data, "test") == [("Up .", "Up !", 1)]
    assert data.splits["train"].labels.dtype == np.int64


def write_benchmark(folder: Path) -> None:
    train = (
        'main-news\tMSRpar\t2012\t0001\t0.000\t" Quoted , she left .\tHe came .\tsource A\n'
        "main-captions\tMSRvid\t2012\t0002\t5.0\tA bird\tThe bird\n"
    )
    dev = "main-forums\tdeft\t2014\t0003\t2.4\tWhy ?\tHow ?\n"
    test = "main-forums\tdeft\t2014\t0004\t3.6\tGo on .\tGo !\n"
    write_files(folder, "STSBenchmark", {"train": train, "dev": dev, "test": test})


def test_the_benchmark_is_tab_separated_without_header_or_quoting(tmp_path: Path) -> None:
    write_benchmark(tmp_path)
    data = load("STS-B", tmp_path)
    assert rows(data, "train") == [
        ("A bird", "The bird", 5.0),
        ('" Quoted , she left .', "He came .", 0.0),
    ]
    assert rows(data, "dev") == [("Why ?", "How ?", 2.4)]


def write_sts(folder: Path, name: str, subsets: dict[str, tuple[str, str]]) -> None:
    files: dict[str, str | bytes] = {}
    for subset, (pairs, gold) in subsets.items():
        files |= {f"input.{subset}": pairs, f"gs.{subset}": gold}
    write_files(folder, name, files)


def sts13(folder: Path, name: str = "STS13") -> None:
    one = ("a hat\ta cap\n", "4.5\n")
    headlines = ("rates rise again\trates up\nan egg\ta hen\n\ta loaf\n", "3\n0.0\n1.000\n")
    subsets = {"FNWN": one, "headlines": headlines, "OnWN": ("to go\tto run\n", "2\n")}
    if name == "STS13-SMT":
        subsets["SMT"] = ("the house\ta house\n", "4\n")
    write_sts(folder, name, subsets)


def test_subsets_are_arranged_each_by_itself(tmp_path: Path) -> None:
    sts13(tmp_path)
    data = load("STS13", tmp_path)
    assert list(data.splits) == ["FNWN", "headlines", "OnWN"]
    assert rows(data, "headlines") == [
        (".", "a loaf", 1.0),
        ("an egg", "a hen", 0.0),
        ("rates rise again", "rates up", 3.0),
    ]
    assert data.sentences[:3] == ("a hat", "a cap", "rates rise again")
    assert data.replaced == {"empty sentence, given as a period": 1}


def test_a_pair_without_gold_score_is_counted_and_not_encoded(tmp_path: Path) -> None:
    sts13(tmp_path)
    write_sts(tmp_path, "STS13", {"FNWN": ("a\tb\nunscored\tpair\nc d\te\n", "1\n\n 2.5 \n")})
    data = load("STS13", tmp_path)
    assert rows(data, "FNWN") == [("a", "b", 1.0), ("c d", "e", 2.5)]
    assert "unscored" not in data.sentences
    assert data.left_out == {"pair without a gold score": 1}
