"""A place for files by path or URL, with the few operations that shards need.

A folder is written by renaming, an object store by whole objects, so a file is whole or absent in
both. Files are read and written as bytes in memory: a shard has some ten megabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from treeviews.pipeline.base.atomic_files import (
    LEFT_SECONDS,
    TEMPORARY_SUFFIX,
    sweep_unfinished,
    write_bytes_atomically,
)
from treeviews.pipeline.base.foreign_text import HIDDEN, without_secrets

S3_REMEDY = (
    "check the bucket, the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role) "
    "and, for a store other than Amazon's, AWS_ENDPOINT_URL, on all machines"
)


def portable_address(address: str) -> str:
    """Returns an address that means the same in other folders: a relative path becomes absolute."""
    return address if "://" in address else str(Path(address).absolute())


def named_address(address: str) -> str:
    """Returns an address as it may be shown: without credentials and settings."""
    if "://" not in address:
        return address
    public = without_secrets(address).replace(f"://{HIDDEN}@", "://")
    return re.split("[?#]", public, maxsplit=1)[0]


class Storage:
    """Files under one path or URL; a name is a relative path with slashes.

    Args:
        address: a folder, or a URL that `pyarrow.fs` knows: ``s3://bucket/prefix``, ``gs://…``,
            ``file:///…``. Settings follow a question mark, such as
            ``?endpoint_override=host:port&scheme=http&region=us-east-1``.

    Raises:
        ValueError: not an address of a kind that is known.
    """

    def __init__(self, address: str) -> None:
        self.name = named_address(address).rstrip("/")
        try:
            if "://" in address:
                self._files, root = fs.FileSystem.from_uri(address)
            else:
                self._files, root = fs.LocalFileSystem(), str(Path(address).absolute())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            secret = "@" in address or address in str(error)  # Arrow repeats what it cannot parse
            raise ValueError(
                f"storage {self.name}: {'not an address that is known' if secret else error}; give "
                "a folder, or a URL such as s3://bucket/prefix; keys are best given in "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and in a URL / + and @ of a secret "
                "must be percent-encoded"
            ) from None
        self._root = root.rstrip("/")

    def inside(self, folder: str) -> Storage:
        """Returns a folder of this storage, which need not exist, as a storage of its own."""
        inner = copy(self)
        inner.name, inner._root = f"{self.name}/{folder}", f"{self._root}/{folder}"
        return inner

    @property
    def folder(self) -> Path | None:
        """The folder that this storage is; None where it is none of this machine's."""
        return Path(self._root) if isinstance(self._files, fs.LocalFileSystem) else None

    def names(self) -> set[str]:
        """Returns the names of the files directly in this folder."""
        selector = fs.FileSelector(self._root, allow_not_found=True)
        with self._naming_errors():
            found = self._files.get_file_info(selector)
        files = {info.base_name for info in found if info.is_file}
        return {name for name in files if not name.endswith(TEMPORARY_SUFFIX)}

    def has(self, name: str) -> bool:
        """Returns whether a file is there."""
        with self._naming_errors(name):
            return bool(self._files.get_file_info(f"{self._root}/{name}").is_file)

    def read(self, name: str) -> bytes:
        """Returns a file's bytes.

        Raises:
            FileNotFoundError: it is not there.
            OSError: the storage cannot be reached.
        """
        with (
            self._naming_errors(name),
            self._files.open_input_stream(f"{self._root}/{name}") as stream,
        ):
            content: bytes = stream.read()
        return content

    def write(self, name: str, content: bytes) -> None:
        """Writes a file that appears whole or not at all, in place of any of this name.

        Raises:
            OSError: the storage cannot be reached or refuses it.
        """
        path = f"{self._root}/{name}"
        with self._naming_errors(name):
            if self.folder is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                write_bytes_atomically(Path(path), content)
                return
            with self._files.open_output_stream(path) as stream:
                stream.write(content)

    def sweep(self) -> None:
        """Removes what killed writers left in this folder; what is young another may be writing.

        An object store keeps parts of broken uploads out of sight; a rule of the bucket ends them.
        """
        if self.folder is not None:
            sweep_unfinished(self.folder, older_than_seconds=LEFT_SECONDS)

    @contextmanager
    def _naming_errors(self, *name: str) -> Iterator[None]:
        """Has errors say which storage and file, and what to look at."""
        where = "/".join([self.name, *name])
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{where}: not in the storage") from error
        except OSError as error:
            remedy = S3_REMEDY if self.name.startswith("s3:") else "check that it can be reached"
            raise OSError(f"{where}: {error}; {remedy}") from error
