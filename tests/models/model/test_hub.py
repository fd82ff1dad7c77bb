"""Models of a hub, which here is a server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import subcommand
from tests.support.hub_server import HubServer, hub
from tests.support.parsed_corpora import write_vectors
from tests.support.saved_models import write_model
from treeviews import models
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.exchange.export_model import push_model
from treeviews.models.model.hub import fetch_model

SENTENCES = ["the cat sees the dog"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with hub() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "m", write_vectors(tmp_path / "v"), views=("SEQ", "LIN"))


def pushed(server: HubServer, folder: Path, **options: str) -> str:
    chosen = ExportOptions(**options)  # type: ignore[arg-type]
    return push_model(folder, "me/it", chosen, endpoint=server.address)


def fetched(server: HubServer, tmp_path: Path, called: str = "hf://me/it") -> Path:
    return fetch_model(called, endpoint=server.address, cache=tmp_path / "cache")


def test_a_pushed_model_is_loaded_elsewhere(
    server: HubServer, folder: Path, tmp_path: Path
) -> None:
    commit = pushed(server, folder, licence="CC BY 4.0")
    found = fetched(server, tmp_path)
    assert found.name == commit
    expected = models.load(folder).encode(SENTENCES)
    np.testing.assert_array_equal(models.load(found).encode(SENTENCES), expected)
    assert "Bearer hf_secret" in server.tokens
    readme = server.repositories["me/it"].files[commit]["README.md"].decode()
    assert readme.startswith("---\nlicense: cc-by-4.0\nlibrary_name: treeviews\n")


def test_a_commit_is_fetched_once_and_then_without_the_hub(
    server: HubServer, folder: Path, tmp_path: Path
) -> None:
    commit = pushed(server, folder)
    first = fetched(server, tmp_path, f"hf://me/it@{commit}")
    asked = len(server.requests)
    assert fetched(server, tmp_path, f"hf://me/it@{commit}") == first
    assert len(server.requests) == asked


@pytest.mark.parametrize("name", ["model.safetensors", "words/vectors.safetensors"])
def test_a_file_that_was_changed_on_the_hub_is_refused(
    server: HubServer, folder: Path, tmp_path: Path, name: str
) -> None:
    files = server_files(server, pushed(server, folder))
    files[name] = files[name][:-1] + bytes([files[name][-1] ^ 1])
    with pytest.raises(
        ValueError,
        match=r"no whole model on the hub: .*(damaged or of another run|: another)",
    ):
        fetched(server, tmp_path)
    assert [path.name for path in (tmp_path / "cache" / "me--it").iterdir()] == []


def test_pickles_and_code_are_not_fetched(server: HubServer, folder: Path, tmp_path: Path) -> None:
    files = server_files(server, pushed(server, folder))
    files["pytorch_model.bin"] = b"a pickle"
    files["modeling.py"] = b"print('run')"
    found = fetched(server, tmp_path)
    assert not {path.suffix for path in found.rglob("*")} & {".bin", ".py"}


def test_a_name_that_leads_out_of_the_folder_is_refused(
    server: HubServer, folder: Path, tmp_path: Path
) -> None:
    files = server_files(server, pushed(server, folder))
    files["../../outside.txt"] = b"x"
    with pytest.raises(ValueError, match="leads out of the folder"):
        fetched(server, tmp_path)


def test_mistakes_are_told_in_a_sentence(server: HubServer, folder: Path, tmp_path: Path) -> None:
    pushed(server, folder)
    with pytest.raises(ValueError, match="me/other: RepositoryNotFoundError: "):
        fetched(server, tmp_path, "me/other")
    with pytest.raises(ValueError, match="me/it@v9: RevisionNotFoundError: "):
        fetched(server, tmp_path, "me/it@v9")
    with pytest.raises(ValueError, match="give user/name of a model"):
        fetched(server, tmp_path, "hf://it")
    with pytest.raises(ValueError, match=r"me/it: ConnectionError: .*; check the name"):
        fetch_model("me/it", endpoint="http://127.0.0.1:9", cache=tmp_path / "c")


def test_the_command_pushes_and_fetches(
    server: HubServer,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    at = ["--endpoint", server.address]
    assert subcommand("models", "push")([str(folder), "me/it", "--private", *at]) == 0
    commit = capsys.readouterr().out.strip()
    assert server.repositories["me/it"].private
    assert subcommand("models", "fetch")([f"me/it@{commit}", *at]) == 0
    fetched = capsys.readouterr().out.strip()
    assert Path(fetched) == tmp_path / "home" / "treeviews" / "me--it" / commit
    assert models.load(f"hf://me/it@{commit}").digest == models.load(folder).digest


def server_files(server: HubServer, commit: str) -> dict[str, bytes]:
    return server.repositories["me/it"].files[commit]
