"""Original checkpoints become parser folders once their sha256 is given."""

import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from types import FunctionType
from typing import Any

import dill
import pytest
import torch

from pipeline.base.digest import sha256_of_file
from pipeline.base.refusal import Refusal
from pipeline.downloads.download import DownloadConfig, DownloadError
from pipeline.parser_training.constituency.examples import build_vocabularies
from pipeline.parsers import convert as convert_module
from pipeline.parsers.adapters.folder_files import CHECKSUMS_NAME, PARSER_FILES
from pipeline.parsers.checkpoints.opened import OpenedCheckpoint, open_checkpoint
from pipeline.parsers.checkpoints.torch_file import Inert, read_torch_file
from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser
from pipeline.parsers.constituency.model import build_chart_parser
from pipeline.parsers.convert import convert_checkpoint, main, take_over
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.parsers.load import load_parser
from pipeline.trees.parses import ConstituencyParse
from tests.support.constituency_trees import TINY, tiny_model, toy_treebank
from tests.support.dependency_examples import treebank
from tests.support.library_parsers import benepar_file, from_supar, supar_parser
from tests.support.tiny_transformers import tiny_bert, tiny_electra


@pytest.fixture
def supar_checkpoint(tmp_path: Path) -> Path:
    supar_parser(tmp_path).save(str(tmp_path / "supar.pt"))
    return tmp_path / "supar.pt"


@pytest.fixture
def benepar_checkpoint(tmp_path: Path) -> Path:
    module = tiny_model(toy_treebank(20)).network
    torch.save(
        {"config": module.config, "state_dict": module.state_dict()}, tmp_path / "benepar.pt"
    )
    return tmp_path / "benepar.pt"


def convert(checkpoint: Path, **asked: str) -> str:
    folder = checkpoint.parent / "converted"
    folder.mkdir(exist_ok=True)
    return take_over(checkpoint, folder, **asked)


def trusted(checkpoint: Path) -> str:
    file = checkpoint / "benepar_model.bin" if checkpoint.is_dir() else checkpoint
    return sha256_of_file(file) if file.exists() else ""


def opened(checkpoint: Path) -> OpenedCheckpoint:
    scratch = tempfile.mkdtemp(dir=checkpoint.parent)
    return open_checkpoint(checkpoint, Path(scratch))


@pytest.mark.slow
def test_a_user_converts_a_file_whose_sha256_he_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser, sentences = supar_parser(tmp_path), [sentence.tokens for sentence in treebank()]
    checkpoint, folder = tmp_path / "supar.pt", tmp_path / "own"
    parser.save(str(checkpoint))
    assert main([str(checkpoint), str(folder), "--sha256", sha256_of_file(checkpoint)]) == 0
    checksum = capsys.readouterr().out.strip()
    converted = load_parser(folder, "dependencies", expected_checksum=checksum)
    expected = SuparDependencyParser(from_supar(parser), name="expected")
    assert converted.parse(sentences) == expected.parse(sentences)
    assert {path.name for path in folder.iterdir()} == {*PARSER_FILES, CHECKSUMS_NAME}


def test_nothing_is_read_without_the_right_sha256(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "any.pt"
    checkpoint.write_bytes(b"whatever it is")
    found = sha256_of_file(checkpoint)
    with pytest.raises(ValueError, match=rf"read only where its sha256 is given. It is {found}"):
        convert_checkpoint(str(checkpoint), tmp_path / "out", sha256="")
    assert main([str(checkpoint), str(tmp_path / "out"), "--sha256", "00"]) == 2
    assert f"sha256 {found} differs from the given 00; not read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_a_pickle_would_run_is_not_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "sprung"),)

    def bytecode() -> str:
        return "of this Python version"

    content = {"name": Trap(), "fn": bytecode, "tensor": torch.ones(2)}
    torch.save(content, tmp_path / "trap.pt", pickle_module=dill)
    read = read_torch_file(tmp_path / "trap.pt")
    assert isinstance(read["name"], Inert)
    assert isinstance(read["fn"], Inert)
    assert read["tensor"].tolist() == [1, 1]
    assert not (tmp_path / "sprung").exists()


class Program(torch.nn.Module):
    """What TorchScript compiles; ``torch.jit.load`` calls its ``__setstate__``."""

    def __init__(self) -> None:
        super().__init__()
        self.path, self.read = "", torch.zeros(1)

    @torch.jit.export
    def __getstate__(self) -> tuple[str, bool]:
        return self.path, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[str, bool]) -> None:
        self.path, self.training = state
        self.read = torch.from_file(self.path, shared=True, size=4)  # makes the file

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_a_program_of_torchscript_is_refused_before_it_runs(tmp_path: Path) -> None:
    program = Program()
    program.path = str(tmp_path / "sprung")
    torch.jit.save(torch.jit.script(program), tmp_path / "program.pt")
    torch.load(tmp_path / "program.pt", weights_only=False)
    assert (tmp_path / "sprung").exists()  # the trap is one
    (tmp_path / "sprung").unlink()
    with pytest.raises(ValueError, match=r"program\.pt: .*a program of TorchScript"):
        read_torch_file(tmp_path / "program.pt")
    assert not (tmp_path / "sprung").exists()


