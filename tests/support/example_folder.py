"""A working folder in which the documents' examples find what they name.

Where a document writes ``data/work/models/DEP-CONST-…``, the folder has one whose name begins so.
Words in capitals (MODEL, DIR, CORPUS …) are folders of these names. A Python example that begins
with ``# NAME.py`` is that file.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import zstandard

from tests.support.document_examples import all_examples
from tests.support.download_server import serving
from tests.support.parsed_corpora import stories, write_corpus
from tests.support.repository import REPOSITORY
from tests.support.saved_models import random_model
from tests.support.senteval_files import write_files
from tests.support.stories import story, write_stories
from tests.support.tiny_senteval import sentence, write_tiny_senteval
from treeviews.models import embed_shard
from treeviews.models.config.training_presets import preset
from treeviews.models.encoding.corpus_embeddings import EmbedShardJob
from treeviews.models.model.model_description import ParserRecord
from treeviews.models.model.model_folder import save_model
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.base.bundled import BUNDLED_MODELS, BUNDLED_PARSERS, BUNDLED_VECTORS
from treeviews.pipeline.downloads.download import file_name_of
from treeviews.pipeline.downloads.published_vectors import fetch_vectors, vectors_named
from treeviews.pipeline.parsers.parser_files import checksum_of_parser_folder
from treeviews.pipeline.shards.manifests import write_dataset_manifest
from treeviews.pipeline.vectors.word_counts import VocabularyConfig, count_shard, merge_counts
from treeviews.tasks import DownloadVectors

DIGEST = "0123456789"
CONLLU = "\n".join(
    f"{place}\t{word}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t_"
    for place, (word, head, deprel) in enumerate(
        [("The", 2, "det"), ("cat", 3, "nsubj"), ("sat", 0, "root"), (".", 3, "punct")], 1
    )
)
BRACKETS = "(S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))"
PAIRED = (("rain falls", 4.5), ("the sun shines", 2.0), ("no", 0.0))
"""Second sentences of graded pairs, with their grades."""
PROBING = ("sentence_length", "word_content", "tree_depth", "top_constituents", "past_present")
FUNCTION = '''"""A function that turns sentences into vectors."""

import numpy as np


def function(sentences):
    """Counts letters."""
    letters = "abcdefghijklmnoprstuvw"
    return np.array([[s.lower().count(c) for c in letters] for s in sentences], "f4")
'''


def write_example_folder(folder: Path) -> Path:
    """Fills a working folder; its ``home`` is the user's own."""
    for name in ("models", "parsers", "vectors"):
        (folder / "data").mkdir(parents=True, exist_ok=True)
        (folder / "data" / name).symlink_to(REPOSITORY / "data" / name)
    _write_text(folder)
    _write_models(folder)
    _write_words(folder)
    _write_evaluation_data(folder)
    corpus = folder / f"data/work/corpora/python-docs-{DIGEST}"
    write_corpus(corpus, stories(12), says_what_was_parsed=True)
    for stage in ("dependencies", "constituents"):
        (corpus / stage).rename(corpus / f"{stage}-{DIGEST}")
    _embed(corpus)
    corpus.with_name(f"files-{DIGEST}").symlink_to(corpus)
    (folder / "CORPUS").symlink_to(corpus)
    for name in ("LARGE", "BOTH"):
        shutil.copytree(corpus, folder / name)
    parse = folder / "BOTH" / f"dependencies-{DIGEST}"
    shutil.copytree(parse, parse.with_name(f"dependencies-small-{DIGEST}"))
    own = folder / f"data/work/parsers/dependency-own-{DIGEST}"
    own.parent.mkdir()
    own.symlink_to(BUNDLED_PARSERS["dependencies"])
    (folder / "my.supar").write_bytes(b"a checkpoint")
    for example in all_examples():
        if example.language == "python" and (name := re.match(r"# (\w+\.py)\n", example.text)):
            (folder / name[1]).write_text(example.text, encoding="utf-8")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "package" / "module.py").write_text(FUNCTION, encoding="utf-8")
    return folder


def _embed(corpus: Path) -> None:
    folder = corpus / f"embeddings-english-{DIGEST}"
    job = EmbedShardJob(encoder="english", sentences=corpus / "sentences", output=folder, number=0)
    embed_shard.execute(job, lambda *_: None)
    write_dataset_manifest(folder, "embeddings", config={})


