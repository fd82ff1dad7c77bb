"""Encoders by name, and what is said of a user's own that are none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model, write_multi_view_model
from treeviews.models.config.training_presets import preset
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.load_encoder import (
    encoder_of,
    load_encoder,
    words_beside,
)
from treeviews.models.encoding.own_encoder import OwnEncoderError, OwnFunction, kept_checksum
from treeviews.pipeline.base.bundled import shipped_parsers
from treeviews.pipeline.base.digest import sha256_of_file

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

def fails():
    raise MemoryError

model = Model()
number = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules of the user's own in the working folder, where a command of ours does not look."""
    (tmp_path / "own_encoders.py").write_text(OWN)
    (tmp_path / "failing_own.py").write_text("encode = 1 / 0")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", ".")])
    monkeypatch.chdir(tmp_path)
    for name in ("own_encoders", "failing_own"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vectors(tmp_path_factory.mktemp("named") / "vectors", size=4)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "width"), [("lengths", 2), ("Model", 1), ("make", 1), ("model", 1)]
)
def test_a_users_own_encoder_is_found_in_each_of_its_forms(name: str, width: int) -> None:
    embeddings = load_encoder(f"own_encoders:{name}").encode(SENTENCES)

    assert embeddings.shape == (3, width) and embeddings.dtype == np.float32
    assert embeddings[:, 0].tolist() == [len(s) for s in SENTENCES]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("own_encoders:nothing", "has no attribute 'nothing'"),
        ("own_encoders:number", "int is no encoder; give a function"),
        ("own_encoders:fails", "own_encoders:fails: making it raised MemoryError$"),
        ("failing_own:encode", "importing failing_own raised ZeroDivisionError: division by"),
        ("absent_module:f", "absent_module cannot be imported .* PYTHONPATH"),
        ("trained-1", "only a run of Luigi knows what it trained; give the folder of the model"),
        ("own_encoders", "no such folder and no known name; give trained"),
    ],
)
def test_what_is_no_encoder_is_named_with_a_remedy(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_encoder(spec)


def _answers(answer: object) -> Callable[[list[str]], Any]:
    return lambda _: answer


def _fails_late(sentences: list[str]) -> list[list[float]]:
    if "nobody knows" in sentences:
        raise RuntimeError("no such word")
    return [[1.0] for _ in sentences]


def _widens(sentences: list[str]) -> Any:
    return np.ones((len(sentences), 2 + ("nobody knows" in sentences)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_answers(np.ones((2, 3))), r"mine: gave shape \[2, 3\] for 3 sentences; give \[3, d\]"),
        (_answers(np.ones(3)), r"gave shape \[3\] for 3"),
        (_answers([1.0, 2.0, 3.0, 4.0]), r"gave shape \[4\] for 3"),
        (_answers(np.ones((3, 0))), r"gave shape \[3, 0\]"),
        (_answers(np.array([[1.0], [np.nan], [1.0]])), "sentence 1 is not finite: 'the mouse'"),
        (_answers([[1.0], [1.0, 2.0], [1.0]]), "gave list: give vectors of numbers"),
        (_answers("text"), "gave str: give vectors of numbers"),
        (_answers(None), "mine: gave "),
        (_fails_late, r"mine: sentences 2 to 2 .*'nobody knows', raised RuntimeError: no such"),
        (_widens, "another width from sentence 2 on"),
    ],
)
def test_an_answer_that_is_no_embedding_is_refused(
    function: Callable[[list[str]], Any], message: str
) -> None:
    size = 3 if "lambda" in function.__name__ else 2
    with pytest.raises(ValueError, match=message) as raised:
        Encoder(OwnFunction(function, "mine"), "mine").encode(SENTENCES, batch_size=size)
    if isinstance(raised.value, OwnEncoderError):
        assert isinstance(raised.value.__cause__, RuntimeError)


def test_random_encoders_are_a_function_of_the_seed(vectors: Path) -> None:
    config = preset("laptop", views=("SEQ", "LIN"), hidden_size=3)
    settings = EncoderSettings(vectors=vectors, config=config)

    first, again, other = (load_encoder(f"random-{seed}", settings) for seed in (0, 0, 1))

    np.testing.assert_array_equal(first.encode(SENTENCES), again.encode(SENTENCES))
    assert not np.allclose(first.encode(SENTENCES), other.encode(SENTENCES))
    assert first.digest == again.digest != other.digest


