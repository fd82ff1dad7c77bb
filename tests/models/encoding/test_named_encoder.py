"""Encoders by name, and what is said of a user's own that are none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from models.config.training_presets import preset
from models.encoding.encoder_interface import Encoder, ViewEncoder
from models.encoding.named_encoder import (
    JoinedEncoder,
    resolve_encoder,
    words_beside,
)
from models.encoding.own_encoder import (
    CallableEncoder,
    OwnEncoderError,
    kept_checksum,
    source_checksum,
)
from models.encoding.reading_encoder import EncoderSettings
from models.encoding.text_encoder import load_text_encoder
from pipeline.base.bundled import shipped_parsers
from pipeline.base.digest import sha256_of_file
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model, write_multi_view_model

SENTENCES = ["the cat sees the dog", "the mouse", "nobody knows"]

OWN = """
import numpy as np

def lengths(sentences):
    return np.array([[len(s), 1.0] for s in sentences])

class Model:
    def encode(self, sentences):
        return [[float(len(s))] for s in sentences]

def make():
    return Model()

model = Model()
number = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_encoders.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vectors(tmp_path_factory.mktemp("named") / "vectors", size=4)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "width"), [("lengths", 2), ("Model", 1), ("make", 1), ("model", 1)]
)
def test_a_users_own_encoder_is_found_in_each_of_its_forms(name: str, width: int) -> None:
    embeddings = resolve_encoder(f"own_encoders:{name}").encode(SENTENCES)

    assert embeddings.shape == (3, width) and embeddings.dtype == np.float32
    assert embeddings[:, 0].tolist() == [len(s) for s in SENTENCES]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("own_encoders:nothing", "nothing called 'nothing' there, only .*lengths"),
        ("own_encoders:number", "int is no encoder; give a function"),
        ("absent_module:f", "absent_module cannot be imported .* PYTHONPATH"),
        (":f", "give package.module:name"),
        ("trained-1", "only a run of Luigi knows what it trained; give the folder of the model"),
        ("own_encoders", "no such folder and no known name; give trained"),
    ],
)
def test_what_is_no_encoder_is_named_with_a_remedy(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve_encoder(spec)


def test_sentences_are_given_in_batches_and_in_order() -> None:
    sizes = []

    def encode(sentences: list[str]) -> torch.Tensor:
        sizes.append(len(sentences))
        return torch.tensor([[float(s)] for s in sentences], requires_grad=True)

    found = CallableEncoder(encode, "mine", batch_size=3).encode([str(i) for i in range(7)])

    assert sizes == [3, 3, 1]
    assert found[:, 0].tolist() == list(range(7))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones((2, 3)), r"mine: gave shape \[2, 3\] for 3 sentences; give \[3, d\]"),
        (np.ones(3), r"gave shape \[3\]"),
        (np.ones((3, 0)), r"gave shape \[3, 0\]"),
        (np.array([[1.0], [np.nan], [1.0]]), "embedding of sentence 1 is not finite: 'the mouse'"),
        (None, "mine: gave .*"),
        ([[1.0], [1.0, 2.0], [1.0]], "gave list, no matrix of numbers"),
        ("text", "gave str, no matrix of numbers"),
    ],
)
def test_an_answer_that_is_no_embedding_is_refused(answer: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CallableEncoder(lambda _: answer, "mine").encode(SENTENCES)


def test_an_exception_of_the_users_function_is_named_with_its_batch() -> None:
    def fails_late(sentences: list[str]) -> list[list[float]]:
        if "nobody knows" in sentences:
            raise RuntimeError("no such word")
        return [[1.0] for _ in sentences]

    encoder = CallableEncoder(fails_late, "mine:late", batch_size=2)
    with pytest.raises(
        OwnEncoderError,
        match=r"mine:late: raised RuntimeError: no such word for sentences 2 to 2 .*'nobody k",
    ) as caught:
        encoder.encode(SENTENCES)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("encode = 1 / 0", "importing failing_own raised ZeroDivisionError: division by zero"),
        ("def encode():\n    raise MemoryError", "making it raised MemoryError$"),
    ],
)
def test_an_exception_on_the_way_to_the_users_function_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    (tmp_path / "failing_own.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "failing_own", raising=False)
    with pytest.raises(OwnEncoderError, match=f"failing_own:encode: {message}"):
        resolve_encoder("failing_own:encode")


def test_batches_of_different_widths_are_refused() -> None:
    widths = iter([2, 3])
    encoder = CallableEncoder(lambda s: np.ones((len(s), next(widths))), "mine", batch_size=2)

    with pytest.raises(ValueError, match="3 numbers a sentence from sentence 2 on, 2 before"):
        encoder.encode(SENTENCES)


def test_the_bag_of_words_pools_word_vectors(vectors: Path) -> None:
    encoder = resolve_encoder("bag_of_words", EncoderSettings(vectors=vectors))

    assert isinstance(encoder, Encoder) and isinstance(encoder, ViewEncoder)
    views = encoder.encode_views(["the cat", "cat unheard"], ["mean", "max", "min"])
    alone = encoder.encode(["the", "cat"])
    both = {"mean": alone.mean(0), "max": alone.max(0), "min": alone.min(0)}
    half = {"mean": alone[1] / 2, "max": alone[1].clip(min=0), "min": alone[1].clip(max=0)}
    for pooling in ("mean", "max", "min"):
        expected = np.stack([both[pooling], half[pooling]])
        np.testing.assert_allclose(views[f"words.{pooling}"], expected, atol=1e-6)


def test_random_encoders_are_a_function_of_the_seed(vectors: Path) -> None:
    config = preset("laptop", views=("SEQ", "LIN"), hidden_size=3)
    settings = EncoderSettings(vectors=vectors, config=config)

    first, again, other = (resolve_encoder(f"random-{seed}", settings) for seed in (0, 0, 1))

    np.testing.assert_array_equal(first.encode(SENTENCES), again.encode(SENTENCES))
    assert not np.allclose(first.encode(SENTENCES), other.encode(SENTENCES))
    assert isinstance(first, ViewEncoder)
    assert isinstance(again, ViewEncoder) and isinstance(other, ViewEncoder)
    assert first.digest == again.digest != other.digest


def test_a_users_own_encoder_is_found_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a command, for which Python does not look there."""
    (tmp_path / "encoder_of_here.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", ".")])
    monkeypatch.chdir(tmp_path)
    assert resolve_encoder("encoder_of_here:lengths").encode(SENTENCES).shape == (3, 2)


def test_neither_can_a_package_that_a_users_own_encoder_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.py").write_text(OWN)
    (tmp_path / "encoder_with_net.py").write_text("from models.net import lengths")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="models is Treeviews' own package: give yours another"):
        resolve_encoder("encoder_with_net:lengths")


def test_a_model_is_joined_with_its_own_words(vectors: Path, tmp_path: Path) -> None:
    config = preset("laptop", views=("SEQ", "LIN"), hidden_size=3)
    settings = EncoderSettings(vectors=vectors, config=config)
    encoder = resolve_encoder("random-0", settings)
    others = settings.changed(vectors=write_vectors(tmp_path / "others", size=7))

    assert words_beside(encoder, others).encode(SENTENCES).shape == (3, 4)
    function = CallableEncoder(lambda sentences: [[1.0]] * len(sentences), "mine")
    assert words_beside(function, others).encode(SENTENCES).shape == (3, 7)


def test_views_of_models_are_joined(vectors: Path, tmp_path: Path) -> None:
    a = write_multi_view_model(tmp_path / "a", vectors)
    b = write_model(tmp_path / "b", vectors, seed=1, views=("SEQ", "LIN"))
    settings = EncoderSettings(vectors=vectors)

    joined = resolve_encoder(f"{a}@INV+{b}@LIN+{a}@0-SEQ", settings)

    assert isinstance(joined, JoinedEncoder) and len(joined.encoders) == 2
    found = joined.encode_views(SENTENCES, ["mean"])
    parts = [load_text_encoder(folder) for folder in (a, b)]
    own = [part.encode_views(SENTENCES, ["mean"]) for part in parts]
    expected = {
        "0-INV.mean": own[0]["1-INV.mean"],
        "1-LIN.mean": own[1]["1-LIN.mean"],
        "2-SEQ.mean": own[0]["0-SEQ.mean"],
    }
    assert list(found) == list(expected)
    for key, matrix in expected.items():
        np.testing.assert_array_equal(found[key], matrix)


def test_vectors_that_were_moved_are_those_of_the_models_that_have_none_of_their_own(
    vectors: Path, tmp_path: Path
) -> None:
    model = write_model(tmp_path / "model", vectors, views=("BOW",), objective="discriminative")
    moved = Path(shutil.copytree(vectors, tmp_path / "moved"))

    joined = resolve_encoder(f"english@BOW+{model}", EncoderSettings(vectors=moved))

    assert isinstance(joined, JoinedEncoder)
    assert joined.widths() == {"0-BOW.last": 300, "1-BOW.last": 4}
    with pytest.raises(ValueError, match="has its own word vectors"):
        resolve_encoder("english@BOW", EncoderSettings(vectors=moved))


def test_a_parser_is_handed_to_the_models_that_read_its_trees(tmp_path: Path) -> None:
    moved = Path(
        shutil.copytree(shipped_parsers("dependencies")["dependency-large"], tmp_path / "parser")
    )
    settings = EncoderSettings(dependency_parser=moved)

    joined = resolve_encoder("english-trees@DEP+english", settings)

    assert isinstance(joined, JoinedEncoder)
    assert joined.widths() == {"0-DEP.last": 300, "1-BOW.last": 300}
    by_name = EncoderSettings(dependency_parser=Path("dependency-large"))
    assert resolve_encoder("english-trees@DEP", by_name).widths() == {"0-DEP.last": 300}
    with pytest.raises(ValueError, match=r"it ships as 'dependency-large': leave dependency_"):
        resolve_encoder("english-trees@DEP", EncoderSettings(dependency_parser=Path("dependency")))
    with pytest.raises(ValueError, match="read no dependencies; leave out dependency_parser="):
        resolve_encoder("english@BOW", settings)


def test_joined_models_are_joined_with_the_words_of_all(vectors: Path, tmp_path: Path) -> None:
    a = write_model(tmp_path / "a", vectors, views=("SEQ", "LIN"))
    b = write_model(tmp_path / "b", vectors, seed=1, views=("SEQ", "LIN"))
    others = write_vectors(tmp_path / "others", size=7)
    c = write_model(tmp_path / "c", others, views=("SEQ", "LIN"))
    settings = EncoderSettings()

    words = words_beside(resolve_encoder(f"{a}+{b}", settings), settings)
    assert words.encode(SENTENCES).shape == (3, 4)
    with pytest.raises(ValueError, match="join_words: the joined models have different word vec"):
        words_beside(resolve_encoder(f"{a}+{c}", settings), settings)


def test_a_view_that_a_joined_model_has_not_is_named(vectors: Path, tmp_path: Path) -> None:
    a = write_multi_view_model(tmp_path / "a", vectors)
    with pytest.raises(ValueError, match="a@LIN: no view 'LIN'; the encoder's are 0-SEQ, 1-INV"):
        resolve_encoder(f"{a}@SEQ+{a}@LIN")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty: no trained model here"):
        resolve_encoder(f"{a}+{tmp_path}/empty")


def test_the_checksum_of_a_function_s_module_changes_with_it_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "own_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "inner" / "two.py").write_text("VALUE = 1\n")
    (tmp_path / "own_module.py").write_text("raise RuntimeError('imported')\n")
    names = ("own_module:f", "own_package:f", "own_package.inner.two:f")
    before = [source_checksum(name) for name in names]
    assert before == [source_checksum(name) for name in names]
    assert before[0] == sha256_of_file(tmp_path / "own_module.py")

    (package / "inner" / "two.py").write_text("VALUE = 2\n")
    after = [source_checksum(name) for name in names]

    assert [a != b for a, b in zip(after, before, strict=True)] == [False, True, True]
    assert source_checksum("no_such_package:f") is None
    assert not {"own_package", "own_module"} & set(sys.modules)


def test_nothing_is_kept_of_a_module_without_a_file() -> None:
    with pytest.raises(
        ValueError, match=r"encoder builtins:sorted: no file .* leave out --encoder-vers"
    ):
        kept_checksum("builtins:sorted")
