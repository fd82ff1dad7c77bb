"""SentEval's data: where each set comes from, how its files are made, and what is there of it.

In: the sets' names, and a mirror or the declared addresses, or a folder of the user's own. Out: a
folder laid out as SentEval's ``data``, and its manifest. Everybody else imports from here alone.
"""

from pipeline.downloads.evaluation_data.collect import (
    EXAMINATION_VERSION,
    check_data_folder,
    collect_datasets,
    examine_folder,
)
from pipeline.downloads.evaluation_data.fetch import FetchConfig
from pipeline.downloads.evaluation_data.manifest import (
    DATA_PARTS,
    MANIFEST_NAME,
    DataManifest,
    Dataset,
    FileEntry,
    digest_of_declaration,
    read_manifest,
    read_manifest_file,
    write_manifest,
)
from pipeline.downloads.evaluation_data.sources import SENTEVAL_SETS, datasets_named

__all__ = [
    "DATA_PARTS",
    "EXAMINATION_VERSION",
    "MANIFEST_NAME",
    "SENTEVAL_SETS",
    "DataManifest",
    "Dataset",
    "FetchConfig",
    "FileEntry",
    "check_data_folder",
    "collect_datasets",
    "datasets_named",
    "digest_of_declaration",
    "examine_folder",
    "read_manifest",
    "read_manifest_file",
    "write_manifest",
]
