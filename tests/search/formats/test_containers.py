"""Uploads: every fault has its kind and its place, and nothing is half read (faults F162 to F166)."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import pytest
from format_fixtures import files_of
from format_samples import PAGED_DECODE, case_line, encode, paged_case, problem, solution, trace_set
from hypothesis import given, settings
from hypothesis import strategies as st

from search.formats.containers import Kind, Limits, UploadError, read_upload
from search.records import SOURCE_LIMIT_BYTES

PLACE = f"gqa_paged/{PAGED_DECODE['name']}"


def zipped(files, *, method=zipfile.ZIP_DEFLATED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return content.getvalue()


def refused(content, name="set.zip", limits=None):
    with pytest.raises(UploadError) as caught:
        read_upload(content, name, limits)
    return caught.value


def with_definition(**changes):
    """A set whose definition has other fields."""
    documents = trace_set()
    documents[f"definitions/{PLACE}.json"] = [PAGED_DECODE | changes]
    return encode(documents)


def test_an_archive_gives_items_with_the_hash_of_their_content():
    upload = read_upload(zipped(encode(trace_set())), "set.zip")
    assert upload.format == "flashinfer_trace"
    assert [(item.kind, item.name) for item in upload.items] == [
        ("workload", PAGED_DECODE["name"]),
        ("solution", "paged-decode triton v1"),
    ]
    assert upload.items[0].hash == upload.items[0].workload.hash
    assert not upload.faults


def test_the_same_content_is_the_same_items_however_it_comes(tmp_path):
    files = encode(trace_set())
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    lines = [json.dumps(document) for documents in trace_set().values() for document in documents]
    ways = [
        read_upload(zipped(files), "a.zip"),
        read_upload(zipped({f"top/{path}": content for path, content in reversed(files.items())}), "b.zip"),
        read_upload(tmp_path),
        read_upload("\n".join(lines).encode(), "set.jsonl"),
    ]
    assert len({tuple(item.hash for item in way.items) for way in ways}) == 1


@pytest.mark.parametrize("name", ["kernelbench", "gpu_mode", "python_function", "sol_execbench"])
def test_every_format_comes_in_an_archive(name):
    upload = read_upload(zipped(files_of(name)), "set.zip")
    assert upload.format == name
    assert upload.items


def test_one_file_is_enough_for_a_problem_of_one_file():
    (item,) = read_upload(files_of("kernelbench")["argmax.py"], "argmax.py").items
    assert item.workload.name == "argmax"


def test_a_broken_item_is_named_and_the_others_are_whole():
    other = PAGED_DECODE | {"name": "other"}
    documents = trace_set() | {
        "definitions/other.json": [other],
        "workloads/other.jsonl": [case_line("other", paged_case("a", 1)), case_line("other", {"uuid": "b"})],
    }
    upload = read_upload(zipped(encode(documents)), "set.zip")
    assert [item.name for item in upload.items if item.kind == "workload"] == [PAGED_DECODE["name"]]
    (fault,) = upload.faults
    assert (fault.kind, fault.where, fault.line) == (Kind.REFUSED, "definitions/other.json", 2)
    assert "workloads/other.jsonl:2: workload.axes" in fault.text


# F162: archives ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("../definitions/a.json", Kind.BAD_PATH),
        ("/definitions/a.json", Kind.BAD_PATH),
        ("C:/definitions/a.json", Kind.BAD_PATH),
        ("a/../../b.json", Kind.BAD_PATH),
        ("definitions/a\u202e.json", Kind.BAD_PATH),
        ("definitions/" + "a" * 400 + ".json", Kind.BAD_PATH),
        ("inner.zip", Kind.NESTED),
        ("set.tar", Kind.NESTED),
        ("run.exe", Kind.WRONG_TYPE),
    ],
)
def test_an_entry_that_may_not_be_there_refuses_the_archive(path, kind):
    error = refused(zipped(encode(trace_set()) | {path: b"{}"}))
    assert error.kind is kind
    assert error.source


def test_a_bomb_is_not_unpacked():
    error = refused(zipped({"definitions/a.json": b" " * (8 << 20)}))
    assert (error.kind, error.source) == (Kind.BOMB, "definitions/a.json")


def test_an_entry_that_lies_about_its_length_is_not_read_to_its_end():
    content = bytearray(zipped({"definitions/a.json": b"x" * 5000}, method=zipfile.ZIP_DEFLATED))
    directory = content.rfind(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = struct.pack("<I", 10)
    assert refused(bytes(content)).kind in (Kind.BOMB, Kind.BROKEN)


def test_a_million_entries_are_refused_before_they_are_listed():
    content = bytearray(zipped({"definitions/a.json": b"{}"}))
    end = content.rfind(b"PK\x05\x06")
    content[end + 10 : end + 12] = b"\xff\xff"
    many = refused(zipped({f"definitions/{n}.json": b"{}" for n in range(30)}), limits=Limits(files=20))
    assert many.kind is Kind.TOO_MANY
    assert refused(b"PK\x03\x04" + bytes(46 * 20_001) + bytes(content[end:])).kind is Kind.TOO_MANY


def test_a_link_is_not_followed(tmp_path):
    entry = zipfile.ZipInfo("definitions/a.json")
    entry.external_attr = 0o120777 << 16
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert refused(content.getvalue()).kind is Kind.LINK
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    assert refused(tmp_path / "link.json").kind is Kind.LINK


def test_a_name_that_appears_twice_refuses_the_archive():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("definitions/a.json", "{}")
        archive.writestr("definitions/A.json", "{}")
    assert refused(content.getvalue()).kind is Kind.DUPLICATE


def test_an_encrypted_entry_is_named():
    content = bytearray(zipped({"definitions/a.json": b"{}"}))
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    error = refused(bytes(content))
    assert (error.kind, error.source) == (Kind.ENCRYPTED, "definitions/a.json")


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (b"", "set.zip", Kind.EMPTY),
        (b"", "a.py", Kind.EMPTY),
        (b"   \n", "a.json", Kind.EMPTY),
        (b"\0\0\0", "a.json", Kind.EMPTY),
        (b"PK\x03\x04 and no more", "set.zip", Kind.BROKEN),
        (b"not an archive", "set.zip", Kind.BROKEN),
        (zipped({"README.md": b"words"}), "set.zip", Kind.EMPTY),
        (b"\x7fELF", "program", Kind.WRONG_TYPE),
        (b"MZ", "set.exe", Kind.WRONG_TYPE),
        (b"x = 1\n", "a.py", Kind.REFUSED),
        (b"{}", "a.json", Kind.REFUSED),
    ],
)
def test_what_is_no_upload_is_refused(content, name, kind):
    assert refused(content, name).kind is kind


def test_a_truncated_archive_is_refused():
    content = zipped(encode(trace_set()))
    assert refused(content[: len(content) // 2]).kind is Kind.BROKEN


def test_limits_hold():
    files = zipped(encode(trace_set()))
    assert refused(files, limits=Limits(total_bytes=100)).kind is Kind.TOO_LARGE
    assert refused(files, limits=Limits(file_bytes=100)).kind is Kind.TOO_LARGE
    assert refused(files, limits=Limits(items=1)).kind is Kind.TOO_MANY
    assert refused(b"x" * 101, "a.py", Limits(file_bytes=100)).kind is Kind.TOO_LARGE


def test_a_format_that_is_not_there_is_named():
    with pytest.raises(
        UploadError, match="no format is called 'nothing'; there are kernelsite, flashinfer_trace"
    ):
        read_upload(b"{}", "a.json", form="nothing")


# F163 to F166: JSON, sources, numbers, text ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"value": 8', b'"value": NaN', "axes.num_qo_heads.value: nan is not a finite number"),
        (b'"value": 8', b'"value": 1e999', "axes.num_qo_heads.value: inf is not a finite number"),
        (b'"value": 8', b'"value": -8', "axes.num_qo_heads"),
        (b'"value": 8', b'"value": true', "axes.num_qo_heads"),
        (b'"value": 8', b'"value": 9000000000000000000', "axes.num_qo_heads"),
        (b'"value": 8', '"value": "\uff18"'.encode(), "axes.num_qo_heads"),
        (b'"value": 8', b'"value": ' + b"[" * 100_000, "nested deeper than 40 levels"),
        (b'"value": 8', b'"value": 8, "value": 9', "the name appears twice"),
        (b'"value": 8', b'"value": \xff', "is not UTF-8"),
        (b'"reference"', b'"other"', "reference: Field required"),
    ],
)
def test_a_bad_value_names_its_field(old, new, words):
    files = encode(trace_set())
    path = f"definitions/{PLACE}.json"
    assert old in files[path]
    files[path] = files[path].replace(old, new, 1)
    error = refused(zipped(files))
    assert error.kind is Kind.REFUSED
    assert error.source == path
    assert words in str(error)


def test_a_huge_source_is_refused_by_its_field():
    error = refused(zipped(with_definition(reference=PAGED_DECODE["reference"] + "#" * SOURCE_LIMIT_BYTES)))
    assert f"reference: longer than {SOURCE_LIMIT_BYTES} bytes" in str(error)


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200f"])
def test_text_that_turns_its_direction_is_refused_by_its_line(character):
    error = refused(zipped(with_definition(reference=PAGED_DECODE["reference"] + f"# {character}\n")))
    assert f"reference: holds the character U+{ord(character):04X}" in str(error)
    assert error.line == PAGED_DECODE["reference"].count("\n") + 1


def test_a_solution_with_such_text_is_left_out_alone():
    documents = trace_set()
    path = next(path for path in documents if path.startswith("solutions"))
    documents[path] = [solution(sources=[{"path": "src/main.py", "content": "# \u202e\n"}])]
    upload = read_upload(zipped(encode(documents)), "set.zip")
    assert [item.kind for item in upload.items] == ["workload"]
    assert "src/main.py:1" in upload.faults[0].text


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (['{"a": 1}'], 1, "neither a definition, a case, a solution nor a result"),
        ([json.dumps(PAGED_DECODE), "{"], 2, "not JSON at column 2"),
        ([json.dumps(PAGED_DECODE), "[1]"], 2, "object"),
    ],
)
def test_a_bad_line_is_named(lines, line, words):
    error = refused("\n".join(lines).encode(), "set.jsonl")
    assert error.line == line
    assert words in str(error)


def test_the_file_of_an_unmade_folder_is_named():
    files = encode(problem())
    del files["ragged_gather_d128/workload.jsonl"]
    assert "workload.jsonl: the file is missing" in str(refused(zipped(files)))


def words_of(content, name):
    """Why an upload is refused, or that it is taken."""
    try:
        read_upload(content, name)
    except UploadError as error:
        return str(error)
    return "taken"


@given(st.binary(max_size=300), st.sampled_from(["a.zip", "a.json", "a.jsonl", "a.py", "a"]))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_refused_in_words(content, name):
    for prefix in (b"", b"PK\x03\x04", b"class Model:def get_inputs"):
        assert words_of(prefix + content, name)


def test_any_damaged_archive_is_refused_in_words():
    content = zipped(encode(trace_set()))
    for place in range(0, len(content), 97):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        assert words_of(bytes(damaged), "set.zip")
