import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from tests.support.dependency_examples import treebank, write_conllu
from tests.support.random_dependency_parsers import SIZES as TINY
from treeviews.pipeline.parser_training.__main__ import main
from treeviews.pipeline.parser_training.dependency_training import (
    DependencyTraining,
    DependencyTrainingConfig,
)
from treeviews.pipeline.parser_training.pretrained_words import (
    extended_by_vectors,
    read_pretrained_vectors,
    with_plain_embedding,
)
from treeviews.pipeline.parsers.dependency_model import (
    DependencyDescription,
    DependencyVocabulary,
    Dropouts,
    build_network,
)
from treeviews.pipeline.parsers.parser_folder import ParserModel, save_model
from treeviews.pipeline.parsers.sentence_parser import load_parser

SIZES = TINY.changed(word_embedding=3)


def vocabulary() -> DependencyVocabulary:
    return DependencyVocabulary.build(treebank(), min_word_frequency=2)


def write_vectors(folder: Path, words: list[str], rows: list[list[float]]) -> Path:
    folder.mkdir()
    save_file({"vectors": np.array(rows, dtype=np.float16)}, folder / "vectors.safetensors")
    (folder / "words.json").write_text(json.dumps(words))
    return folder


def test_a_trained_parser_keeps_its_words_and_gains_those_of_the_vectors() -> None:
    torch.manual_seed(0)
    words = vocabulary()
    description = DependencyDescription(sizes=SIZES, vocabulary=words)
    model = ParserModel(build_network(description), description)
    table = model.network.word_embed.weight.detach()
    names = words.words[3:]  # all but the specials
    matrix = torch.randn(len(names), 5)
    matrix[:, 0] = table[3:, 0] - table[words.unknown_word_id, 0]  # one feature tells the first
    matrix = torch.cat((matrix, torch.eye(5)[:1]))

    extended = extended_by_vectors(model, [*names, "zebra"], matrix, Dropouts())

    assert extended.description.vocabulary.words == (*words.words, "zebra")
    gained = with_plain_embedding(extended.network).word_embed.weight
    torch.testing.assert_close(gained[:-1], table)
    assert float(gained[-1, 0] - table[words.unknown_word_id, 0]) == pytest.approx(1.0, abs=0.3)


def test_a_training_goes_on_from_a_parser(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_vectors(tmp_path / "vectors", ["zebra", "dog"], [[1, 2], [4, 5]])
    file = str(write_conllu(treebank(), tmp_path / "train.conllu"))
    arguments = ["--train", file, "--dev", file, "--num-epochs=1"]
    arguments += [f"--threads={torch.get_num_threads()}"]
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    assert main(["dependency", first, *arguments, "--lstm-hidden=8", "--word-embedding=3"]) == 0
    going_on = ["--initial", first, "--vectors", str(folder), *arguments]
    assert main(["dependency", second, *going_on]) == 0
    record = json.loads((tmp_path / "second/training.json").read_text())
    assert record["config"]["initial_parser"] == "first"
    words = json.loads((tmp_path / "second/parser.json").read_text())
    assert words["config"]["vocabulary"]["words"][-2:] == ["zebra", "dog"]
    load_parser(tmp_path / "second", "dependencies")
    capsys.readouterr()
    (folder / "words.json").write_text(json.dumps(["dog"]))
    assert main(["dependency", str(tmp_path / "third"), *going_on]) == 2
    assert "1 words but vectors of shape [2, 2]" in capsys.readouterr().err


def test_a_share_of_words_is_hidden_and_mostly_keeps_its_vector(tmp_path: Path) -> None:
    folder = write_vectors(tmp_path / "vectors", ["zebra", "dog"], [[1, 2, 3], [4, 5, 6]])
    file = write_conllu(treebank(), tmp_path / "train.conllu")
    description = DependencyDescription(sizes=SIZES, vocabulary=vocabulary())
    save_model(ParserModel(build_network(description), description), tmp_path / "first")
    config = DependencyTrainingConfig(
        train_files=(file,),
        dev_files=(file,),
        word_vectors=folder,
        sizes=SIZES,
        initial_parser=tmp_path / "first",
    )
    plain, hidden = (
        DependencyTraining(config.changed(unknown_word_alpha=alpha))
        .batch([0], np.random.default_rng(0))[0]
        .words[0]
        for alpha in (0.0, 1e9)
    )
    words = vocabulary().extended(["zebra", "dog"])
    assert hidden[0] == plain[0]  # the root is never hidden
    kept, gone = hidden == plain + len(words.words), hidden == words.unknown_word_id
    assert (kept | gone)[1:].all() and kept.any()


def test_the_most_frequent_words_are_read_in_their_own_or_most_frequent_spelling(
    tmp_path: Path,
) -> None:
    words = ["The", "Paris", "the", "PARIS", "dog"]
    folder = write_vectors(tmp_path / "vectors", words, [[float(row)] for row in range(5)])

    def read(most: int) -> dict[str, float]:
        names, matrix = read_pretrained_vectors(folder, most)
        return dict(zip(names, matrix[:, 0].tolist(), strict=True))

    assert read(0) == {"the": 2.0, "paris": 1.0, "dog": 4.0}
    assert read(2) == {"the": 0.0, "paris": 1.0}
