"""An S3 of this machine, for tests of storages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BUCKET = "treeviews"


@contextmanager
def object_store() -> Iterator[str]:
    """Runs an S3 for the time of a ``with`` block; gives the address of a prefix in its bucket."""
    server_module = pytest.importorskip("moto.server")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "of-no-account")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        _create_bucket(f"s3://{BUCKET}?{settings}&allow_bucket_creation=true")
        try:
            yield f"s3://{BUCKET}/prefix?{settings}"
        finally:
            server.stop()


def _create_bucket(address: str) -> None:
    from pyarrow import fs

    files, path = fs.FileSystem.from_uri(address)
    files.create_dir(path)
