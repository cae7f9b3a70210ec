"""Libraries as files: a version written as a folder of YAML, and uploads read within bounds.

A folder holds one file per action, so that an action is edited alone; names are numbered, because a library is merged
in the order of names and the order of actions belongs to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from search.formats.archives import Limits, UploadError, Wanted, is_archive, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.actions import ActionLibrary

HEAD = "00_library.yaml"
DECISIONS = "01_decisions.yaml"
KNOBS = "02_knobs.yaml"
FIRST_ACTION = 100

FILE_LIMIT = 400
TEXT_LIMIT = 512 * 1024
"""Bytes of all files together."""
UPLOAD_LIMIT = 1024 * 1024
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-]{0,80}\.yaml")
_ENDINGS = (".yaml",)
_LIMITS = Limits(files=FILE_LIMIT, file_bytes=TEXT_LIMIT, total_bytes=TEXT_LIMIT)


class LibraryFilesError(ValueError):
    """An upload or a set of files of which nothing is taken; the message says what to do."""


def to_files(library: ActionLibrary, name: str = "", title: str = "") -> dict[str, str]:
    """A library as files by name; `name` and `title` replace its own where given."""
    document = library.dump()
    head = {"name": name or library.name, "version": library.version, "title": title or library.title}
    files = {HEAD: _yaml(head), DECISIONS: _yaml({"decisions": document["decisions"]})}
    if document["knobs"]:
        files[KNOBS] = _yaml({"knobs": document["knobs"]})
    for number, action in enumerate(document["actions"], FIRST_ACTION + 1):
        files[f"{number}_{action['id'][:60]}.yaml"] = _yaml({"actions": [_without_defaults(action)]})
    return files


def to_yaml(library: ActionLibrary) -> str:
    """A library as one file."""
    return _yaml(library.dump())


def to_zip(files: Mapping[str, str], folder: str) -> bytes:
    """Files as a ZIP archive with one folder; the same files give the same bytes."""
    return packed({f"{folder}/{name}": text.encode() for name, text in files.items()})


def from_upload(name: str, data: bytes) -> dict[str, str]:
    """Files of an upload: a ZIP of YAML files, or one YAML or JSON file.

    Raises:
        LibraryFilesError: it is too large, holds what is no library file, or cannot be read.
    """
    if not data:
        raise LibraryFilesError("The file is empty.")
    if len(data) > UPLOAD_LIMIT:
        raise LibraryFilesError(f"The file has {len(data)} bytes; {UPLOAD_LIMIT} are allowed.")
    if is_archive(data) or name.lower().endswith(".zip"):
        return checked(_unzipped(data))
    if not name.lower().endswith((".yaml", ".yml", ".json")):
        raise LibraryFilesError("A library comes as a .yaml or .json file, or as a .zip of .yaml files.")
    return checked({HEAD: _text(data, "The file")})


def checked(files: dict[str, str]) -> dict[str, str]:
    """The files, when names, number and length are within bounds.

    Raises:
        LibraryFilesError: they are not.
    """
    if not files:
        raise LibraryFilesError("There is no .yaml file.")
    if len(files) > FILE_LIMIT:
        raise LibraryFilesError(f"There are {len(files)} files; {FILE_LIMIT} are allowed.")
    if bad := next((name for name in files if not NAME.fullmatch(name)), None):
        raise LibraryFilesError(
            f"{bad[:80]!r} is no name of a library file: letters, digits, - and _, ending in .yaml."
        )
    if zero := next((name for name in files if "\0" in files[name]), None):
        raise LibraryFilesError(f"{zero} is no text: it holds a zero byte.")
    if sum(len(text.encode()) for text in files.values()) > TEXT_LIMIT:
        raise LibraryFilesError(f"The files are longer than {TEXT_LIMIT} bytes together.")
    return files


def _unzipped(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        for path, content in unpacked(data, _LIMITS, Wanted(lambda _path, _size: True, _ENDINGS)):
            name = path.rpartition("/")[2]
            if name in found:
                raise LibraryFilesError(f"{name!r} is in the archive twice.")
            if path.count("/") > 1 or not NAME.fullmatch(name):
                raise LibraryFilesError(
                    f"{path[:80]!r} is no library file: one folder of .yaml files is expected."
                )
            found[name] = _text(content, name)
    except UploadError as error:
        raise LibraryFilesError(f"The archive is refused: {error}.") from error
    return found


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise LibraryFilesError(f"{name} is no UTF-8 text, at byte {error.start}.") from error


def _without_defaults(action: dict[str, Any]) -> dict[str, Any]:
    """An action without its empty fields, which nobody wants to read; its knobs likewise."""
    kept = _filled(action, {"when", "contract", "notes"})
    if "knobs" in kept:
        kept["knobs"] = [_filled(knob, {"default"}) for knob in kept["knobs"]]
    return kept


def _filled(entry: dict[str, Any], required: set[str]) -> dict[str, Any]:
    return {field: value for field, value in entry.items() if field in required or value not in ([], "", {})}


class _Dumper(yaml.SafeDumper):
    """Short lists stay on a line, as people write them."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    plain = not any(isinstance(item, dict | list) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=plain)


_Dumper.add_representer(list, _list)


def _yaml(document: object) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=80)
