"""Where each dataset is kept below SentEval's ``data`` folder, and who reads it.

Discourse coherence, which SentEval does not have, stands beside its probing tasks, so that all that
are derived from a corpus share their sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from models.evaluation.tasks.declarations import DISCOURSE
from models.evaluation.tasks.examples import Encoding, Examples, TextFile
from models.evaluation.tasks.readers import (
    file_roles,
    read_mrpc,
    read_polarity,
    read_probing_file,
    read_sick,
    read_sst_binary,
    read_sst_fine,
    read_sts,
    read_sts_benchmark,
    read_trec,
)
from models.evaluation.tasks.task import EvaluationTask
from pipeline.downloads.senteval_data import SENTEVAL_SETS

Loader = Callable[[EvaluationTask, Mapping[str, TextFile]], Examples]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The files of one dataset."""

    files: Mapping[str, str]
    """What a file is to the loader -> its path within the data folder."""
    load: Loader
    encoding: Encoding = "utf-8"


STS_SUBSETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
        "STS13": ("FNWN", "headlines", "OnWN"),
        "STS13-SMT": ("FNWN", "headlines", "OnWN", "SMT"),
        "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
        "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
        "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
    }
)
"""Subsets of each year in SentEval's order. STS13's SMT is licensed by the LDC and SentEval leaves
it out; where it is at hand it stands beside the others."""


def _sts(name: str) -> Dataset:
    folder = f"downstream/STS/{name.removesuffix('-SMT')}-en-test"
    roles = [role for subset in STS_SUBSETS[name] for role in file_roles(subset)]
    return Dataset({role: f"{folder}/STS.{role}.txt" for role in roles}, read_sts)


_PUBLISHED = {dataset.name: [file.path for file in dataset.files] for dataset in SENTEVAL_SETS}
_PUBLISHED["SUBJ"].reverse()  # is declared with the subjective half, here the negative one, first


def _published(
    name: str, load: Loader, roles: tuple[str, ...], encoding: Encoding = "utf-8"
) -> Dataset:
    """Returns a dataset whose files, in the order in which they are declared, have these roles."""
    return Dataset(dict(zip(roles, _PUBLISHED[name], strict=True)), load, encoding)


_SIDES = ("positive", "negative")
_TWO_PARTS = ("train", "test")
_THREE_PARTS = ("train", "dev", "test")

DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {
        **{
            name: _published(name, read_polarity, _SIDES, "latin-1")
            for name in ("MR", "CR", "SUBJ", "MPQA")
        },
        "SST2": _published("SST2", read_sst_binary, _THREE_PARTS),
        "SST5": _published("SST5", read_sst_fine, _THREE_PARTS),
        "TREC": _published("TREC", read_trec, _TWO_PARTS, "latin-1"),
        "MRPC": _published("MRPC", read_mrpc, _TWO_PARTS),
        "SICK": _published("SICK", read_sick, _THREE_PARTS),
        "STSBenchmark": _published("STSBenchmark", read_sts_benchmark, _THREE_PARTS),
        **{name: _sts(name) for name in STS_SUBSETS},
        **{
            name: _published(name, read_probing_file, ("all",))
            for name, paths in _PUBLISHED.items()
            if paths[0].startswith("probing/")
        },
        **{
            task.dataset: Dataset({"all": f"probing/{task.dataset}.txt"}, read_probing_file)
            for task in DISCOURSE
        },
    }
)
"""Declared dataset, as ``EvaluationTask.dataset`` names it -> its files."""


def dataset_named(name: str) -> Dataset:
    """Returns a declared dataset.

    Args:
        name: as ``EvaluationTask.dataset`` has it.

    Raises:
        ValueError: no such dataset; lists the known ones.
    """
    if name not in DATASETS:
        raise ValueError(f"no dataset {name!r}; known are {', '.join(DATASETS)}")
    return DATASETS[name]
