"""Recorded tensors: `.safetensors` files of an upload into the cases that point to them, and back to files.

A file is the length of its header (8 bytes, little endian), the header (JSON: name to `dtype`, `shape`,
`data_offsets`) and the data; see huggingface.co/docs/safetensors. A case keeps its tensor's content packed, so that a
workload stays one document with one content hash, which a worker needs nothing beside.
"""

from __future__ import annotations

import math
from posixpath import normpath
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from search.formats.format import FormatError
from search.formats.reading import json_compact, read_record
from search.formats.schema import Wire
from search.records import Record
from search.workload import ITEM_BYTES, DType, SafetensorsInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from search.formats.format import Files, Notes
    from search.workload import Case, Workload

FILE_BYTES = 8 << 20
"""A longer file is not read."""
PACKED_CHARACTERS = 160 << 10
"""Of all recorded tensors of a workload together, since it travels to a worker with every evaluation."""
_HEADER_BYTES = 1 << 20
_META = "__metadata__"
_UNJUDGED = "their cases cannot be judged here"
_WORDS = {
    "F64": DType.FLOAT64,
    "F32": DType.FLOAT32,
    "F16": DType.FLOAT16,
    "BF16": DType.BFLOAT16,
    "F8_E4M3": DType.FLOAT8_E4M3FN,
    "F8_E5M2": DType.FLOAT8_E5M2,
    "I64": DType.INT64,
    "I32": DType.INT32,
    "I16": DType.INT16,
    "I8": DType.INT8,
    "U8": DType.UINT8,
    "BOOL": DType.BOOL,
}
_NAMES = {dtype: word for word, dtype in _WORDS.items()}


class _Header(Wire):
    """Names of tensors; each is checked when a case asks for it."""


class _Place(Record):
    """Where a tensor lies in the data."""

    dtype: str
    shape: tuple[Annotated[int, Field(ge=0, le=1 << 40)], ...]
    data_offsets: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


def with_tensors(workload: Workload, files: Files, folders: tuple[str, ...], notes: Notes) -> Workload:
    """The workload with every recorded tensor that the upload holds.

    Args:
        workload: whose cases point to files.
        files: of the upload.
        folders: what paths are relative to, the first that has the file.
        notes: takes which were packed, and which cannot be judged here because they are not there.

    Raises:
        FormatError: a file that is none, or a tensor of another type or shape than the case says.
    """
    room, missing, too_long = PACKED_CHARACTERS, 0, 0
    cases = []
    for case in workload.cases:
        found: dict[str, SafetensorsInput] = {}
        for name, source in _recorded(case):
            content = next((files[path] for path in _paths(source.path, folders) if path in files), None)
            if content is None:
                missing += 1
                continue
            packed = source.packing(_tensor(content, source, workload, case, name))
            too_long += len(packed.data) > room
            if len(packed.data) <= room:
                room -= len(packed.data)
                found[name] = packed
        cases.append(case.model_copy(update={"inputs": {**case.inputs, **found}}) if found else case)
    if missing:
        notes.change(workload.name, f"{missing} recorded tensors did not come along: {_UNJUDGED}")
    if too_long:
        notes.change(workload.name, f"{too_long} recorded tensors are too long to travel: {_UNJUDGED}")
    return workload.model_copy(update={"cases": tuple(cases)})


def _recorded(case: Case) -> Iterator[tuple[str, SafetensorsInput]]:
    return ((name, made) for name, made in case.inputs.items() if isinstance(made, SafetensorsInput))


def _paths(path: str, folders: tuple[str, ...]) -> list[str]:
    return [normpath(f"{folder}{path}") for folder in folders]


def _tensor(content: bytes, source: SafetensorsInput, workload: Workload, case: Case, name: str) -> bytes:
    tensor = workload.inputs[name]
    expected = workload.shape(tensor, workload.sizes(case))
    place, start = _place(content, source)
    if _WORDS.get(place.dtype) is not tensor.dtype:
        raise FormatError(
            f"{source.tensor_key} is {place.dtype[:20]}, not {tensor.dtype}", source.path, field=name
        )
    if place.shape != expected:
        raise FormatError(
            f"{source.tensor_key} is {list(place.shape)}, not {list(expected)}", source.path, field=name
        )
    first, last = place.data_offsets
    size = math.prod(expected) * ITEM_BYTES[tensor.dtype]
    if last - first != size or start + last > len(content):
        raise FormatError(f"{source.tensor_key} does not fill its place", source.path, field="data_offsets")
    return content[start + first : start + last]


def _place(content: bytes, source: SafetensorsInput) -> tuple[_Place, int]:
    """Where the tensor lies, and where the data begins."""
    length = int.from_bytes(content[:8], "little")
    if not 2 <= length <= min(_HEADER_BYTES, len(content) - 8):
        raise FormatError("no safetensors file: its header has no such length", source.path)
    header = read_record(_Header, content[8 : 8 + length], source.path).document()
    if source.tensor_key == _META or source.tensor_key not in header:
        raise FormatError(f"there is no tensor {source.tensor_key[:120]}", source.path, field="tensor_key")
    try:
        return _Place.load(header[source.tensor_key]), 8 + length
    except ValueError as error:
        raise FormatError(f"{source.tensor_key[:120]} is not described", source.path) from error


# Back ----------------------------------------------------------------------------------------------------


def files_of(workload: Workload, folder: str = "") -> dict[str, bytes]:
    """The files that hold the packed tensors of the cases that are shown, at the paths that these point to."""
    kept: dict[str, dict[str, tuple[dict[str, JsonValue], bytes]]] = {}
    for case in workload.cases:
        if case.hidden:
            continue
        sizes = workload.sizes(case)
        for name, source in _recorded(case):
            if source.data:
                dtype = workload.inputs[name].dtype
                shape = workload.shape(workload.inputs[name], sizes)
                content = source.content(math.prod(shape) * ITEM_BYTES[dtype])
                entry: dict[str, JsonValue] = {"dtype": _NAMES[dtype], "shape": list(shape)}
                kept.setdefault(normpath(f"{folder}{source.path}"), {})[source.tensor_key] = entry, content
    return {path: _file(tensors) for path, tensors in kept.items()}


def _file(tensors: dict[str, tuple[dict[str, JsonValue], bytes]]) -> bytes:
    header: dict[str, JsonValue] = {}
    data = b""
    for key, (entry, content) in sorted(tensors.items()):
        header[key] = entry | {"data_offsets": [len(data), len(data) + len(content)]}
        data += content
    head = json_compact(header)
    # The data begins at a multiple of eight bytes.
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + data
