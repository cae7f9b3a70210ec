"""Uploads: one file, JSON Lines, a folder or a ZIP, to items and a report. All limits hold before anything is unpacked.

Every fault is a `Fault` with item, line and what to do; an item is taken whole or not at all, and carries the hash of
its content, by which a second upload of the same thing is known. Nothing is executed.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from search.formats import folders
from search.formats.convert import foreign_name
from search.formats.format import Collection, FormatError, Remark, Report
from search.formats.python_text import check_characters
from search.formats.reading import FILE_LIMIT_BYTES, json_file, json_lines, read_lines
from search.formats.registry import FORMATS, recognise
from search.formats.schema import Wire
from search.records import Record, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from search.formats.probes import Probe
    from search.formats.schema import Solution
    from search.workload import Workload

_TEXT = (".json", ".jsonl", ".py", ".yml", ".yaml")
_DATA = (".safetensors", ".md", ".txt", ".toml", ".nix", ".lock", ".gitignore", ".gitattributes", "LICENSE")
"""Beside text, files that may lie in a set and are not read."""
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1
_LINK, _KIND = 0o120000, 0o170000
_CHUNK = 1 << 16


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


class Fault(Record):
    """An item that was not taken, or the whole upload."""

    kind: Kind
    where: str
    """File, folder, or name of the item."""
    line: int | None = None
    text: str


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


@dataclass(frozen=True)
class Item:
    """A thing to import, whole: one transaction."""

    kind: str
    """`workload`, `solution` or `probe`."""
    name: str
    hash: str
    """Of the content; equal for the same thing in another archive, order or format of upload."""
    workload: Workload | None = None
    solution: Solution | None = None
    probe: Probe | None = None


@dataclass(frozen=True)
class Upload:
    """What was found."""

    format: str
    items: tuple[Item, ...]
    report: Report
    faults: tuple[Fault, ...]
    """Items that were not taken."""


def read_upload(given: bytes | Path, name: str = "", limits: Limits | None = None, form: str = "") -> Upload:
    """Items of an upload.

    Args:
        given: content of a file, or a path of a file or folder on this machine.
        name: name of the file, when `given` is content; its ending matters only for text.
        limits: how large it may be.
        form: name of the format; recognised where it is empty.

    Raises:
        UploadError: nothing can be taken; `kind` and text say why.
    """
    limits = limits or Limits()
    try:
        files = _files(given, name, limits)
        found = FORMATS[form] if form else recognise(files)
        collection, report = found.parse(files)
    except UploadError:
        raise
    except FormatError as error:
        raise UploadError(Kind.REFUSED, _placed(error), error.source, error.line) from error
    except KeyError as error:
        raise UploadError(
            Kind.WRONG_TYPE, f"no format is called {form!r}; there are {', '.join(FORMATS)}"
        ) from error
    faults = [_fault(one) for one in report.dropped if one.whole]
    items: list[Item] = []
    homeless: set[str] = set()
    for item in _items(collection, limits):
        try:
            _check(item, homeless)
        except FormatError as error:
            faults.append(Fault(kind=Kind.REFUSED, where=item.name, line=error.line, text=str(error)))
            if item.workload is not None:
                homeless.add(foreign_name(item.workload))
            continue
        items.append(item)
    if not items:
        fault = faults[0] if faults else Fault(kind=Kind.EMPTY, where=name, text="there is nothing in it")
        raise UploadError(fault.kind, fault.text, fault.where, fault.line)
    return Upload(found.name, tuple(items), report, tuple(faults))


def _placed(error: FormatError) -> str:
    return f"{error.field}: {error.problem}" if error.field else error.problem


def _fault(remark: Remark) -> Fault:
    return Fault(kind=Kind.REFUSED, where=remark.where, line=remark.line, text=remark.text)


# Items ---------------------------------------------------------------------------------------------------


def _items(collection: Collection, limits: Limits) -> Iterator[Item]:
    count = len(collection.workloads) + len(collection.solutions) + len(collection.probes)
    if count > limits.items:
        raise UploadError(Kind.TOO_MANY, f"{count} items, over the limit of {limits.items}")
    for workload in collection.workloads:
        yield Item("workload", workload.name, workload.hash, workload=workload)
    for solution in collection.solutions:
        yield Item("solution", solution.name, content_hash(solution.document()), solution=solution)
    for probe in collection.probes:
        yield Item("probe", probe.name, content_hash(probe.dump()), probe=probe)


def _check(item: Item, homeless: set[str]) -> None:
    """Refuse text that is shown as another one than it is, and programs whose workload was left out.

    Raises:
        FormatError: names the field and the line in it.
    """
    if item.workload is not None:
        check_characters(item.name, item.workload.title, "title")
        check_characters(item.name, item.workload.description, "description")
        check_characters(item.name, item.workload.reference, "reference")
    if item.solution is not None:
        if item.solution.definition in homeless:
            raise FormatError("its workload was left out", item.name)
        for source in item.solution.sources:
            check_characters(f"{item.name} {source.path}", source.content)


# Files ---------------------------------------------------------------------------------------------------


def _files(given: bytes | Path, name: str, limits: Limits) -> dict[str, bytes]:
    if isinstance(given, Path):
        if given.is_dir():
            return _of_folder(given, limits)
        name, given = given.name, _of_disk(given, limits)
    if not given.strip(b" \t\r\n\0"):
        raise UploadError(Kind.EMPTY, "the file is empty", name)
    if given[:4] in _ARCHIVES or name.endswith(".zip"):
        return dict(_unpacked(given, limits))
    if len(given) > limits.file_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {limits.file_bytes} bytes", name)
    if name.endswith(".jsonl"):
        return _of_lines(given, name, limits)
    if not name.endswith(_TEXT):
        raise UploadError(Kind.WRONG_TYPE, f"it is none of {', '.join((*_TEXT, '.zip'))}", name[:200])
    return _checked({name.rsplit("/", 1)[-1]: given}, limits)


def _of_disk(path: Path, limits: Limits) -> bytes:
    if path.is_symlink():
        raise UploadError(Kind.LINK, "a link, which is not followed", path.name)
    if not path.is_file():
        raise UploadError(Kind.WRONG_TYPE, "neither a file nor a folder", path.name)
    if path.stat().st_size > limits.total_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {limits.total_bytes} bytes", path.name)
    return path.read_bytes()


def _of_folder(root: Path, limits: Limits) -> dict[str, bytes]:
    try:
        return _checked(folders.read_folder(root, _TEXT), limits)
    except UploadError:
        raise
    except FormatError as error:
        raise UploadError(Kind.TOO_LARGE, error.problem, error.source) from error


def _checked(files: Mapping[str, bytes], limits: Limits) -> dict[str, bytes]:
    if not files:
        raise UploadError(Kind.EMPTY, "there is no file that could be read")
    if len(files) > limits.files:
        raise UploadError(Kind.TOO_MANY, f"{len(files)} files, over the limit of {limits.files}")
    if sum(map(len, files.values())) > limits.total_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {limits.total_bytes} bytes in all")
    for path, content in files.items():
        _check_path(path, limits)
        if len(content) > limits.file_bytes:
            raise UploadError(Kind.TOO_LARGE, f"longer than {limits.file_bytes} bytes", path)
    return dict(files)


def _check_path(path: str, limits: Limits) -> None:
    if len(path) > limits.path_characters:
        raise UploadError(Kind.BAD_PATH, "a path that is too long", f"{path[:80]}…")
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\\" in path or ":" in path or not path.isprintable():
        raise UploadError(
            Kind.BAD_PATH, "a path that leads out of the upload, or holds odd characters", repr(path)
        )


# ZIP -----------------------------------------------------------------------------------------------------


def _unpacked(content: bytes, limits: Limits) -> Iterator[tuple[str, bytes]]:
    """Text files of an archive, one after the other; the whole list is checked before the first is unpacked."""
    if _entries(content) > limits.files:
        raise UploadError(Kind.TOO_MANY, f"more than {limits.files} entries")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_entries(entries, limits)
            wanted = [entry for entry in entries if entry.filename.endswith(_TEXT)]
            if not wanted:
                raise UploadError(Kind.EMPTY, "there is no file that could be read")
            for entry in wanted:
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


def _check_entries(entries: list[zipfile.ZipInfo], limits: Limits) -> None:
    if len(entries) > limits.files:
        raise UploadError(Kind.TOO_MANY, f"{len(entries)} entries, over the limit of {limits.files}")
    seen: set[str] = set()
    total = 0
    for entry in entries:
        path = entry.filename
        _check_path(path, limits)
        if path.casefold() in seen:
            raise UploadError(Kind.DUPLICATE, "the name appears twice", path)
        seen.add(path.casefold())
        if (entry.external_attr >> 16) & _KIND == _LINK:
            raise UploadError(Kind.LINK, "a link, which is not followed", path)
        if entry.flag_bits & _ENCRYPTED:
            raise UploadError(Kind.ENCRYPTED, "it is encrypted", path)
        if path.endswith((".zip", ".tar", ".gz", ".7z", ".xz", ".bz2")):
            raise UploadError(Kind.NESTED, "an archive inside the archive", path)
        total += entry.file_size
        _check_size(entry, total, limits)


def _check_size(entry: zipfile.ZipInfo, total: int, limits: Limits) -> None:
    path = entry.filename
    if entry.file_size > 1 << 20 and entry.file_size > limits.ratio * max(entry.compress_size, 1):
        raise UploadError(Kind.BOMB, f"it grows more than {limits.ratio} times", path)
    if path.endswith(_TEXT) and entry.file_size > limits.file_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {limits.file_bytes} bytes", path)
    if total > limits.total_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {limits.total_bytes} bytes in all", path)
    if not path.endswith((*_TEXT, *_DATA)):
        raise UploadError(Kind.WRONG_TYPE, "a file of a kind that no format has", path)


def _one(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: Limits) -> bytes:
    """Content of an entry; one that is longer than the directory says is not read to its end."""
    made = bytearray()
    with archive.open(entry) as stream:
        while part := stream.read(_CHUNK):
            made += part
            if len(made) > min(entry.file_size, limits.file_bytes):
                raise UploadError(Kind.BOMB, "it is longer than the archive says", entry.filename)
    return bytes(made)


# JSON Lines ----------------------------------------------------------------------------------------------


class _Line(Wire):
    """A line of a set in one file: a definition, a case, a solution or a result."""


def _of_lines(content: bytes, name: str, limits: Limits) -> dict[str, bytes]:
    """A FlashInfer-Trace set whose documents stand in one file, each a line, as the folder that it could be.

    Raises:
        UploadError: a line that is none of them.
    """
    made: dict[str, bytes] = {}
    cases: list[JsonValue] = []
    results: list[JsonValue] = []
    for line, found in read_lines(_Line, content, name):
        if isinstance(found, FormatError):
            raise UploadError(Kind.REFUSED, _placed(found), name, line)
        if line > limits.files:
            raise UploadError(Kind.TOO_MANY, f"more than {limits.files} lines", name)
        document = found.document()
        if "axes" in document and "reference" in document:
            made[f"definitions/line_{line}.json"] = json_file(document)
        elif "spec" in document and "sources" in document:
            made[f"solutions/line_{line}.json"] = json_file(document)
        elif "workload" in document:
            (cases if document.get("evaluation") is None else results).append(document)
        else:
            raise UploadError(
                Kind.REFUSED, "neither a definition, a case, a solution nor a result", name, line
            )
    if cases:
        made["workloads/lines.jsonl"] = json_lines(cases)
    if results:
        made["traces/lines.jsonl"] = json_lines(results)
    return _checked(made, limits)
