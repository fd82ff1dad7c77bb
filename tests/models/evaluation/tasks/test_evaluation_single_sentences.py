"""Loaders of single sentences: formats, encodings, SentEval's order, malformed lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np

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


SIX = "One .\tTwo .\tThree .\tFour .\tFive .\tSix ."


def test_items_of_several_sentences_have_a_column_each(tmp_path: Path) -> None:
    lines = (f"{split}\t{label}\t{SIX}\n" for split in ("tr", "va", "te") for label in "ba")
    write_files(tmp_path, "discourse_coherence", {"all": "".join(lines)})
    data = load("DC", tmp_path)
    assert data.class_names == ("a", "b")
    assert rows(data, "test") == [(*SIX.split("\t"), 0), (*SIX.split("\t"), 1)]
