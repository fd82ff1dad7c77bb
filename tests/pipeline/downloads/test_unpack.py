"""Archives: what is wanted of them, and what is refused."""

from __future__ import annotations

import pytest

from pipeline.downloads.evaluation_data import unpack
from pipeline.downloads.evaluation_data.unpack import (
    ArchiveError,
    MissingMemberError,
    read_members,
)
from tests.support.evaluation_archives import tarred

TEXT = b"a river\nrose\n"


def read(folder, content, wanted=("MR/pos",)):
    path = folder / "archive"
    path.write_bytes(content)
    return read_members(path, list(wanted))


@pytest.mark.parametrize(
    "pack", [tarred, lambda members: tarred(members, mode="w")], ids=["gz", "tar"]
)
class TestEveryFormat:
    def test_wanted_members_are_found_by_the_end_of_their_path(self, pack, tmp_path):
        content = pack({"./data/MR/pos": TEXT, "./data/XMR/pos": b"x", "other": b"y"})
        assert read(tmp_path, content) == {"MR/pos": TEXT}

    def test_a_whole_path_goes_before_the_end_of_another(self, pack, tmp_path):
        content = pack({"MR/pos": TEXT, "copy/MR/pos": b"x"})
        assert read(tmp_path, content) == {"MR/pos": TEXT}

    def test_nothing_is_written(self, pack, tmp_path):
        read(tmp_path, pack({"MR/pos": TEXT, "../evil": b"x"}))
        assert [path.name for path in tmp_path.iterdir()] == ["archive"]

    def test_a_missing_or_doubtful_member_is_named(self, pack, tmp_path):
        with pytest.raises(MissingMemberError, match="archive: no member named MR/pos"):
            read(tmp_path, pack({"MR/neg": TEXT}))
        with pytest.raises(MissingMemberError, match="2 members named MR/pos"):
            read(tmp_path, pack({"a/MR/pos": TEXT, "b/MR/pos": TEXT}))

    def test_a_large_member_is_refused(self, pack, tmp_path, monkeypatch):
        monkeypatch.setattr(unpack, "MAX_MEMBER_BYTES", 12)
        with pytest.raises(ArchiveError, match="MR/pos is larger than 12 bytes"):
            read(tmp_path, pack({"MR/pos": TEXT}))

    def test_a_cut_archive_is_an_error(self, pack, tmp_path):
        content = pack({"MR/pos": bytes(range(256)) * 40, "MR/neg": TEXT})
        with pytest.raises(ArchiveError):
            read(tmp_path, content[: len(content) // 2], wanted=["MR/pos", "MR/neg"])


def test_what_is_no_archive_is_named(tmp_path):
    with pytest.raises(ArchiveError, match="archive: not a whole archive"):
        read(tmp_path, b"<html>moved</html>")
