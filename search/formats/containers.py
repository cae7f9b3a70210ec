"""Uploads: one file, JSON Lines, a folder or a ZIP, to items and a report. All limits hold before anything is unpacked.

Every fault is a `Fault` with item, line and what to do; an item is taken whole or not at all, and carries the hash of
its content, by which a second upload of the same thing is known. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from search.formats import folders
from search.formats.archives import Kind, Limits, UploadError, Wanted, check_path, is_archive, unpacked
from search.formats.convert import foreign_name
from search.formats.format import Collection, FormatError, Remark, Report
from search.formats.python_text import check_characters
from search.formats.reading import json_file, json_lines, read_lines
from search.formats.recorded import FILE_BYTES as TENSOR_BYTES
from search.formats.registry import FORMATS, recognise
from search.formats.schema import Wire
from search.records import Record, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from search.formats.probes import Probe
    from search.formats.schema import Solution
    from search.workload import Workload

__all__ = ["Fault", "Item", "Kind", "Limits", "Upload", "UploadError", "read_upload"]

_TEXT = (".json", ".jsonl", ".py", ".yml", ".yaml")
_TENSORS = ".safetensors"
_DATA = (_TENSORS, ".md", ".txt", ".toml", ".nix", ".lock", ".gitignore", ".gitattributes", "LICENSE")
"""Beside text, files that may lie in a set and are not read."""


class Fault(Record):
    """An item that was not taken, or the whole upload."""

    kind: Kind
    where: str
    """File, folder, or name of the item."""
    line: int | None = None
    text: str


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
    programs: tuple[Probe, ...] = ()
    """Programs whose operators a run would rank."""


def read_upload(
    given: bytes | Path | Mapping[str, bytes], name: str = "", limits: Limits | None = None, form: str = ""
) -> Upload:
    """Items of an upload.

    Args:
        given: content of a file, a path of a file or folder on this machine, or a folder's files by path.
        name: name of the file or folder, when `given` is content; a file's ending matters only for text.
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
    return Upload(found.name, tuple(items), report, tuple(faults), collection.programs)


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


def _files(given: bytes | Path | Mapping[str, bytes], name: str, limits: Limits) -> dict[str, bytes]:
    if isinstance(given, Mapping):
        return _checked(
            {path: content for path, content in given.items() if _is_read(path, len(content))}, limits
        )
    if isinstance(given, Path):
        if given.is_dir():
            return _of_folder(given, limits)
        name, given = given.name, _of_disk(given, limits)
    if not given.strip(b" \t\r\n\0"):
        raise UploadError(Kind.EMPTY, "the file is empty", name)
    if is_archive(given) or name.endswith(".zip"):
        return dict(unpacked(given, limits, Wanted(_is_read, (*_TEXT, *_DATA))))
    if len(given) > limits.file_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {limits.file_bytes} bytes", name)
    if name.endswith(".jsonl"):
        return _of_lines(given, name, limits)
    if not name.endswith(_TEXT):
        raise UploadError(Kind.WRONG_TYPE, f"it is none of {', '.join((*_TEXT, '.zip'))}", name[:200])
    return _checked({name.rsplit("/", 1)[-1]: given}, limits)


def _is_read(path: str, size: int) -> bool:
    """Text is, and recorded tensors that are not too long to travel with a workload."""
    return path.endswith(_TEXT) or (path.endswith(_TENSORS) and size <= TENSOR_BYTES)


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
        return _checked(folders.read_folder(root, _TEXT, TENSOR_BYTES), limits)
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
        check_path(path, limits)
        if len(content) > limits.file_bytes:
            raise UploadError(Kind.TOO_LARGE, f"longer than {limits.file_bytes} bytes", path)
    return dict(files)


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
