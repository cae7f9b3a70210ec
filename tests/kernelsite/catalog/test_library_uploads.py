from __future__ import annotations

import io
import zipfile

import pytest
from library_texts import ACTION, FILES

from kernelsite.catalog import library_files
from kernelsite.catalog.library_files import LibraryFilesError, from_upload, to_files, to_yaml, to_zip
from search.library import load_files, load_library, load_path, shipped_library

CORE = shipped_library()


def archive(*members):
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return found.getvalue()


def link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info


def test_a_version_survives_every_form_it_is_written_in(tmp_path):
    files = to_files(CORE)
    assert load_files(files, "core").hash == CORE.hash
    assert load_library(to_yaml(CORE), "core").hash == CORE.hash
    packed = to_zip(files, "core")
    assert packed == to_zip(files, "core")
    assert from_upload("core.zip", packed) == files
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert load_path(tmp_path).hash == CORE.hash
    assert sum(name.startswith(("1", "2")) for name in files) == len(CORE.actions)


def test_a_single_file_and_a_byte_order_mark_are_read():
    assert list(from_upload("mine.yaml", b"\xef\xbb\xbfname: a\r\n").values()) == ["name: a\n"]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.yaml", b"", "is empty"),
        ("a.exe", b"MZ\x90", "comes as"),
        ("a.yaml", b"\xff\xfe", "no UTF-8"),
        ("a.yaml", b"name: \0", "zero byte"),
        ("a.yaml", b"a" * (library_files.UPLOAD_LIMIT + 1), "are allowed"),
        ("a.yaml", b"a" * (library_files.TEXT_LIMIT + 1), "longer than"),
        ("a.zip", b"PK\x03\x04rubbish", "damaged"),
        ("a.zip", archive(), "no file that could be read"),
        ("a.zip", archive(("../../etc/x.yaml", "a")), "leads out"),
        ("a.zip", archive(("/etc/x.yaml", "a")), "leads out"),
        ("a.zip", archive((link("x.yaml"), "/etc/passwd")), "a link"),
        ("a.zip", archive(("lib/run.py", "import os")), "a kind that is not read"),
        ("a.zip", archive(("a/b/c.yaml", "a")), "no library file"),
        ("a.zip", archive(("a/x.yaml", "a"), ("b/x.yaml", "b")), "twice"),
        ("a.zip", archive(("x.yaml", b"\xff")), "no UTF-8"),
        ("a.zip", archive(("bomb.yaml", b" " * 30_000_000)), "grows more than"),
        ("a.zip", archive(*((f"x{n}.yaml", "") for n in range(401))), "more than 400 entries"),
    ],
)
def test_hostile_uploads_are_refused_with_a_reason(name, data, words):
    with pytest.raises(LibraryFilesError, match=words):
        from_upload(name, data)


def test_an_encrypted_member_is_refused():
    data = bytearray(archive(("x.yaml", "a")))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(LibraryFilesError, match="encrypted"):
        from_upload("a.zip", bytes(data))


def test_names_of_files_are_plain():
    with pytest.raises(LibraryFilesError, match="no name"):
        library_files.checked(FILES | {"../x.yaml": ACTION})
