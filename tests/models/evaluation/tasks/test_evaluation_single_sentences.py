"""Loaders of single sentences: formats, encodings, SentEval's order, malformed lines."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from tests.support.senteval_files import load, rows, write_files


def write_reviews(folder: Path, positive: str | bytes, negative: str | bytes) -> None:
    write_files(folder, "MR", {"positive": positive, "negative": negative})


def test_positive_is_class_one_and_order_is_by_length_then_class(tmp_path: Path) -> None:
    write_reviews(tmp_path, "a warm film .\nsplendid\nwitty\n", "a cold film .\ndull\n")
    data = load("MR", tmp_path)
    assert rows(data, "all") == [
        ("dull", 0),
        ("splendid", 1),
        ("witty", 1),
        ("a cold film .", 0),
        ("a warm film .", 1),
    ]
    assert data.splits["all"].labels.dtype == np.int64
    assert data.class_names == ("negative", "positive")


def test_objective_is_class_one(tmp_path: Path) -> None:
    write_files(tmp_path, "SUBJ", {"positive": "he leaves town", "negative": "it drags"})
    assert rows(load("SUBJ", tmp_path), "all") == [("it drags", 0), ("he leaves town", 1)]


def test_sentences_are_distinct_ones_in_order_of_first_appearance(tmp_path: Path) -> None:
    write_reviews(tmp_path, "a long fine film\nfine\nso  so\n", "fine\nso so\nbad\n")
    data = load("MR", tmp_path)
    assert data.sentences == ("a long fine film", "fine", "so so", "bad")
    assert rows(data, "all")[:3] == [("fine", 0), ("bad", 0), ("fine", 1)]


def test_an_empty_line_is_kept_as_a_period_and_sorted_by_its_own_length(tmp_path: Path) -> None:
    write_files(tmp_path, "MPQA", {"positive": "very fond\n\n", "negative": "angry\n"})
    data = load("MPQA", tmp_path)
    assert rows(data, "all") == [(".", 1), ("angry", 0), ("very fond", 1)]
    assert data.replaced == {"empty sentence, given as a period": 1}
    assert data.left_out == {}


def test_a_line_ends_at_line_feeds_only(tmp_path: Path) -> None:
    # In latin-1, 0x85 is a control character (an ellipsis in Windows' encoding) at which
    # str.splitlines would end the line; 0x0c and 0x1c are others.
    write_reviews(tmp_path, b"slow\x85 but\x0cgood\x1c\r\nwarm\rkind", "dull\n")
    assert rows(load("MR", tmp_path), "all") == [
        ("dull", 0),
        ("warm", 1),
        ("kind", 1),
        ("slow but good", 1),
    ]


def test_latin_1_is_read_as_such(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        "TREC",
        {"train": b"LOC:city Where is Malm\xf6 ?\n", "test": b"NUM:date When ?\n"},
    )
    assert rows(load("TREC", tmp_path), "train") == [("Where is Malmö ?", 4)]


def test_questions_have_the_coarse_class(tmp_path: Path) -> None:
    train = "NUM:dist How far is it ?\nABBR:exp What is NB ?\nDESC:def Why : why ?\n"
    write_files(tmp_path, "TREC", {"train": train, "test": "HUM:ind Who sings ?\n"})
    data = load("TREC", tmp_path)
    assert rows(data, "train") == [
        ("What is NB ?", 0),
        ("Why : why ?", 1),
        ("How far is it ?", 5),
    ]
    assert rows(data, "test") == [("Who sings ?", 3)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("HUM ind Who sings ?", "not of the form 'COARSE:fine question'"),
        ("HUM:ind", "not of the form 'COARSE:fine question'"),
        ("WHO:ind Who sings ?", "'WHO' is none of the classes ABBR, DESC, ENTY, HUM, LOC, NUM"),
    ],
)
def test_a_malformed_question_is_named(tmp_path: Path, line: str, problem: str) -> None:
    write_files(tmp_path, "TREC", {"train": f"NUM:date When ?\n{line}\n", "test": "x"})
    with pytest.raises(ValueError, match=rf"train_5500\.label, line 2: {problem}; restore"):
        load("TREC", tmp_path)


def test_binary_sentiment_is_a_table_of_sentence_and_class(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        "SST2",
        {"train": "a joy \t1\nno fun\t0\n", "dev": "meh\t0", "test": "très bon\t1\n"},
    )
    data = load("SST2", tmp_path)
    assert rows(data, "train") == [("no fun", 0), ("a joy", 1)]
    assert rows(data, "dev") == [("meh", 0)]
    assert rows(data, "test") == [("très bon", 1)]


def test_graded_sentiment_is_class_then_sentence(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        "SST5",
        {"train": "4 a joy\n0 a bore\n", "dev": "2 it exists\n", "test": "3 fine\n"},
    )
    data = load("SST5", tmp_path)
    assert rows(data, "train") == [("a bore", 0), ("a joy", 4)]
    assert data.class_names[2] == "neutral"


@pytest.mark.parametrize(
    ("name", "line", "problem"),
    [
        ("SST2", "a joy 1", "1 tab-separated columns where 2 are needed"),
        ("SST2", "a joy\t2", "'2' is none of the classes 0, 1"),
        ("SST2", "a joy\tgood", "'good' is none of the classes 0, 1"),
        ("SST5", "4", "not of the form 'class sentence'"),
        ("SST5", "5 a joy", "'5' is none of the classes 0, 1, 2, 3, 4"),
    ],
)
def test_a_malformed_review_is_named(tmp_path: Path, name: str, line: str, problem: str) -> None:
    write_files(tmp_path, name, {"train": line, "dev": line, "test": line})
    with pytest.raises(ValueError, match=rf"sentiment-train, line 1: {problem}; restore"):
        load(name, tmp_path)


def test_probing_classes_are_in_alphabetical_order_of_the_training_split(tmp_path: Path) -> None:
    text = "tr\t5\tone two\ntr\t12\tthree\ntr\t10\tfour\nva\t5\tfive\nte\t12\tsix seven\n"
    write_files(tmp_path, "tree_depth", {"all": text})
    data = load("TreeDepth", tmp_path)
    assert data.class_names == ("10", "12", "5")
    assert rows(data, "train") == [("four", 0), ("three", 1), ("one two", 2)]
    assert rows(data, "dev") == [("five", 2)]
    assert rows(data, "test") == [("six seven", 1)]


def test_the_sentence_is_the_last_column_of_a_probing_line(tmp_path: Path) -> None:
    text = "tr\tPRES\tsings\tShe sings .\nva\tPRES\tx\tHe is .\nte\tPRES\tx\tIt is .\n"
    write_files(tmp_path, "past_present", {"all": text})
    assert load("Tense", tmp_path).sentences == ("She sings .", "He is .", "It is .")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("tr\tO\t", "2 tab-separated columns where 3 are needed"),
        ("dev\tO\tA sentence .", "the split 'dev' is none of tr, va, te"),
        ("va\tI\tA sentence .", "the training split has no class 'I'"),
    ],
)
def test_a_malformed_probing_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    write_files(tmp_path, "bigram_shift", {"all": f"tr\tO\tA word .\n{line}\n"})
    with pytest.raises(ValueError, match=rf"bigram_shift\.txt, line 2: {problem}; restore"):
        load("BShift", tmp_path)


def test_a_split_without_items_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, "bigram_shift", {"all": "tr\tO\tA word .\nva\tO\tTwo .\n"})
    with pytest.raises(ValueError, match=r"BShift: the files in .*probing hold no item of test"):
        load("BShift", tmp_path)


def test_bytes_of_another_encoding_are_refused_with_their_line(tmp_path: Path) -> None:
    write_files(tmp_path, "SST2", {"train": b"a\t1\nMalm\xf6\t1\n", "dev": "b\t0", "test": "c\t0"})
    with pytest.raises(ValueError, match=r"sentiment-train, line 2: not utf-8; convert"):
        load("SST2", tmp_path)


def test_digests_of_the_files_are_kept_by_path(tmp_path: Path) -> None:
    write_reviews(tmp_path, "good\n", "bad\n")
    assert load("MR", tmp_path).files == {
        "downstream/MR/rt-polarity.pos": hashlib.sha256(b"good\n").hexdigest(),
        "downstream/MR/rt-polarity.neg": hashlib.sha256(b"bad\n").hexdigest(),
    }


SIX = "One .\tTwo .\tThree .\tFour .\tFive .\tSix ."


def test_items_of_several_sentences_have_a_column_each(tmp_path: Path) -> None:
    lines = (f"{split}\t{label}\t{SIX}\n" for split in ("tr", "va", "te") for label in "ba")
    write_files(tmp_path, "discourse_coherence", {"all": "".join(lines)})
    data = load("DC", tmp_path)
    assert data.class_names == ("a", "b")
    assert rows(data, "test") == [(*SIX.split("\t"), 0), (*SIX.split("\t"), 1)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("tr\ta\tOne .", "3 tab-separated columns where 8 are needed"),
        (f"tr\ta\t{SIX}\tSeven .", "no split, class and 6 sentences that have words"),
        (f"tr\ta\t \t{SIX.partition(chr(9))[2]}", "no split, class and 6 sentences that have"),
    ],
)
def test_a_line_with_other_sentences_than_its_task_is_refused(
    tmp_path: Path, line: str, problem: str
) -> None:
    write_files(tmp_path, "discourse_coherence", {"all": f"tr\ta\t{SIX}\n{line}\n"})
    with pytest.raises(ValueError, match=rf"coherence\.txt, line 2: {problem}"):
        load("DC", tmp_path)
