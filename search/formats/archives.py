"""ZIP archives of strangers: the whole directory is checked before anything is unpacked. And archives of ours."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from search.formats.format import FormatError
from search.formats.reading import FILE_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1
_LINK, _KIND = 0o120000, 0o170000
_CHUNK = 1 << 16
_NESTED = (".zip", ".tar", ".gz", ".7z", ".xz", ".bz2")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""A date of its own would make every export another archive."""


class Kind(StrEnum):
    """What is wrong with an upload."""

    EMPTY = "empty"
    WRONG_TYPE = "wrong_type"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    BOMB = "bomb"
    BAD_PATH = "bad_path"
    LINK = "link"
    DUPLICATE = "duplicate"
    ENCRYPTED = "encrypted"
    NESTED = "nested"
    BROKEN = "broken"
    REFUSED = "refused"
    """The content of an item; the text says what."""


class UploadError(FormatError):
    """An upload of which nothing is taken."""

    def __init__(self, kind: Kind, problem: str, source: str = "", line: int | None = None) -> None:
        """Say what is wrong, and of what kind it is."""
        super().__init__(problem, source, line)
        self.kind = kind


@dataclass(frozen=True)
class Limits:
    """How large an upload may be."""

    files: int = 20_000
    file_bytes: int = FILE_LIMIT_BYTES
    total_bytes: int = 256 << 20
    ratio: int = 200
    """Unpacked bytes over packed ones, for what is larger than a megabyte."""
    items: int = 5_000
    path_characters: int = 300


def is_archive(content: bytes) -> bool:
    """Whether it begins as a ZIP does."""
    return content.startswith(_BEGINNINGS)


def check_path(path: str, limits: Limits) -> None:
    """Refuse paths that lead out of an upload.

    Raises:
        UploadError: BAD_PATH.
    """
    if len(path) > limits.path_characters:
        raise UploadError(Kind.BAD_PATH, "a path that is too long", f"{path[:80]}…")
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\\" in path or ":" in path or not path.isprintable():
        raise UploadError(
            Kind.BAD_PATH, "a path that leads out of the upload, or holds odd characters", repr(path)
        )


@dataclass(frozen=True)
class Wanted:
    """What an archive may hold."""

    is_read: Callable[[str, int], bool]
    """Whether a file of this path and size is unpacked."""
    endings: tuple[str, ...]
    """Of all files that may lie in it."""


def unpacked(content: bytes, limits: Limits, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """The wanted files of an archive, one after the other; all entries are checked before the first is unpacked.

    Raises:
        UploadError: too much, too many, or an entry that may not be there.
    """
    if _entries(content) > limits.files:
        raise UploadError(Kind.TOO_MANY, f"more than {limits.files} entries")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_entries(entries, limits, wanted)
            read = [entry for entry in entries if wanted.is_read(entry.filename, entry.file_size)]
            if not read:
                raise UploadError(Kind.EMPTY, "there is no file that could be read")
            for entry in read:
                yield entry.filename, _one(archive, entry, limits)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise UploadError(
            Kind.BROKEN, "the archive is damaged, or packed in a way that is not read"
        ) from error


def _entries(content: bytes) -> int:
    """Number of entries by the size of the directory, before it is read; an entry takes 46 bytes at least."""
    end = content.rfind(b"PK\x05\x06")
    size = int.from_bytes(content[end + 12 : end + 16], "little") if end >= 0 else 0
    told = int.from_bytes(content[end + 10 : end + 12], "little") if end >= 0 else 0
    return len(content) // 46 if size == 0xFFFFFFFF or told == 0xFFFF else max(told, 0)


def _check_entries(entries: list[zipfile.ZipInfo], limits: Limits, wanted: Wanted) -> None:
    if len(entries) > limits.files:
        raise UploadError(Kind.TOO_MANY, f"{len(entries)} entries, over the limit of {limits.files}")
    seen: set[str] = set()
    total = 0
    for entry in entries:
        path = entry.filename
        check_path(path, limits)
        if path.casefold() in seen:
            raise UploadError(Kind.DUPLICATE, "the name appears twice", path)
        seen.add(path.casefold())
        if (entry.external_attr >> 16) & _KIND == _LINK:
            raise UploadError(Kind.LINK, "a link, which is not followed", path)
        if entry.flag_bits & _ENCRYPTED:
            raise UploadError(Kind.ENCRYPTED, "it is encrypted", path)
        if path.endswith(_NESTED):
            raise UploadError(Kind.NESTED, "an archive inside the archive", path)
        total += entry.file_size
        _check_size(entry, total, limits)
        if wanted.is_read(path, entry.file_size) and entry.file_size > limits.file_bytes:
            raise UploadError(Kind.TOO_LARGE, f"longer than {limits.file_bytes} bytes", path)
        if not path.endswith(wanted.endings):
            raise UploadError(Kind.WRONG_TYPE, "a file of a kind that is not read here", path)


def _check_size(entry: zipfile.ZipInfo, total: int, limits: Limits) -> None:
    path = entry.filename
    if entry.file_size > 1 << 20 and entry.file_size > limits.ratio * max(entry.compress_size, 1):
        raise UploadError(Kind.BOMB, f"it grows more than {limits.ratio} times", path)
    if total > limits.total_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {limits.total_bytes} bytes in all", path)


def _one(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: Limits) -> bytes:
    """Content of an entry; one that is longer than the directory says is not read to its end."""
    made = bytearray()
    with archive.open(entry) as stream:
        while part := stream.read(_CHUNK):
            made += part
            if len(made) > min(entry.file_size, limits.file_bytes):
                raise UploadError(Kind.BOMB, "it is longer than the archive says", entry.filename)
    return bytes(made)


def packed(files: Mapping[str, bytes]) -> bytes:
    """An archive of files by path; the same files give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path, _LONG_AGO), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()
