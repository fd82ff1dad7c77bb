"""Folders and checkpoints that are malformed or traps, each through what a user would open it by.

Each must be refused in one sentence that names the file, what is wrong and a remedy. No file beside
the folder may change, and none may be told of.
"""

# ruff: noqa: E501 (a line an item)

from __future__ import annotations

import contextlib
import io
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from safetensors.torch import load_file, save_file

import models
from benchmarks.chaos import hostile_checkpoints as checkpoints
from benchmarks.chaos.folders import SECRET, Good
from benchmarks.chaos.trial import Options, Trial
from models.model.ranks import ALONE
from models.report.run.inputs import ReportInputs
from models.report.run.report import write_report
from models.training.folder import open_checkpoint
from models.words.vector_files import load_word_vectors
from pipeline.base.digest import sha256_of_file
from pipeline.parsers.adapters.folder_files import STAGE_OF_KIND, named_kind, read_scores
from pipeline.parsers.convert import main as convert
from pipeline.parsers.load import load_parser
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.storage.parse_job import StoredParseJob, read_parser_files
from pipeline.storage.stored_job import make_stored_shards

SECONDS = 120
"""Of a trial; whoever takes longer is held up by the folder."""
CHARACTERS = 1_200
"""Of a message, paths included."""
EVERY = 6
"""Of the table's lines, one in so many is tried with ``--quick``."""

Door = Callable[[Path], object]
Make = Callable[[Good, Path], object]


@dataclass(frozen=True, slots=True)
class Hostile:
    """One line of the table."""

    what: str
    door: str
    """A name of `DOORS`: what the folder is opened by."""
    make: Make
    """Writes it at a path, from what is good; what it returns does not matter."""
    says: tuple[str, str, str]
    """Of the message: file, what is wrong, remedy, in this order."""


class _HeldUpError(BaseException):
    """A trial took too long; no `Exception`, so that nobody takes it for a refusal."""


# --- what a user opens a folder by


def _load_parser(path: Path) -> object:
    return load_parser(path, STAGE_OF_KIND.get(named_kind(path), "dependencies"))


def _take_to_a_node(path: Path) -> object:
    """As on a machine of a cluster, of files that somebody sent."""
    job = StoredParseJob(
        storage=str(path),
        sentences="sentences",
        output="parses",
        number=0,
        stage="dependencies",
        parser_name="parser",
    )
    return make_stored_shards(job, json.loads((path / "sent.json").read_text()))


def _convert(path: Path) -> None:
    (file,) = path.iterdir()
    _told(convert, [str(file), str(path / "new"), "--sha256", sha256_of_file(file)])


def _told(command: Callable[[list[str]], int], arguments: list[str]) -> None:
    """Runs a command; raises what it says on standard error where it refuses."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = command(arguments)
    if status:
        raise ValueError(said.getvalue().strip().splitlines()[0])


def _report(path: Path) -> object:
    inputs = ReportInputs(
        config={}, stages=(), training_folder=path, probing_folder=path, rows=(), parsers=(),
        versions={}, commit=None,
    )  # fmt: skip
    return write_report(path / "report", inputs)


DOORS: dict[str, Door] = {
    "parser": _load_parser,
    "cluster": read_parser_files,
    "node": _take_to_a_node,
    "convert": _convert,
    "model": models.load,
    "vectors": load_word_vectors,
    "scores": read_scores,
    "report": _report,
    "resume": lambda path: open_checkpoint(path, "identity", ALONE),
    "corpus": lambda path: read_dataset_manifest(path, "sentences"),
}


# --- how a good folder is made a bad one


def _with(door: str, name: str, content: str | bytes) -> Make:
    """Writes a file over one of a good folder's."""

    def make(good: Good, path: Path) -> None:
        good.copy(door, path)
        raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(raw)

    return make


def _set(door: str, name: str, place: str, value: Any) -> Make:
    """Changes an entry of a good folder's JSON; ``a/b`` is entry b of entry a, None removes it."""

    def make(good: Good, path: Path) -> None:
        good.copy(door, path)
        content = json.loads((path / name).read_text())
        entry, *parents = reversed(place.split("/"))
        inner = content
        for parent in reversed(parents):
            inner = inner[parent]
        if value is None:
            del inner[entry]
        else:
            inner[entry] = value
        (path / name).write_text(json.dumps(content))

    return make


