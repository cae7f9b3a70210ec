"""Folders on disk as files by path, and back. Links are not followed and large or strange files not read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from search.formats.format import FormatError
from search.formats.reading import FILE_LIMIT_BYTES, check_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from search.formats.format import Files

_ENDINGS = (".json", ".jsonl", ".py")
_MOST_FILES = 20_000
_MOST_BYTES = 256 << 20
_TENSORS = ".safetensors"


def read_folder(root: Path, endings: tuple[str, ...] = _ENDINGS, tensor_bytes: int = 0) -> dict[str, bytes]:
    """Text files of a folder by path below it, and recorded tensors in files of at most `tensor_bytes`.

    Raises:
        FormatError: there is no such folder, or too much in it.
    """
    if not root.is_dir():
        raise FormatError("no such folder", str(root))
    files: dict[str, bytes] = {}
    size = 0
    for path in _regular(root, (*endings, _TENSORS)):
        if path.suffix == _TENSORS and path.stat().st_size > tensor_bytes:
            continue
        size += path.stat().st_size
        if path.stat().st_size > FILE_LIMIT_BYTES or size > _MOST_BYTES or len(files) == _MOST_FILES:
            raise FormatError("too large to read", path.relative_to(root).as_posix())
        files[path.relative_to(root).as_posix()] = path.read_bytes()
    return files


def _regular(root: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if path.suffix in endings and path.is_file() and not path.is_symlink():
                yield path


def write_folder(files: Files, root: Path) -> None:
    """Write files below a folder, which need not exist.

    Raises:
        FormatError: a path leads out of it, or a file is there already.
    """
    check_paths(files)
    for name in files:
        if (root / name).exists():
            raise FormatError("it is there already", name)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