def _write_text(folder: Path) -> None:
    write_stories(folder / "my-texts", num_documents=4, num_sentences=10)
    (folder / "text").symlink_to("my-texts")
    (folder / "a.txt.gz").write_bytes(gzip.compress(story(1, 10).encode()))
    line = '{"text": "The cat sat. It slept."}\n'
    (folder / "b.jsonl.zst").write_bytes(zstandard.compress(line.encode()))
    lines = [f"The old dog saw {number} boats.\n" for number in range(5)]
    (folder / "sentences.txt").write_text("".join(lines), encoding="utf-8")
    for name in ("train", "dev"):
        (folder / f"{name}.conllu").write_text(CONLLU + "\n\n", encoding="utf-8")
        (folder / f"{name}.mrg").write_text(BRACKETS + "\n", encoding="utf-8")


def _write_models(folder: Path) -> None:
    models = folder / "data" / "work" / "models"
    _write_model(models / f"DEP-CONST-{DIGEST}")
    _write_model(models / f"SEQ-{DIGEST}", views=("SEQ",), objective="generative")
    _write_model(models / f"LIN-{DIGEST}", views=("LIN",), objective="discriminative")
    words = {"word_vectors": "trained", "trained_words": 500}
    _write_model(models / f"DEP-SEQ-{DIGEST}", seed=1, views=("DEP", "SEQ"), **words)
    (models / f"BOW-BOW-{DIGEST}").symlink_to(BUNDLED_MODELS["english"])
    (folder / "MODEL").symlink_to(models / f"SEQ-{DIGEST}")
    (folder / "OTHER").symlink_to(models / f"LIN-{DIGEST}")
    (folder / "VECTORS").symlink_to(BUNDLED_VECTORS)


def _write_words(folder: Path) -> None:
    """Writes an archive of word vectors as a download leaves it, and the vocabulary of a corpus."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("glove.840B.300d.txt", "the 0.5 1\ncat 0.25 2\n")
    download = DownloadVectors(name="glove-840b", work_folder=folder / "data" / "work")
    declared = vectors_named(download.name)
    with serving({file_name_of(declared.url): packed.getvalue()}) as server:
        fetch_vectors(declared, download.folder, None, mirror=server.address)
    sentences = write_corpus(folder / "counted", stories(2)).sentences
    count_shard(sentences, 0, folder / "counts")
    vocabulary = folder / f"data/work/vocabularies/files-{DIGEST}"
    merge_counts(folder / "counts", 1, VocabularyConfig(), vocabulary)


def _write_model(folder: Path, *, seed: int = 0, **changes: Any) -> None:
    """Writes a narrow model with untrained weights that reads by the bundled parsers.

    With a seed that is not that of its configuration its words are none that training has left.
    """
    words = load_word_vectors(BUNDLED_VECTORS)
    model = random_model(preset("laptop", **{"hidden_size": 6, **changes}), words, seed)
    parsers = {
        stage: ParserRecord(
            name=path.name, checksum=checksum_of_parser_folder(path), path=path
        ).to_dict()
        for stage, path in BUNDLED_PARSERS.items()
    }
    vectors = {"path": str(BUNDLED_VECTORS.absolute()), "checksum": words.checksum}
    folder.mkdir(parents=True)
    save_model(folder, model, {"vectors": vectors, "parsers": parsers})


def _write_evaluation_data(folder: Path) -> None:
    data = write_tiny_senteval(folder / "home" / "SentEval" / "data")
    (folder / "DIR").symlink_to(data)
    (folder / "senteval").mkdir()
    (folder / "senteval" / "data").symlink_to(data)
    (folder / "mteb" / "STSBenchmark").mkdir(parents=True)
    pairs = [{"sentence1": "it rains", "sentence2": two, "score": score} for two, score in PAIRED]
    lines = "".join(f"{json.dumps(pair)}\n" for pair in pairs)
    (folder / "mteb" / "STSBenchmark" / "test.jsonl").write_text(lines, encoding="utf-8")
    probing = folder / f"data/work/probing/python-docs-{DIGEST}/senteval"
    for seed, name in enumerate(PROBING):
        write_files(probing, name, {"all": _probing_file(seed)})


def _probing_file(seed: int) -> str:
    choice = random.Random(seed).choice
    lines = [
        f"{split}\t{choice('ab')}\t{sentence(number)}"
        for split, count in (("tr", 40), ("va", 20), ("te", 20))
        for number in range(count)
    ]
    return "\n".join(lines) + "\n"