def test_views_of_models_are_joined(vectors: Path, tmp_path: Path) -> None:
    a = write_multi_view_model(tmp_path / "a", vectors)
    b = write_model(tmp_path / "b", vectors, seed=1, views=("SEQ", "LIN"))

    whole = load_encoder(f"{a}@INV+{b}@LIN+{a}@0-SEQ", EncoderSettings(vectors=vectors))

    found = whole.encode_views(SENTENCES, ["mean"])
    own = [load_encoder(str(folder)).encode_views(SENTENCES, ["mean"]) for folder in (a, b)]
    expected = {
        "0-INV.mean": own[0]["1-INV.mean"],
        "1-LIN.mean": own[1]["1-LIN.mean"],
        "2-SEQ.mean": own[0]["0-SEQ.mean"],
    }
    assert list(found) == list(expected) and len(whole.models) == 2
    for key, matrix in expected.items():
        np.testing.assert_array_equal(found[key], matrix)
    with pytest.raises(ValueError, match="a@LIN: no view 'LIN'; the encoder's are 0-SEQ, 1-INV"):
        load_encoder(f"{a}@SEQ+{a}@LIN")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty: no trained model here"):
        load_encoder(f"{a}+{tmp_path}/empty")


def test_a_model_that_is_trained_again_or_lies_elsewhere_is_another_encoder(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("a", "b", "c"):
        write_model(tmp_path / place / "m", vectors, seed=ord(place), views=("SEQ", "LIN"))

    def vector() -> Any:
        return encoder_of("m").encode(SENTENCES[0]).tolist()

    monkeypatch.chdir(tmp_path / "a")
    first, kept = vector(), encoder_of("m")
    assert encoder_of("m") is kept
    monkeypatch.chdir(tmp_path / "b")
    assert (second := vector()) != first
    shutil.rmtree("m")
    shutil.copytree(tmp_path / "c" / "m", "m", copy_function=shutil.copyfile)
    assert vector() not in (first, second)


def test_vectors_and_parsers_are_handed_to_the_models_that_take_them(
    vectors: Path, tmp_path: Path
) -> None:
    model = write_model(tmp_path / "model", vectors, views=("BOW",), objective="discriminative")
    moved = EncoderSettings(vectors=Path(shutil.copytree(vectors, tmp_path / "moved")))
    large = shipped_parsers("dependencies")["dependency-large"]
    parser = Path(shutil.copytree(large, tmp_path / "parser"))
    given, by_name, other = (
        EncoderSettings(dependency_parser=Path(place))
        for place in (parser, "dependency-large", "dependency")
    )

    for name, settings, widths in [
        (f"english@BOW+{model}", moved, {"0-BOW.last": 300, "1-BOW.last": 4}),
        ("english-trees@DEP+english", given, {"0-DEP.last": 300, "1-BOW.last": 300}),
        ("english-trees@DEP", by_name, {"0-DEP.last": 300}),
    ]:
        assert load_encoder(name, settings).widths() == widths
    for name, settings, message in [
        ("english@BOW", moved, "has its own word vectors"),
        ("english-trees@DEP", other, r"give dependency_parser=FOLDER of that parser"),
        ("english@BOW", given, "read no dependencies; leave out dependency_parser="),
    ]:
        with pytest.raises(ValueError, match=message):
            load_encoder(name, settings)


def test_words_beside_an_encoder_are_its_own(vectors: Path, tmp_path: Path) -> None:
    config = preset("laptop", views=("SEQ", "LIN"), hidden_size=3)
    settings = EncoderSettings(vectors=vectors, config=config)
    others = write_vectors(tmp_path / "others", size=7)
    elsewhere = settings.changed(vectors=others)
    a, b = (write_model(tmp_path / f"m{s}", vectors, seed=s, views=("SEQ", "LIN")) for s in (0, 1))
    c = write_model(tmp_path / "c", others, views=("SEQ", "LIN"))

    for encoder, width in [
        (load_encoder("random-0", settings), 4),
        (load_encoder(f"{a}+{b}"), 4),
        (encoder_of(lambda sentences: [[1.0]] * len(sentences)), 7),
    ]:
        assert words_beside(encoder, elsewhere).encode(SENTENCES).shape == (3, width)
    with pytest.raises(ValueError, match="join_words: the joined models have different word vec"):
        words_beside(load_encoder(f"{a}+{c}"), settings)


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
    before = [kept_checksum(name) for name in names]
    assert before == [kept_checksum(name) for name in names]
    assert before[0] == sha256_of_file(tmp_path / "own_module.py")

    (package / "inner" / "two.py").write_text("VALUE = 2\n")
    after = [kept_checksum(name) for name in names]

    assert [a != b for a, b in zip(after, before, strict=True)] == [False, True, True]
    assert not {"own_package", "own_module"} & set(sys.modules)
    for spec in ("builtins:sorted", "no_such_package:f"):
        with pytest.raises(ValueError, match=r"no file of the module .* leave out --encoder-vers"):
            kept_checksum(spec)
