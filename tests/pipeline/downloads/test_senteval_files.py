"""The declaration of SentEval's data."""

from __future__ import annotations

import re

import pytest

from models.evaluation.task_registry import DATASETS as LAYOUT
from models.evaluation.task_registry import DISCOURSE
from pipeline.downloads.evaluation_data import SENTEVAL_SETS, datasets_named

# The first is licensed by the LDC, never part of SentEval; that on discourse is derived.
WITHOUT_A_SOURCE = {"STS13-SMT", *(task.dataset for task in DISCOURSE)}


def test_every_file_that_a_task_reads_is_declared():
    declared = {dataset.name: {file.path for file in dataset.files} for dataset in SENTEVAL_SETS}
    read = {
        name: set(dataset.files.values())
        for name, dataset in LAYOUT.items()
        if name not in WITHOUT_A_SOURCE
    }
    assert declared == read


def test_digests_are_sha256_and_addresses_are_http():
    downloads = {file.download for dataset in SENTEVAL_SETS for file in dataset.files}
    assert len({download.name for download in downloads}) == len(downloads) == 11
    assert all(re.match("https://", a) for download in downloads for a in download.addresses)
    for dataset in SENTEVAL_SETS:
        digests = [file.sha256 for file in dataset.files if file.sha256]
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
        assert dataset.licence


def test_sets_are_chosen_by_name_in_either_case():
    assert [dataset.name for dataset in datasets_named("sts14, mr")] == ["MR", "STS14"]
    assert datasets_named("all") == SENTEVAL_SETS


@pytest.mark.parametrize("names", ["MR,MRS", "", " , "])
def test_an_unknown_set_is_an_error_that_lists_the_known(names):
    with pytest.raises(ValueError, match=r"give 'all' or some of MR, CR, .*coordination_inversion"):
        datasets_named(names)