def test_bytecode_of_another_python_version_does_no_harm(supar_checkpoint: Path) -> None:
    state = torch.load(supar_checkpoint, weights_only=False)

    code = (lambda token: token.lower()).__code__
    foreign = code.replace(co_code=b"\xff\xff" * (len(code.co_code) // 2))
    state["transform"].FORM[0].fn = FunctionType(foreign, {})
    torch.save(state, supar_checkpoint, pickle_module=dill)
    assert convert(supar_checkpoint)


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (
            "dependencies",
            "of benepar, which gives constituents, but one for dependencies is needed",
        ),
        ("constituents", "of supar, which gives dependencies, but one for constituents is needed"),
    ],
)
def test_a_parser_of_the_other_kind_is_refused(
    stage: str, message: str, supar_checkpoint: Path, benepar_checkpoint: Path
) -> None:
    other = {"dependencies": benepar_checkpoint, "constituents": supar_checkpoint}[stage]
    with pytest.raises(ValueError, match=message):
        convert(other, stage=stage)


def test_a_benepar_file_gives_the_trees_of_its_module(benepar_checkpoint: Path) -> None:
    sentences = [sentence.tokens for sentence in toy_treebank(6, seed=1)]
    checksum = convert(benepar_checkpoint, stage="constituents")
    folder = benepar_checkpoint.parent / "converted"
    expected = BeneparConstituencyParser(tiny_model(toy_treebank(20)), name="x", checksum="")
    converted = load_parser(folder, "constituents", expected_checksum=checksum)
    assert converted.parse(sentences) == expected.parse(sentences)


def test_a_benepar_file_of_few_positions_rejects_what_is_longer(tmp_path: Path) -> None:
    sentences = toy_treebank(20)
    vocabularies = build_vocabularies(sentences, min_character_count=1)
    module = build_chart_parser(TINY.changed(max_length=12), vocabularies)
    torch.save({"config": module.config, "state_dict": module.state_dict()}, tmp_path / "few.pt")
    convert(tmp_path / "few.pt")
    answers = load_parser(tmp_path / "converted", "constituents").parse([["a"] * 11, ["a"] * 10])
    assert answers[0] == Refusal("too_long", "11 tokens, limit 10")
    assert isinstance(answers[1], ConstituencyParse)


