"""The tasks that parse take a parser folder, an original checkpoint or a published name."""

import json
from pathlib import Path

import luigi
import pytest

from tests.support.library_parsers import supar_parser
from tests.support.sentence_shards import parser_description
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.parsers.parser_files import (
    PLAIN_CONSTITUENCY,
    checksum_of_parser_folder,
)
from treeviews.pipeline.shards.shards import read_shard
from treeviews.tasks import ConvertParser, ParseDependencies, TrainEncoders


@pytest.fixture
def text(tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "story.txt"
    path.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    return {"work_folder": tmp_path / "work", "source": "files", "paths": str(path)}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "own.pt"
    path.write_bytes(b"a checkpoint")
    return path


def test_a_checkpoint_is_converted_before_it_parses(
    text: dict[str, object], checkpoint: Path
) -> None:
    stage = ParseDependencies(dependency_parser=checkpoint, dependency_parser_sha256="AB12", **text)
    conversion = stage.requires()["dependency_parser"]
    assert isinstance(conversion, ConvertParser)
    assert (conversion.stage, conversion.sha256) == ("dependencies", "ab12")
    assert stage.parser_folder == conversion.folder
    assert conversion.folder.parent == Path(str(text["work_folder"])) / "parsers"
    assert set(ParseDependencies(**text).requires()) == {"sentences"}


def test_the_sha256_and_the_transformer_determine_the_path(
    text: dict[str, object], checkpoint: Path, tmp_path: Path
) -> None:
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "tokenizer.json").write_text("{}")
    chosen = {"dependency_parser": checkpoint, "dependency_parser_sha256": "ab12"}
    changes = [{}, {"dependency_parser_sha256": "cd34"}]
    changes += [
        {"dependency_parser_transformer": name} for name in ("bert-base", tmp_path / "bert")
    ]
    for stage in (ParseDependencies, TrainEncoders):
        folders = {str(stage(**text, **chosen | change).folder) for change in changes}
        assert len(folders) == len(changes)
    same = ParseDependencies(**text, **chosen | {"dependency_parser_sha256": "AB12"})
    assert same.folder == ParseDependencies(**text, **chosen).folder


def test_a_parser_folder_of_the_wrong_kind_is_refused_before_any_job(
    text: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "weights.safetensors").write_bytes(b"")
    (tmp_path / "parser.json").write_text(parser_description(PLAIN_CONSTITUENCY))
    stage = ParseDependencies(dependency_parser=tmp_path, **text)
    with pytest.raises(ValueError, match="gives constituents, not dependencies; give it as const"):
        stage.requires()


def test_a_parser_folder_must_have_the_checksum_that_is_given(text: dict[str, object]) -> None:
    checksum = checksum_of_parser_folder(BUNDLED_PARSERS["dependencies"])
    right = ParseDependencies(dependency_parser_sha256=checksum.upper(), **text)
    assert right.folder == ParseDependencies(**text).folder
    wrong = ParseDependencies(dependency_parser_sha256="00" * 32, **text)
    with pytest.raises(ValueError, match=f"of checksum {checksum}, not 0000.*parser_sha256 says"):
        wrong.requires()


def test_a_published_name_is_a_checkpoint_and_any_other_is_refused(
    text: dict[str, object],
) -> None:
    stage = ParseDependencies(dependency_parser="biaffine-dep-en", **text)
    assert stage.requires()["dependency_parser"].checkpoint == "biaffine-dep-en"
    with pytest.raises(FileNotFoundError, match=r"dep-biaffine-en: no such .* biaffine-dep-en\?"):
        ParseDependencies(dependency_parser="dep-biaffine-en", **text).requires()


def test_a_conversion_without_a_sha256_says_which_it_found(
    tmp_path: Path, checkpoint: Path
) -> None:
    task = ConvertParser(work_folder=tmp_path, checkpoint=str(checkpoint), stage="dependencies")
    with pytest.raises(ValueError, match=f"It is {sha256_of_file(checkpoint)}: give that if"):
        task.run()
    assert not task.complete()


@pytest.mark.slow
def test_a_run_parses_with_a_file_that_supar_saved(text: dict[str, object], tmp_path: Path) -> None:
    supar_parser(tmp_path).save(str(tmp_path / "supar.pt"))
    stage = ParseDependencies(
        dependency_parser=tmp_path / "supar.pt",
        dependency_parser_sha256=sha256_of_file(tmp_path / "supar.pt"),
        **text,
    )
    assert luigi.build([stage], local_scheduler=True, log_level="WARNING")
    rows = read_shard(stage.folder, "dependencies", 0).to_pylist()
    assert [len(row["heads"]) for row in rows] == [4, 5]
    description = json.loads((stage.parser_folder / "parser.json").read_text())
    assert description["kind"] == "supar-biaffine-dependency"