def _tensors(door: str, name: str, change: Callable[[dict[str, torch.Tensor]], object]) -> Make:
    """Changes the tensors of a good folder; a parser's description then has their sha256."""

    def make(good: Good, path: Path) -> None:
        good.copy(door, path)
        tensors = load_file(path / name)
        change(tensors)
        save_file(tensors, path / name)
        good.sign(path)

    return make


def _cut(door: str, name: str) -> Make:
    def make(good: Good, path: Path) -> None:
        good.copy(door, path)
        (path / name).write_bytes((path / name).read_bytes()[:-7])
        good.sign(path)

    return make


def _linked(door: str, name: str) -> Make:
    """Has a file of a good folder lead to the victim."""

    def make(good: Good, path: Path) -> None:
        good.copy(door, path)
        (path / name).unlink(missing_ok=True)
        (path / name).symlink_to(good.victim)

    return make


def _named(door: str, name: Callable[[Good], str]) -> Make:
    """Has a parser's description name a further file."""
    return lambda good, path: _set(
        door, "parser.json", "files", {name(good): sha256_of_file(good.victim)}
    )(good, path)


def _sent(name: Callable[[Good], str]) -> Make:
    """Writes what somebody sent to a node: a file of this name."""

    def make(good: Good, path: Path) -> None:
        path.mkdir()
        _write(path / "sent.json", {name(good): "planted"})

    return make


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def _file(write: Callable[[Good, Path], object]) -> Make:
    """Writes one file into an empty folder: a checkpoint."""

    def make(good: Good, path: Path) -> None:
        path.mkdir()
        write(good, path / "given.pt")

    return make


def _program(program: Callable[[Path], bytes]) -> Make:
    return _file(lambda good, path: checkpoints.torch_zip(path, program(good.victim)))


def _benepar(**changes: Any) -> Make:
    return _file(lambda _, path: checkpoints.saved(path, checkpoints.benepar_content(**changes)))


def _vectors_elsewhere(good: Good, path: Path) -> None:
    _set("model", "model.json", "vectors", {"path": str(good.victim), "checksum": "0" * 64})(
        good, path
    )


DEEP = "[" * 100_000
RESTORE = "restore the parser's files together"
MALFORMED = "write it by training"
MISSHAPED = ("parser.json", "does not describe the weights", "restore both files")
PARSER = ("parser.json", "description field", MALFORMED)
ANEW = "get the folder anew"
NO_SHA256 = "file_sha256 must be an object of strings"
SAVED = "name a checkpoint"

