"""Recorded tensors of the paged decode fixture: row starts and page indices, as safetensors files."""

from __future__ import annotations

import json
import struct

BLOB = "blob/workloads/gqa_paged/{}.safetensors"
FULL, EMPTY = "6120f144-b973-4bd9-b884-77ecb132914e", "empty_batch"
INDPTR, INDICES = [0, 5, 9, 15, 21], list(range(21))


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]], **changes) -> bytes:
    header, data = {"__metadata__": {"by": "us"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets} | changes
        data += content
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + data


def whole(values: list[int]) -> tuple[str, list[int], bytes]:
    return "I32", [len(values)], struct.pack(f"<{len(values)}i", *values)


def blobs(**changes) -> dict[str, bytes]:
    full = {"kv_indptr": whole(INDPTR), "kv_indices": whole(INDICES)}
    empty = {"kv_indptr": whole([0]), "kv_indices": whole(INDICES)}
    return {
        BLOB.format(FULL): safetensors(full, **changes),
        BLOB.format(EMPTY): safetensors(empty, **changes),
    }
