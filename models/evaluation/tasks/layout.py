"""Where SentEval keeps each dataset below its ``data`` folder, and who reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

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


def _polarity(folder: str, positive: str, negative: str) -> Dataset:
    files = {"positive": positive, "negative": negative}
    paths = {role: f"downstream/{folder}/{name}" for role, name in files.items()}
    return Dataset(paths, read_polarity, "latin-1")


def _splits(
    folder: str,
    load: Loader,
    encoding: Encoding = "utf-8",
    *,
    train: str,
    test: str,
    dev: str | None = None,
) -> Dataset:
    names = {"train": train, "dev": dev, "test": test}
    paths = {split: f"downstream/{folder}/{name}" for split, name in names.items() if name}
    return Dataset(paths, load, encoding)


def _sts(name: str) -> Dataset:
    folder = f"downstream/STS/{name.removesuffix('-SMT')}-en-test"
    roles = [role for subset in STS_SUBSETS[name] for role in file_roles(subset)]
    return Dataset({role: f"{folder}/STS.{role}.txt" for role in roles}, read_sts)


def _sst(folder: str, load: Loader) -> Dataset:
    return _splits(
        f"SST/{folder}",
        load,
        train="sentiment-train",
        dev="sentiment-dev",
        test="sentiment-test",
    )


_PROBING_NAMES = (
    "sentence_length",
    "word_content",
    "tree_depth",
    "top_constituents",
    "bigram_shift",
    "past_present",
    "subj_number",
    "obj_number",
    "odd_man_out",
    "coordination_inversion",
)

DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {
        "MR": _polarity("MR", "rt-polarity.pos", "rt-polarity.neg"),
        "CR": _polarity("CR", "custrev.pos", "custrev.neg"),
        "SUBJ": _polarity("SUBJ", "subj.objective", "subj.subjective"),
        "MPQA": _polarity("MPQA", "mpqa.pos", "mpqa.neg"),
        "SST2": _sst("binary", read_sst_binary),
        "SST5": _sst("fine", read_sst_fine),
        "TREC": _splits(
            "TREC", read_trec, "latin-1", train="train_5500.label", test="TREC_10.label"
        ),
        "MRPC": _splits(
            "MRPC",
            read_mrpc,
            train="msr_paraphrase_train.txt",
            test="msr_paraphrase_test.txt",
        ),
        "SICK": _splits(
            "SICK",
            read_sick,
            train="SICK_train.txt",
            dev="SICK_trial.txt",
            test="SICK_test_annotated.txt",
        ),
        "STSBenchmark": _splits(
            "STS/STSBenchmark",
            read_sts_benchmark,
            train="sts-train.csv",
            dev="sts-dev.csv",
            test="sts-test.csv",
        ),
        **{name: _sts(name) for name in STS_SUBSETS},
        **{
            name: Dataset({"all": f"probing/{name}.txt"}, read_probing_file)
            for name in _PROBING_NAMES
        },
    }
)
"""Dataset, as ``EvaluationTask.dataset`` names it -> its files."""
