"""Archives: what is wanted of them, and every way in which one may not be trusted."""

from __future__ import annotations

import io
import random
import stat
import tarfile
import warnings
import zipfile

import pytest

from pipeline.downloads.evaluation_data import unpack
from pipeline.downloads.evaluation_data.unpack import (
    MissingMemberError,
    UnpackLimits,
    UnsafeArchiveError,
    read_members,
)
from tests.support.evaluation_archives import tarred, tarred_members, zipped

TEXT = b"a river\nrose\n"


def read(folder, content, wanted=("MR/pos",), **limits):
    path = folder / "archive"
    path.write_bytes(content)
    return read_members(path, list(wanted), UnpackLimits(**limits))


@pytest.mark.parametrize(
    "pack", [zipped, tarred, lambda members: tarred(members, mode="w")], ids=["zip", "gz", "tar"]
)
class TestEveryFormat:
    def test_wanted_members_are_found_by_the_end_of_their_path(self, pack, tmp_path):
        content = pack({"./data/MR/pos": TEXT, "./data/XMR/pos": b"x", "other": b"y"})
        assert read(tmp_path, content) == {"MR/pos": TEXT}

    def test_a_whole_path_goes_before_the_end_of_another(self, pack, tmp_path):
        content = pack({"MR/pos": TEXT, "copy/MR/pos": b"x"})
        assert read(tmp_path, content) == {"MR/pos": TEXT}

    def test_nothing_is_written(self, pack, tmp_path):
        read(tmp_path, pack({"MR/pos": TEXT}))
        assert [path.name for path in tmp_path.iterdir()] == ["archive"]

    def test_a_missing_member_is_named(self, pack, tmp_path):
        with pytest.raises(MissingMemberError, match="archive: no member named MR/pos"):
            read(tmp_path, pack({"MR/neg": TEXT}))

    def test_two_members_that_could_be_meant_are_an_error(self, pack, tmp_path):
        with pytest.raises(MissingMemberError, match="2 members named MR/pos"):
            read(tmp_path, pack({"a/MR/pos": TEXT, "b/MR/pos": TEXT}))

    @pytest.mark.parametrize(
        "name", ["../evil", "/etc/evil", "a/../../evil", "..\\evil", "C:/evil"]
    )
    def test_a_member_that_leaves_the_folder_refuses_the_archive(self, pack, tmp_path, name):
        with pytest.raises(UnsafeArchiveError, match="leaves the archive's folder"):
            read(tmp_path, pack({"MR/pos": TEXT, name: b"x"}))

    def test_a_large_member_is_refused(self, pack, tmp_path):
        with pytest.raises(UnsafeArchiveError, match="MR/pos is larger than 12 bytes"):
            read(tmp_path, pack({"MR/pos": TEXT}), max_member_bytes=12)

    def test_many_members_are_refused(self, pack, tmp_path):
        with pytest.raises(UnsafeArchiveError, match="more than 2 members"):
            read(tmp_path, pack({"MR/pos": TEXT, "a": b"", "b": b""}), max_members=2)

    def test_a_large_total_is_refused(self, pack, tmp_path):
        content = pack({"MR/pos": TEXT, "a": TEXT})
        with pytest.raises(UnsafeArchiveError, match="unpacks to more than 20 bytes"):
            read(tmp_path, content, max_total_bytes=20)

    def test_a_cut_archive_is_an_error(self, pack, tmp_path):
        content = pack({"MR/pos": bytes(range(256)) * 40, "MR/neg": TEXT})
        with pytest.raises(UnsafeArchiveError):
            read(tmp_path, content[: len(content) // 2], wanted=["MR/pos", "MR/neg"])


@pytest.mark.parametrize("pack", [zipped, tarred], ids=["zip", "gz"])
def test_a_bomb_is_refused_by_its_ratio(pack, tmp_path):
    content = pack({"MR/pos": b"0" * (30 << 20)})
    with pytest.raises(UnsafeArchiveError, match=r"unpacks to (over 200 times|more than)"):
        read(tmp_path, content)


def test_a_zip_that_lies_about_a_size_is_refused(tmp_path):
    content = zipped({"MR/pos": b"0" * 1000})
    lying = content.replace((1000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != content
    with pytest.raises(UnsafeArchiveError):
        read(tmp_path, lying, max_member_bytes=100)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_a_zip_with_a_link_or_device_is_refused(tmp_path, kind):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        member = zipfile.ZipInfo("link")
        member.external_attr = (kind | 0o644) << 16
        archive.writestr(member, "/etc/passwd")
        archive.writestr("MR/pos", TEXT)
    with pytest.raises(UnsafeArchiveError, match="link is a link or device"):
        read(tmp_path, stream.getvalue())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_a_tar_with_a_link_or_device_is_refused(tmp_path, kind):
    link = tarfile.TarInfo("link")
    link.type, link.linkname = kind, "/etc/passwd"
    content = tarred_members([(link, b""), (tarfile.TarInfo("MR/pos"), TEXT)])
    with pytest.raises(UnsafeArchiveError, match="link is a link or device"):
        read(tmp_path, content)


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("MR/pos", TEXT)
        archive.writestr("MR/pos", b"x")
    twice = [(tarfile.TarInfo("MR/pos"), TEXT), (tarfile.TarInfo("./MR/pos"), b"x")]
    for content in (stream.getvalue(), tarred_members(twice)):
        with pytest.raises(UnsafeArchiveError, match="occurs twice"):
            read(tmp_path, content)


NOISE = random.Random(0).randbytes(3000)


def packed_by(method):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("MR/pos", NOISE)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        tarred({"MR/pos": NOISE}),
        packed_by(zipfile.ZIP_STORED),
        packed_by(zipfile.ZIP_DEFLATED),
        packed_by(zipfile.ZIP_BZIP2),
        packed_by(zipfile.ZIP_LZMA),
    ],
    ids=["gz", "stored", "deflated", "bzip2", "lzma"],
)
def test_a_flipped_bit_never_gives_other_bytes_nor_another_error(tmp_path, content):
    refused = 0
    for place in (
        *range(0, 60),
        *range(60, len(content), 61),
        *range(len(content) - 90, len(content)),
    ):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        try:
            assert read(tmp_path, bytes(damaged)) == {"MR/pos": NOISE}  # a date, or the like
        except UnsafeArchiveError:
            refused += 1
    assert refused > 60


def test_a_wrong_sum_of_gzip_is_damage_though_the_tar_is_whole(tmp_path):
    content = bytearray(tarred({"MR/pos": TEXT}))
    content[-8] ^= 1
    with pytest.raises(UnsafeArchiveError, match=r"archive: not a whole archive \(CRC"):
        read(tmp_path, bytes(content))


def test_a_fault_of_the_disk_is_not_called_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_members(tmp_path / "nowhere", ["MR/pos"])


def test_a_tar_whose_last_member_is_a_zip_is_a_tar(tmp_path):
    content = tarred({"MR/pos": TEXT, "last.zip": zipped({"MR/pos": b"x"})}, mode="w")
    assert read(tmp_path, content) == {"MR/pos": TEXT}


def test_a_long_directory_of_a_zip_is_refused_before_it_is_read(tmp_path):
    content = zipped({"MR/pos": TEXT, "a" * 4000: b""})
    with pytest.raises(UnsafeArchiveError, match="directory is too long for 2 members"):
        read(tmp_path, content, max_members=2)


def test_a_zip_with_a_directory_of_zip64_is_refused(tmp_path):
    content = zipped({"MR/pos": TEXT})
    content = content[:-22] + b"PK\x06\x07" + bytes(16) + content[-22:]
    with pytest.raises(UnsafeArchiveError, match="directory is too long"):
        read(tmp_path, content)


def test_a_zip_may_end_in_a_comment(tmp_path):
    content = zipped({"MR/pos": TEXT})
    content = content[:-2] + (9).to_bytes(2, "little") + b"a comment"
    assert read(tmp_path, content) == {"MR/pos": TEXT}


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_tar_with_a_long_record_is_refused(tmp_path, kind):
    record = tarfile.TarInfo("record")
    record.type = kind
    content = tarred_members(
        [(record, b"x" * ((1 << 20) + 1)), (tarfile.TarInfo("MR/pos"), TEXT)], mode="w"
    )
    with pytest.raises(UnsafeArchiveError, match="a name or record of 1,048,577 bytes"):
        read(tmp_path, content)


def test_what_is_no_archive_is_refused(tmp_path):
    with pytest.raises(UnsafeArchiveError, match="archive: not a whole archive"):
        read(tmp_path, b"<html>moved</html>" * 100)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_no_member_of_a_tar_is_read_before_it_is_known_which_are_meant(tmp_path, monkeypatch, mode):
    read_names = []
    monkeypatch.setattr(unpack, "_read", lambda stream, name, limits: read_names.append(name))
    content = tarred({f"{number}/MR/pos": TEXT for number in range(3)}, mode=mode)

    with pytest.raises(MissingMemberError, match="3 members named MR/pos"):
        read(tmp_path, content)
    assert read_names == []

    content = tarred({"MR/pos": TEXT, "copy/MR/pos": TEXT}, mode=mode)
    read(tmp_path, content, wanted=["MR/pos", "copy/MR/pos"])
    assert read_names == ["MR/pos", "copy/MR/pos"]