def test_what_is_no_checkpoint_is_named(tmp_path: Path, supar_checkpoint: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("The dog chased a cat.\n" * 50)
    with pytest.raises(ValueError, match=r"notes\.txt: not a whole file of torch\.save"):
        opened(text)
    cut = tmp_path / "cut.pt"
    cut.write_bytes(supar_checkpoint.read_bytes()[:4000])
    with pytest.raises(ValueError, match=r"cut\.pt: not a whole file of torch\.save .* cut short"):
        opened(cut)
    torch.save({"epoch": 3, "model": {}}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match=r"neither a parser of supar nor one of benepar.*epoch"):
        opened(tmp_path / "other.pt")


def test_another_class_of_supars_parsers_is_refused(supar_checkpoint: Path) -> None:
    state = torch.load(supar_checkpoint, weights_only=False)
    torch.save({**state, "name": "crf-dependency"}, supar_checkpoint, pickle_module=dill)
    with pytest.raises(ValueError, match="'crf-dependency' parser: only 'biaffine-dependency'"):
        convert(supar_checkpoint)


def test_weights_that_do_not_fit_are_refused(benepar_checkpoint: Path) -> None:
    content = torch.load(benepar_checkpoint)
    del content["state_dict"]["f_label.0.bias"]
    torch.save(content, benepar_checkpoint)
    with pytest.raises(ValueError, match=r"do not fit what is described: f_label\.0\.bias missing"):
        convert(benepar_checkpoint)


def test_a_zip_is_unpacked_as_published_parsers_are(supar_checkpoint: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "published.zip", "w") as archive:
        archive.write(supar_checkpoint, "ptb.biaffine.dep")
    found = opened(tmp_path / "published.zip")
    assert (found.library, found.content["name"]) == ("supar", "biaffine-dependency")
    with zipfile.ZipFile(tmp_path / "published.zip", "a") as archive:
        archive.writestr("folder/more.txt", "?")
    with pytest.raises(ValueError, match="2 files in 2 folders, where a published parser is one"):
        opened(tmp_path / "published.zip")


def test_a_folder_with_something_else_in_it_is_left_alone(
    tmp_path: Path, benepar_checkpoint: Path
) -> None:
    folder = tmp_path / "mine"
    (folder / "transformer").mkdir(parents=True)
    (folder / "transformer" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"mine: holds transformer, .* folder that is empty"):
        convert_checkpoint(str(benepar_checkpoint), folder, sha256=trusted(benepar_checkpoint))
    assert (folder / "transformer" / "notes.txt").read_text() == "mine"


def test_a_released_folder_brings_its_transformers_files_along(tmp_path: Path) -> None:
    hub = tiny_bert(tmp_path / "hub")
    content = torch.load(benepar_file(tmp_path, hub))
    released = shutil.copytree(hub, tmp_path / "benepar_xx")
    (released / "model.safetensors").unlink()
    config = json.loads((released / "config.json").read_text())
    config["benepar"] = {**content["config"], "char_vocab": None}
    (released / "config.json").write_text(json.dumps(config))
    torch.save(content["state_dict"], released / "benepar_model.bin")
    shutil.rmtree(hub)
    assert convert(released)
    folder = tmp_path / "converted"
    assert load_parser(folder, "constituents").parse([["Go", "!"]])
    (released / "benepar_model.bin").unlink()
    with pytest.raises(
        ValueError, match=r"no benepar_model\.bin; name a folder that benepar released"
    ):
        opened(released)


def test_a_missing_tokenizer_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = tiny_bert(tmp_path / "hub")
    checkpoint = benepar_file(tmp_path, hub)
    elsewhere = hub.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"needs the configuration and tokenizer.*--transformer"):
        convert(checkpoint)
    assert convert(checkpoint, transformer=str(elsewhere))


def test_the_tokenizer_must_be_that_of_the_training(tmp_path: Path) -> None:
    parser = supar_parser(tmp_path, encoder="bert", bert=tiny_bert(tmp_path / "hub"))
    parser.transform.FORM[0].vocab = {**parser.transform.FORM[0].vocab, "more": 999}
    parser.save(str(tmp_path / "supar.pt"))
    with pytest.raises(ValueError, match="another vocabulary than the parser"):
        convert(tmp_path / "supar.pt", transformer=str(tiny_electra(tmp_path / "other")))


def test_no_network_names_the_address_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreachable = convert_module.OfficialParser(
        "biaffine-dep-en", "http://127.0.0.1:9/ptb.zip", "dependencies"
    )
    monkeypatch.setitem(convert_module.OFFICIAL_PARSERS, "biaffine-dep-en", unreachable)
    impatient = DownloadConfig(attempts=1, timeout_seconds=2)
    with pytest.raises(DownloadError, match=r"biaffine-dep-en: .*download http://127\.0\.0\.1:9/"):
        convert_module.fetch_official(unreachable, tmp_path, "", config=impatient)


def test_a_published_parser_of_the_wrong_kind_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_download(*_: object, **__: object) -> None:
        raise AssertionError("asked the network")

    monkeypatch.setattr("pipeline.parsers.convert.fetch_official", no_download)
    with pytest.raises(ValueError, match="benepar_en3: this parser gives constituents, not depen"):
        convert_checkpoint("benepar_en3", tmp_path / "out", sha256="00", stage="dependencies")


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"dep-biaffine-en: neither .* biaffine-dep-en, .*benepar_"
    ):
        convert_checkpoint("dep-biaffine-en", tmp_path / "out", sha256="00")