TABLE: tuple[Hostile, ...] = (
    # parser.json
    Hostile("no JSON", "parser", _with("dependency", "parser.json", "{"), ("parser.json", "not JSON", MALFORMED)),
    Hostile("bytes that are no text", "parser", _with("dependency", "parser.json", b"\xff\xfe\xfd"), ("parser.json", "not JSON", MALFORMED)),
    Hostile("nested 100,000 deep", "parser", _with("dependency", "parser.json", DEEP), ("parser.json", "nests too deeply", MALFORMED)),
    Hostile("a list", "parser", _with("dependency", "parser.json", "[]"), ("parser.json", "must be an object", MALFORMED)),
    Hostile("a number of 5,000 digits", "parser", _with("dependency", "parser.json", "9" * 5000), ("parser.json", "not JSON", MALFORMED)),
    Hostile("NaN", "parser", _set("dependency", "parser.json", "config/sizes/arc_mlp", float("nan")), ("parser.json", "NaN is no number", MALFORMED)),
    Hostile("another format", "parser", _set("dependency", "parser.json", "format_version", ["\x1b[2J" * 500]), ("parser.json", "format version", "train the parser again")),
    Hostile("kind missing", "parser", _set("dependency", "parser.json", "kind", None), ("parser.json", "missing description fields ['kind']", MALFORMED)),
    Hostile("kind a list", "parser", _set("dependency", "parser.json", "kind", [["x"]]), PARSER),
    Hostile("kind unknown", "parser", _set("dependency", "parser.json", "kind", "x" * 100_000), ("parser.json", "does not know", "give one of")),
    Hostile("config a list", "parser", _set("dependency", "parser.json", "config", []), PARSER),
    Hostile("config empty", "parser", _set("dependency", "parser.json", "config", {}), MISSHAPED),
    Hostile("sizes a list", "parser", _set("dependency", "parser.json", "config/sizes", [1]), MISSHAPED),
    Hostile("a size of a billion", "parser", _set("dependency", "parser.json", "config/sizes/lstm_hidden", 10**9), MISSHAPED),
    Hostile("a size beyond 64 bits", "parser", _set("dependency", "parser.json", "config/sizes/arc_mlp", 10**30), MISSHAPED),
    Hostile("a billion layers", "parser", _set("dependency", "parser.json", "config/sizes/lstm_layers", 10**9), MISSHAPED),
    Hostile("a negative size", "parser", _set("dependency", "parser.json", "config/sizes/relation_mlp", -1), MISSHAPED),
    Hostile("words a string", "parser", _set("dependency", "parser.json", "config/vocabulary/words", "abc"), MISSHAPED),
    Hostile("words of numbers", "parser", _set("dependency", "parser.json", "config/vocabulary/words", [1, 2]), MISSHAPED),
    Hostile("words without specials", "parser", _set("dependency", "parser.json", "config/vocabulary/words", []), MISSHAPED),
    Hostile("a chart of a billion", "parser", _set("constituency", "parser.json", "config/model/d_ff", 10**9), MISSHAPED),
    Hostile("a billion chart layers", "parser", _set("constituency", "parser.json", "config/model/num_layers", 10**9), MISSHAPED),
    Hostile("no reserved characters", "parser", _set("constituency", "parser.json", "config/vocabularies/characters", ["a"]), MISSHAPED),
    Hostile("files a list", "parser", _set("dependency", "parser.json", "files", ["a"]), PARSER),
    Hostile("a file above", "parser", _named("dependency", lambda good: "../victims/victim"), ("names a file", "leads out", ANEW)),
    Hostile("an absolute file", "parser", _named("dependency", lambda good: str(good.victim)), ("names a file", "is absolute", ANEW)),
    Hostile("a file above, for the cluster", "cluster", _named("dependency", lambda good: "a/../../victims/victim"), ("names a file", "leads out", ANEW)),
    Hostile("an absolute file, for the cluster", "cluster", _named("dependency", lambda good: str(good.victim)), ("names a file", "is absolute", ANEW)),
    Hostile("weights that are a link out, for the cluster", "cluster", _linked("dependency", "weights.safetensors"), ("names a file", "by a link", ANEW)),
    Hostile("a file above, on a node", "node", _sent(lambda good: "../../../x"), ("names a file", "leads out", ANEW)),
    Hostile("an absolute file, on a node", "node", _sent(lambda good: str(good.victim)), ("names a file", "is absolute", ANEW)),
    # a parser's weights
    Hostile("weights cut short", "parser", _cut("dependency", "weights.safetensors"), ("weights.safetensors", "not a safetensors file", "restore")),
    Hostile("weights that are text", "parser", _with("dependency", "weights.safetensors", "x" * 99), ("weights.safetensors", "sha256 differs", "restore")),
    Hostile("weights that are no numbers", "parser", _tensors("dependency", "weights.safetensors", lambda t: t["arc_attn.weight"].fill_(float("nan"))), ("weights.safetensors", "not finite", "restore")),
    Hostile("a weight missing", "parser", _tensors("dependency", "weights.safetensors", lambda t: t.pop("arc_attn.weight")), MISSHAPED),
    Hostile("a weight of another shape", "parser", _tensors("dependency", "weights.safetensors", lambda t: t.update({"arc_attn.weight": torch.zeros(3)})), MISSHAPED),
    # checksums.json
    Hostile("checksums a list", "parser", _with("dependency", "checksums.json", "[]"), ("checksums.json", "must hold an object", RESTORE)),
    Hostile("checksums a number", "parser", _with("dependency", "checksums.json", '{"file_sha256": 5}'), ("checksums.json", NO_SHA256, RESTORE)),
    Hostile("checksums of numbers", "parser", _with("dependency", "checksums.json", '{"file_sha256": {"parser.json": 5}}'), ("checksums.json", NO_SHA256, RESTORE)),
    Hostile("checksums nested", "parser", _with("dependency", "checksums.json", DEEP), ("checksums.json", "nests too deeply", RESTORE)),
    Hostile("checksums of another parser", "parser", _with("dependency", "checksums.json", '{"file_sha256": {"parser.json": "0"}}'), ("parser.json", "damaged or of another run", RESTORE)),
    Hostile("a sha256 of checksums that is none", "parser", _with("dependency", "checksums.json", '{"content_sha256": []}'), ("checksums.json", "damaged or edited", RESTORE)),
    # a transformer in a parser
    Hostile("a transformer with code", "parser", lambda good, path: good.transformer(path, {"config.json": {"auto_map": {"AutoModel": "a.B"}}}), ("config.json", "code of its own", "convert")),
    Hostile("a transformer's vocabulary elsewhere", "parser", lambda good, path: good.transformer(path, {"config.json": {}, "tokenizer_config.json": {"vocab_file": str(good.victim)}}), ("names a file", "is absolute", ANEW)),
    Hostile("a transformer's weights elsewhere", "parser", lambda good, path: good.transformer(path, {"config.json": {}, "model.safetensors.index.json": {"weight_map": {"a": "../../victims/victim"}}}), ("names a file", "leads out", ANEW)),
    Hostile("a transformer in a pickle", "parser", lambda good, path: good.transformer(path, {"config.json": {}, "pytorch_model.bin": {}}), ("pytorch_model.bin", "a pickle", "convert")),
    Hostile("a transformer of a billion layers", "parser", lambda good, path: good.transformer(path, {"config.json": {"model_type": "bert", "num_hidden_layers": 10**9}, "model.safetensors.index.json": {"weight_map": {}}}), ("transformer", "layers are asked for", "convert")),
    Hostile("a transformer of no kind", "parser", lambda good, path: good.transformer(path, {"config.json": [1]}), ("config.json", "must hold an object", "convert")),
    # scores.json
    Hostile("scores a list", "scores", _with("dependency", "scores.json", "[1]"), ("scores.json", "must be an object", "or remove")),
    Hostile("scores of text", "scores", _with("dependency", "scores.json", '{"LAS": "<script>"}'), ("scores.json", "finite number", "or remove")),
    Hostile("scores NaN", "scores", _with("dependency", "scores.json", '{"LAS": NaN}'), ("scores.json", "NaN is no number", "or remove")),
    Hostile("scores nested", "scores", _with("dependency", "scores.json", DEEP), ("scores.json", "nests too deeply", "or remove")),
    # model.json
    Hostile("no JSON", "model", _with("model", "model.json", "]"), ("model.json", "not JSON", "train again")),
    Hostile("nested 100,000 deep", "model", _with("model", "model.json", DEEP), ("model.json", "nests too deeply", "train again")),
    Hostile("a list", "model", _with("model", "model.json", "[]"), ("model.json", "must be an object", "train again")),
    Hostile("config missing", "model", _set("model", "model.json", "config", None), ("model.json", "missing model fields ['config']", "train again")),
    Hostile("config a string", "model", _set("model", "model.json", "config", "x"), ("model.json", "must be", "train again")),
    Hostile("an unknown setting", "model", _set("model", "model.json", "config/x", 1), ("model.json", "unknown", "train again")),
    Hostile("views a number", "model", _set("model", "model.json", "config/views", 5), ("model.json", "views must be", "train again")),
    Hostile("a hidden size of a billion", "model", _set("model", "model.json", "config/hidden_size", 10**9), ("model.safetensors", "no network has these sizes", "train again")),
    Hostile("a hidden size of 90 GB", "model", _set("model", "model.json", "config/hidden_size", 50_000), ("model.safetensors", "do not fit", "train again")),
    Hostile("a hidden size of text", "model", _set("model", "model.json", "config/hidden_size", "6"), ("model.json", "hidden_size must be", "train again")),
    Hostile("vectors a list", "model", _set("model", "model.json", "vectors", []), ("model.json", "must be", "train again")),
    Hostile("vectors without a checksum", "model", _set("model", "model.json", "vectors/checksum", None), ("model.json", "missing vectors fields", "train again")),
    Hostile("vectors in a system's file", "model", _vectors_elsewhere, ("victim:1", "expected a word", "give vectors=PATH")),
    Hostile("parsers a string", "model", _set("model", "model.json", "parsers", "x"), ("model.json", "parsers must be", "train again")),
    Hostile("weights cut short", "model", _cut("model", "model.safetensors"), ("model.safetensors", "cannot be loaded", "train again")),
    Hostile("weights missing", "model", _tensors("model", "model.safetensors", dict.popitem), ("model.safetensors", "missing", "train again")),
    Hostile("sha256 of its files a number", "model", _set("model", "model.json", "file_sha256", 5), ("model.json", NO_SHA256, "train again")),
    Hostile("sha256 of a file a list", "model", _set("model", "model.json", "file_sha256", {"model.safetensors": [None]}), ("model.json", NO_SHA256, "train again")),
    # word vectors
    Hostile("words an object", "vectors", _with("vectors", "words.json", "{}"), ("words.json", "must hold a list", "fetch or train them again")),
    Hostile("a word that is a number", "vectors", _with("vectors", "words.json", '["a", 3]'), ("words.json", "must be a string", "fetch or train them again")),
    Hostile("words nested", "vectors", _with("vectors", "words.json", DEEP), ("words.json", "nests too deeply", "fetch or train them again")),
    Hostile("fewer words than vectors", "vectors", _with("vectors", "words.json", "[]"), ("0 words", "but vectors of shape", "fetch or train them again")),
    Hostile("vectors cut short", "vectors", _cut("vectors", "vectors.safetensors"), ("vectors.safetensors", "broken word vectors", "fetch or train them again")),
    Hostile("vectors that are no numbers", "vectors", _tensors("vectors", "vectors.safetensors", lambda t: t["vectors"].fill_(float("inf"))), ("vectors.safetensors", "not finite", "fetch or train them again")),
    Hostile("no tensor of vectors", "vectors", _tensors("vectors", "vectors.safetensors", lambda t: t.update(x=t.pop("vectors"))), ("vectors.safetensors", "broken word vectors", "fetch or train them again")),
    Hostile("facts a list", "vectors", _with("vectors", "training.json", "[]"), ("training.json", "must hold an object", "fetch or train them again")),
    Hostile("sha256 of their files a number", "vectors", _with("vectors", "training.json", '{"file_sha256": 5}'), ("training.json", NO_SHA256, "fetch or train them again")),
    Hostile("sha256 of their files numbers", "vectors", _with("vectors", "training.json", '{"file_sha256": {"words.json": 5}}'), ("training.json", NO_SHA256, "fetch or train them again")),
    # checkpoints for the converter
    Hostile("a tar with a hard link", "convert", _file(lambda good, path: checkpoints.tar_file(path, good.victim)), ("given.pt", "in its zip format", SAVED)),
    Hostile("a legacy pickle that writes a file", "convert", _file(lambda good, path: checkpoints.legacy_file(path, checkpoints.module_program(good.victim))), ("given.pt", "in its zip format", SAVED)),
    Hostile("a persistent id of a module", "convert", _program(checkpoints.module_program), ("given.pt", "sets attributes", SAVED)),
    Hostile("attributes on torch's functions", "convert", _program(checkpoints.attribute_program), ("given.pt", "sets attributes", SAVED)),
    Hostile("a pickle that makes a folder", "convert", _program(checkpoints.call_program), ("given.pt", "neither a parser", "saved")),
    Hostile("a tensor of terabytes", "convert", _file(lambda _, path: checkpoints.torch_zip(path, checkpoints.tensor_program((10**12,), 1), {"data/0": bytes(4)})), ("given.pt", "more numbers than", SAVED)),
    Hostile("a zip whose member is a/..", "convert", _file(lambda _, path: checkpoints.zip_of(path, "a/..")), ("names a file", "leads out", ANEW)),
    Hostile("label_vocab missing", "convert", _benepar(label_vocab=None), ("given.pt", "missing entries ['label_vocab']", SAVED)),
    Hostile("hparams a list", "convert", _benepar(hparams=[]), ("given.pt", "entry hparams must be", SAVED)),
    Hostile("hparams of few", "convert", _benepar(), ("given.pt", "its hparams lack", SAVED)),
    # what a report reads
    Hostile("summary a list", "report", _with("training", "summary.json", "[]"), ("summary.json", "must hold an object", "run it again")),
    Hostile("summary of few", "report", _with("training", "summary.json", "{}"), ("summary.json", "lacks", "run it again")),
    Hostile("sha256 of its files a number", "report", _with("training", "summary.json", '{"file_sha256": 5}'), ("summary.json", NO_SHA256, "run it again")),
    # what a training resumes from
    Hostile("state a list", "resume", _with("training", "checkpoints/step-0000000001/state.json", "[]"), ("step-0000000001", "must be an object", "delete")),
    Hostile("state of text", "resume", _with("training", "checkpoints/step-0000000001/state.json", '{"step": "x", "state": {}}'), ("step-0000000001", "whole number", "delete")),
    Hostile("state nested", "resume", _with("training", "checkpoints/step-0000000001/state.json", DEEP), ("step-0000000001", "nests too deeply", "delete")),
    Hostile("tensors cut short", "resume", _with("training", "checkpoints/step-0000000001/tensors.safetensors", "x"), ("step-0000000001", "broken checkpoint", "delete")),
    Hostile("sha256 of its files a list", "resume", _set("training", "checkpoints/step-0000000001/state.json", "file_sha256", [1]), ("step-0000000001", NO_SHA256, "delete")),
    # a corpus
    Hostile("manifest a list", "corpus", _with("corpus", "manifest.json", "[]"), ("manifest.json", "not readable as a manifest", "run the stage again")),
    Hostile("manifest nested", "corpus", _with("corpus", "manifest.json", DEEP), ("manifest.json", "not readable as a manifest", "run the stage again")),
    Hostile("rows of text", "corpus", _set("corpus", "manifest.json", "rows", "x"), ("manifest.json", "rows must be", "run the stage again")),
)  # fmt: skip


