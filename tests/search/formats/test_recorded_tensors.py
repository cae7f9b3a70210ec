"""Recorded tensors come along with their workload, are given back, and are believed in nothing."""

from __future__ import annotations

import json
import struct

import pytest
from format_samples import encode, trace_set
from tensor_files import BLOB, FULL, INDPTR, blobs

from search.formats import FORMATS
from search.formats.containers import read_upload
from search.formats.format import FormatError
from search.workload import SafetensorsInput, Workload

FORMAT = FORMATS["flashinfer_trace"]


def test_tensors_come_along_and_are_given_back():
    files = encode(trace_set()) | blobs()
    (workload,) = FORMAT.parse(files)[0].workloads
    source = workload.cases[0].inputs["kv_indptr"]
    assert isinstance(source, SafetensorsInput)
    assert struct.unpack("<5i", source.content(20)) == tuple(INDPTR)
    written, _ = FORMAT.write(FORMAT.parse(files)[0])
    again, _ = FORMAT.parse(written)
    assert again.workloads == (workload,)
    assert FORMAT.write(again)[0] == written
    assert Workload.load(workload.dump()).hash == workload.hash


def test_a_workload_without_its_tensors_says_so_and_keeps_its_hash():
    bare, _ = FORMAT.parse(encode(trace_set()))
    (workload,), report = FORMAT.parse(encode(trace_set()))[0].workloads, FORMAT.parse(encode(trace_set()))[1]
    assert "data" not in json.dumps(workload.dump()["cases"])
    assert any("did not come along" in one.text for one in report.changed)
    assert bare.workloads[0].hash == workload.hash


def test_an_upload_brings_its_tensors_in_every_container(tmp_path):
    files = encode(trace_set()) | blobs()
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    hashes = {item.hash for item in read_upload(tmp_path).items}
    assert {item.hash for item in read_upload(files, "set").items} == hashes
    assert '"data"' in json.dumps(read_upload(files).items[0].workload.dump())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no safetensors"),
        (b"\xff" * 64, "no safetensors"),
        ((4).to_bytes(8, "little") + b"nope", "not JSON"),
        ((2).to_bytes(8, "little") + b"{}", "no tensor kv_indptr"),
        (blobs(dtype="F32")[BLOB.format(FULL)], "is F32, not int32"),
        (blobs(shape=[6])[BLOB.format(FULL)], r"is \[6\], not \[5\]"),
        (blobs(data_offsets=[0, 24])[BLOB.format(FULL)], "does not fill"),
        (blobs(data_offsets=[990, 1010])[BLOB.format(FULL)], "does not fill"),
        (blobs(data_offsets=[-1, 2])[BLOB.format(FULL)], "not described"),
        (blobs(shape=[10**400])[BLOB.format(FULL)], "not described"),
    ],
)
def test_a_strange_file_is_refused_with_its_workload(content, words):
    files = encode(trace_set()) | blobs() | {BLOB.format(FULL): content}
    with pytest.raises(FormatError, match=words):
        FORMAT.parse(files)


def test_a_case_cannot_bring_content_of_its_own():
    documents = trace_set()
    for lines in documents.values():
        for line in lines:
            for made in line.get("workload", {}).get("inputs", {}).values():
                if made["type"] == "safetensors":
                    made["data"] = "eJw="
    with pytest.raises(FormatError, match="data"):
        FORMAT.parse(encode(documents))


def test_a_packed_tensor_is_unpacked_no_further_than_its_size():
    bomb = SafetensorsInput(path="a", tensor_key="t").packing(b"\0" * 50_000_000)
    assert len(bomb.data) < 80_000
    with pytest.raises(ValueError, match="not 8 bytes"):
        bomb.content(8)
    with pytest.raises(ValueError, match="damaged"):
        bomb.model_copy(update={"data": "AAAA"}).content(8)
