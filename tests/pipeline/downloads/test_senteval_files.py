"""The declaration of SentEval's data, and the steps that make its files."""

from __future__ import annotations

import re

import pytest

from models.evaluation.tasks.declarations import DISCOURSE
from models.evaluation.tasks.layout import DATASETS as LAYOUT
from pipeline.downloads.evaluation_data import SENTEVAL_SETS, datasets_named
from pipeline.downloads.evaluation_data.recipes import (
    sick_pairs,
    similarity_benchmark,
    similarity_pairs,
    treebank_tokens,
    without_quotes,
)

WORDS = {"SimLex-999", "WordSim-353", "WordSim-S", "WordSim-R"}  # brought by the user
# The first is licensed by the LDC, never part of SentEval; that on discourse is derived.
WITHOUT_A_SOURCE = {"STS13-SMT", *WORDS, *(task.dataset for task in DISCOURSE)}


def test_every_file_that_a_task_reads_is_declared():
    declared = {dataset.name: {file.path for file in dataset.files} for dataset in SENTEVAL_SETS}
    read = {
        name: set(dataset.files.values())
        for name, dataset in LAYOUT.items()
        if name not in WITHOUT_A_SOURCE
    }
    assert declared == read


def test_every_way_makes_every_file():
    for dataset in SENTEVAL_SETS:
        for way in dataset.ways:
            made = [making.path for making in way.makings]
            assert made == [file.path for file in dataset.files], (dataset.name, way.name)


def test_downloads_of_one_name_are_one_download():
    downloads = {making.download for d in SENTEVAL_SETS for way in d.ways for making in way.makings}
    names = [download.name for download in downloads]
    assert len(names) == len(set(names))


def test_digests_are_sha256_and_addresses_are_http():
    for dataset in SENTEVAL_SETS:
        digests = {file.sha256 for file in dataset.files}
        for making in (making for way in dataset.ways for making in way.makings):
            digests.add(making.download.sha256)
            assert making.download.addresses
            assert all(re.match("https?://", a) for a in making.download.addresses)
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests if digest)
        assert dataset.licence


def test_sets_are_chosen_by_name_in_either_case():
    assert [dataset.name for dataset in datasets_named("sts14, mr")] == ["MR", "STS14"]
    assert datasets_named("all") == SENTEVAL_SETS


@pytest.mark.parametrize("names", ["MR,MRS", "", " , "])
def test_an_unknown_set_is_an_error_that_lists_the_known(names):
    with pytest.raises(ValueError, match=r"give 'all' or some of MR, CR, .*coordination_inversion"):
        datasets_named(names)


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ('"hello," she said.', "`` hello , '' she said . "),
        ("it's n't (well) done?", "it 's n't ( well ) done ? "),
        ("the end... or not", "the end ... or not "),
        ("mr. smith didn't pay $5.", "mr. smith did n't pay $ 5 . "),
        ("I CANNOT but we'll gonna cannot", "I CANNOT but we 'll gon na can not "),
        ("the dogs' bone", "the dogs ' bone "),
        ("'twas this--that", "'t was this -- that "),
        ("  spaced   out  ", "spaced out "),
        ("", ""),
    ],
)
def test_treebank_tokens_are_those_of_the_sed_script(raw, tokens):
    assert treebank_tokens(f"{raw}\n".encode()) == f"{tokens}\n".encode()


def test_bytes_beyond_ascii_are_spelt_as_cat_does():
    assert treebank_tokens(b"caf\xe9 \x01\x7f\x80\n") == b"cafM-i ^A^ ? M-^ @ \n"


def test_the_end_of_the_last_line_is_kept_as_it_is():
    assert treebank_tokens(b"a.\nb.") == b"a . \nb . "
    assert treebank_tokens(b"") == b""


def test_questions_lose_their_quotes():
    assert without_quotes(b"HUM:ind Who 's `` X '' ?\n\xf0") == b"HUM:ind Who s  X  ?\n\xf0"


def test_similarity_pairs_are_two_columns_tokenized_in_lower_case():
    raw = "A man isn't here.\tNobody’s  there!\tsource\r\nÉté\tx\n"
    assert similarity_pairs(raw.encode()).decode() == (
        "a man is n't here .\tnobody ’s there !\nété\tx\n"
    )


def test_the_benchmark_keeps_its_first_five_columns():
    raw = b"main-news\tMSRpar\t2012test\t0001\t5.000\tA dog.\tThe Dog.\tlicence\n"
    assert similarity_benchmark(raw) == (
        b"main-news\tMSRpar\t2012test\t0001\t5.000\ta dog .\tthe dog .\n"
    )


def test_sick_keeps_its_header_and_its_case():
    raw = b"pair_ID\tsentence_A\tsentence_B\tr\te\r\n1\tA dog.\tTwo Dogs.\t4.5\tNEUTRAL\r\n"
    assert sick_pairs(raw) == (
        b"pair_ID\tsentence_A\tsentence_B\tr\te\n1\tA dog .\tTwo Dogs .\t4.5\tNEUTRAL\n"
    )


def test_a_row_with_too_few_fields_is_named():
    with pytest.raises(ValueError, match="line 2 has 1 fields, expected 2"):
        similarity_pairs(b"a\tb\nc\n")
