"""Several models as one: side by side, read once, as a folder that is passed on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import subcommand
from tests.support.edited_json import edit
from tests.support.encoders import CountingParser, encoder_by
from tests.support.hub_server import HubServer, hub
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import random_model, write_model
from treeviews import models
from treeviews.models.config.training_presets import preset
from treeviews.models.encoding import encoder as encoder_module
from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.torch_model import TorchModel
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.exchange.export_model import export_model, push_model
from treeviews.models.listing import model_facts
from treeviews.models.model.ensemble import ENSEMBLE_FILE
from treeviews.models.model.hub import fetch_model
from treeviews.models.words.word_vectors import load_word_vectors

SENTENCES = ["the cat sees the dog", "the mouse", "nobody knows", "horse"]
WHOLE = ExportOptions(self_contained=True)


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two models of different words and widths; one gives its views length 1."""
    root = tmp_path_factory.mktemp("members")
    first = write_vectors(root / "v", size=4)
    second = write_vectors(root / "w", size=5)
    return (
        write_model(root / "one", first, views=("SEQ", "LIN"), words_beside=1.4),
        write_model(root / "two", second, views=("SEQ", "SEQ"), hidden_size=3, seed=1),
    )


@pytest.fixture(scope="module")
def whole(members: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both as one folder, in another place than it was exported to."""
    out = tmp_path_factory.mktemp("ensemble") / "out"
    export_model(joined(*members), out, WHOLE)
    return Path(shutil.move(out, out.with_name("both")))


def joined(*parts: Path | str) -> str:
    return "+".join(map(str, parts))


def side_by_side(members: Sequence[Path], **options: str) -> np.ndarray:
    return np.hstack([models.load(one).encode(SENTENCES, **options) for one in members])  # type: ignore[call-overload]


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_its_vectors_are_those_of_its_members_to_the_bit(
    members: tuple[Path, Path], whole: Path, pooling: str
) -> None:
    expected = side_by_side(members, pooling=pooling)
    for name in (joined(*members), whole):
        found = models.load(name).encode(SENTENCES, pooling=pooling)  # type: ignore[call-overload]
        np.testing.assert_array_equal(found, expected)
    assert expected.shape == (4, 6 + 6 + 4 + 3 + 3)


def test_views_of_the_members_may_be_chosen(members: tuple[Path, Path], tmp_path: Path) -> None:
    name = joined(f"{members[0]}@LIN", f"{members[1]}@0-SEQ")
    export_model(name, tmp_path / "out", WHOLE)
    vectors = models.load(tmp_path / "out").encode_views(SENTENCES)
    assert list(vectors) == ["0-LIN.last", "1-SEQ.last"]
    assert model_facts(tmp_path / "out")["views"] == ["LIN", "0-SEQ"]


def model_of(parser: CountingParser, folder: Path, size: int) -> TorchModel:
    vectors = load_word_vectors(write_vectors(folder, size=size))
    model = random_model(preset("laptop", hidden_size=4, views=("DEP", "SEQ")), vectors, size)
    return TorchModel(model, {"dependencies": parser})


def test_a_text_is_parsed_once_for_members_of_one_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "SENTENCES_AT_ONCE", 3)
    texts = [*SENTENCES, "crash", *reversed(SENTENCES)]
    one, other, third = (CountingParser("dependencies", checksum) for checksum in "113")
    members = [
        model_of(parser, tmp_path / str(place), place + 3)
        for place, parser in enumerate((one, other, third))
    ]
    settings = EncoderSettings(on_refusal="zero")
    together = Encoder([(model, ()) for model in members], settings=settings)

    found = together.encode(texts)

    assert (len(one.asked), len(other.asked), len(third.asked)) == (9, 0, 9)
    assert [refusal.index for refusal in together.refused] == [4]
    alone = np.hstack([encoder_by(model, settings).encode(texts) for model in members])
    np.testing.assert_array_equal(found, alone)
    assert not found[4].any() and found[5].any()


def test_models_show_and_list_it(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert subcommand("models", "show")([str(whole)]) == 0
    printed = capsys.readouterr().out
    assert "SEQ, LIN, SEQ, SEQ" in printed and "| `members/0-one` | unknown" in printed
    assert len(model_facts(whole)["members"]) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "member members/1-two is missing, or another model than ensemble.json seals; rest"),
        ({"ensemble_version": 9}, "ensemble_version must be 1, got 9; restore the folder"),
        ({"members": [{"folder": "../one", "sha256": "0"}]}, "leads out of the folder"),
    ],
)
def test_a_folder_that_is_not_as_exported_is_refused(
    whole: Path, tmp_path: Path, change: dict[str, object] | None, message: str
) -> None:
    copy = Path(shutil.copytree(whole, tmp_path / "copy"))
    if change is None:
        shutil.rmtree(copy / "members" / "1-two")
    else:
        edit(copy / ENSEMBLE_FILE, lambda value: value.update(change))
    with pytest.raises(ValueError, match=message):
        models.load(copy)


def test_what_others_could_not_open_is_refused(
    members: tuple[Path, Path], whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"both is an ensemble itself; join its members"):
        models.load(joined(whole, members[0]))
    with pytest.raises(ValueError, match=r"one: its word vectors are none that ship.*--self-cont"):
        export_model(joined(*members), tmp_path / "out")
    with pytest.raises(ValueError, match=r"several models; .* export each by itself"):
        export_model(joined(*members), tmp_path / "out", ExportOptions(num_words=5))
    assert not (tmp_path / "out").exists()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with hub() as server:
        yield server


def test_it_goes_by_a_hub(server: HubServer, members: tuple[Path, Path], tmp_path: Path) -> None:
    push_model(joined(*members), "me/both", endpoint=server.address)
    folder = fetch_model("me/both", endpoint=server.address, cache=tmp_path / "cache")
    np.testing.assert_array_equal(models.load(folder).encode(SENTENCES), side_by_side(members))