def trials(options: Options) -> Iterator[Trial]:
    """Tries each line of the table, with ``--quick`` some of each kind without a new process."""
    good = Good(options.work / "good")
    chosen = TABLE[::EVERY] if options.quick else TABLE
    for number, hostile in enumerate(chosen):
        if options.quick and hostile.door == "convert":
            continue
        path = options.work / f"{number:02d}"
        hostile.make(good, path)
        yield tried(hostile, DOORS[hostile.door], path, good)


def tried(hostile: Hostile, door: Door, path: Path, good: Good) -> Trial:
    """Opens a folder that somebody made, and says what came of it."""
    what = f"{hostile.door}: {hostile.what}"
    before = good.beside(path)
    try:
        with _no_longer_than(SECONDS):
            door(path)
        outcome = "taken for a good one"
    except (ValueError, OSError) as error:
        outcome = _fault(str(error), hostile)
    except (Exception, _HeldUpError) as error:
        outcome = f"not told in a sentence: {type(error).__name__}: {error!s:.200}"
    if (after := good.beside(path)) != before:
        outcome = f"files beside it changed: {sorted(set(before.items()) ^ set(after.items()))}"
    return Trial(what, not outcome, outcome)


def _fault(message: str, hostile: Hostile) -> str:
    """Returns what is wrong with a refusal; nothing of one as it must be."""
    place = 0
    for part in hostile.says:
        place = message.find(part, place)
        if place < 0:
            return f"does not say {part!r}: {message:.300}"
    if len(message) > CHARACTERS or "\n" in message or not message.isprintable():
        return f"not one short printable line: {message!r:.300}"
    return f"tells of another file: {message:.300}" if SECRET in message else ""


@contextlib.contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _HeldUpError(f"longer than {seconds} s")

    former = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
