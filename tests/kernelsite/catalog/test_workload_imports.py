"""Uploads become drafts and starting candidates, item by item, and the same upload again changes nothing."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from kernelsite.accounts.models import AuditEntry, Membership, Team
from kernelsite.catalog.imports import Outcomes
from kernelsite.catalog.models import (
    StartingCandidate,
    WorkloadDraft,
    WorkloadImport,
    WorkloadVersion,
    sync_shipped,
)
from search.formats import FORMATS, Collection
from search.workload import shipped_workload

PAGE = "/workloads/import/"
SOLUTION = {
    "name": "fast",
    "definition": "Softmax over rows",
    "author": "somebody",
    "spec": {"language": "triton", "target_hardware": ["H200"], "entry_point": "main.py::run"},
    "sources": [{"path": "main.py", "content": "KNOBS = {'BLOCK': 128}\n\n\ndef run(x, y):\n    pass\n"}],
}
DOUBLE = b"""import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.rand(4, 8)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def team(db):
    return Team.objects.create(name="Kernels", slug="kernels")


@pytest.fixture
def member(client, team):
    return login(client, team, "member")


def login(client, team, role):
    user = get_user_model().objects.create_user(role)
    Membership.objects.create(team=team, user=user, role=role)
    client.force_login(user)
    return client


def trace_files(**solution) -> dict[str, bytes]:
    workload = shipped_workload("softmax").model_copy(update={"description": "ours"})
    files, _ = FORMATS["flashinfer_trace"].write(Collection((workload,)))
    document = json.loads(next(content for path, content in files.items() if path.startswith("definitions")))
    made = SOLUTION | {"definition": document["name"]} | solution
    return files | {"solutions/fast.json": json.dumps(made).encode()}


def zipped(files) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return content.getvalue()


def send(client, *files, follow=True, **data):
    given = [SimpleUploadedFile(name, content) for name, content in files]
    return client.post(PAGE, {"files": given} | data, follow=follow)


def results(page):
    return {(one.kind, str(one.result)) for one in page.context["report"].items}


def test_a_set_becomes_a_draft_and_a_starting_candidate(member, team):
    page = send(member, ("set.zip", zipped(trace_files())))
    assert results(page) == {("workload", "draft"), ("solution", "starting candidate")}
    draft = WorkloadDraft.objects.get()
    assert (draft.team, draft.slug, draft.source) == (team, "softmax", "set.zip")
    assert draft.hash, "nothing is wrong with it"
    program = StartingCandidate.objects.get()
    assert (program.workload, program.name, program.language) == ("softmax", "fast", "triton")
    assert program.record.knobs == {"BLOCK": 128}
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.after["draft"], entry.after["refused"]) == ("import", 1, 0)
    assert draft.get_absolute_url().encode() in page.content


def test_the_same_again_changes_nothing(member):
    send(member, ("set.zip", zipped(trace_files())))
    stamp = WorkloadDraft.objects.get().updated_at
    page = send(member, ("again.zip", zipped(trace_files())))
    assert results(page) == {("workload", "unchanged"), ("solution", "unchanged")}
    assert WorkloadDraft.objects.get().updated_at == stamp
    assert StartingCandidate.objects.count() == 1
    member.post(f"/workloads/imports/{WorkloadImport.objects.last().pk}/publish/")
    assert not WorkloadDraft.objects.exists()
    page = send(member, ("third.zip", zipped(trace_files())))
    assert results(page) == {("workload", "unchanged"), ("solution", "unchanged")}
    assert WorkloadVersion.objects.count() == 1


def test_what_is_shipped_is_known(member):
    sync_shipped()
    document = shipped_workload("softmax").dump()
    page = send(member, ("softmax.workload.json", json.dumps(document).encode()))
    assert results(page) == {("workload", "unchanged")}
    assert not WorkloadDraft.objects.exists()


def test_one_bad_item_takes_no_other_along(member):
    files = trace_files(spec=SOLUTION["spec"] | {"language": "cuda"})
    files |= {"definitions/bad.json": b'{"name": "bad"', "solutions/orphan.json": b"{}"}
    page = send(member, ("set.zip", zipped(files)))
    told = {(one.kind, str(one.result)) for one in page.context["report"].items}
    assert told == {("workload", "draft"), ("solution", "refused"), ("file", "refused")}
    (bad,) = [one for one in page.context["report"].items if one.name == "definitions/bad.json"]
    assert bad.line == 1
    assert "not JSON" in bad.text
    assert b"cannot be called here" in page.content
    assert WorkloadDraft.objects.count() == 1


def test_a_folder_comes_with_the_paths_that_the_script_tells(member):
    files = {f"mine/{path}": content for path, content in trace_files().items()}
    given = [SimpleUploadedFile(path.rsplit("/", 1)[-1], content) for path, content in files.items()]
    page = member.post(PAGE, {"folder": given, "paths": json.dumps(list(files))}, follow=True)
    assert results(page) == {("workload", "draft"), ("solution", "starting candidate")}
    assert WorkloadImport.objects.get().name == "mine"


@pytest.mark.parametrize("paths", ["", "[]", "{", '["a.json", 1]', '["../../a.json", "/b.json"]'])
def test_paths_that_do_not_fit_are_not_believed(member, paths):
    given = [SimpleUploadedFile("a.json", b"{}"), SimpleUploadedFile("b.json", b"{}")]
    page = member.post(PAGE, {"folder": given, "paths": paths})
    assert page.status_code == 422
    assert b"Nothing was taken" in page.content


def test_files_that_belong_together_come_together(member):
    shapes = {"function": "double", "cases": [{"name": "main", "inputs": {"x": {"shape": [4, 8]}}}]}
    source = b"import torch\n\n\ndef double(x):\n    return x * 2\n"
    page = send(member, ("double.py", source), ("double.inputs.json", json.dumps(shapes).encode()))
    assert results(page) == {("workload", "draft")}


def test_a_file_that_would_do_something_is_read_and_never_run(member, tmp_path):
    trap = tmp_path / "was_run"
    source = DOUBLE + f"\nopen({str(trap)!r}, 'w').close()\nimport os; os.abort()\n".encode()
    page = send(member, ("double.py", source))
    assert results(page) == {("workload", "draft")}
    assert not trap.exists()
    assert "double.py" in " ".join(page.context["report"].changed + page.context["report"].dropped)


def test_a_program_that_only_a_run_explains_waits_for_a_probe(member):
    source = DOUBLE.replace(b"return x * 2", b"return x[x > 0]")
    page = send(member, ("picks.py", source))
    assert results(page) == {("probe", "needs a probe")}
    assert len(page.context["report"].probes) == 1
    assert not WorkloadDraft.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b"", "empty"),
        ("a.exe", b"MZ\x90\x00", "none of"),
        ("a.zip", b"PK\x03\x04 broken", "damaged"),
        ("a.zip", zipped({"../a.json": b"{}"}), "leads out"),
        ("a.zip", zipped({"definitions/a.json": b" " * 3_000_000}), "empty"),
        ("a.jsonl", b'{"a": ' * 5_000, "nested deeper"),
        ("a.jsonl", b'{"a": 1}\n' * 3, "neither a definition"),
        ("double.py", b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_bad_upload_is_refused_with_a_reason_and_leaves_nothing(member, name, content, words):
    page = send(member, (name, content))
    assert page.status_code == 422
    assert words in page.content.decode()
    assert not WorkloadDraft.objects.exists()
    assert not WorkloadImport.objects.exists()
    assert not AuditEntry.objects.exists()


def test_one_program_is_kept_for_a_workload(member, team):
    sync_shipped()
    source = b"import triton\nKNOBS = {'BLOCK': 64}\n\n\ndef run(x, y):\n    pass\n"
    for _ in range(2):
        data = {"workload": "softmax", "program": SimpleUploadedFile("fast.py", source)}
        answer = member.post(f"{PAGE}program/", data)
        assert answer["Location"] == "/searches/new/?workload=softmax"
    row = StartingCandidate.objects.get()
    assert (row.team, row.workload, row.name, row.language) == (team, "softmax", "fast", "triton")
    assert row.record.knobs == {"BLOCK": 64}
    assert AuditEntry.objects.get().after == {"workload": "softmax", "hash": row.hash}


@pytest.mark.parametrize(
    ("slug", "name", "content", "words"),
    [
        ("nothing", "a.py", b"x = 1", "Choose a workload"),
        ("softmax", "a.exe", b"MZ", "ends in"),
        ("softmax", "a.py", b"x = '\xff'", "UTF-8"),
    ],
)
def test_what_is_no_program_is_said_and_not_kept(member, slug, name, content, words):
    sync_shipped()
    data = {"workload": slug, "program": SimpleUploadedFile(name, content)}
    page = member.post(f"{PAGE}program/", data, follow=True)
    assert words in page.content.decode()
    assert not StartingCandidate.objects.exists()


def test_nothing_chosen_is_said(member):
    page = member.post(PAGE, {})
    assert page.status_code == 422
    assert b"choose a file" in page.content


def test_a_report_is_the_team_s(member, client, team):
    send(member, ("double.py", DOUBLE))
    address = WorkloadImport.objects.get().get_absolute_url()
    assert member.get(address).status_code == 200
    login(client, Team.objects.create(name="Others", slug="others"), "admin")
    assert client.get(address).status_code == 404
    assert client.post(f"{address}publish/").status_code == 404


def test_text_of_strangers_stays_text(member):
    name = "<img src=x onerror=alert(1)>\u202e.py"
    page = send(member, (name, DOUBLE))
    assert b"<img src=x" not in page.content
    assert "\u202e" not in page.content.decode()


def test_a_version_is_downloaded_in_every_format_that_can_say_it(member):
    sync_shipped()
    page = member.get("/workloads/softmax/").content.decode()
    offered = re.findall(r'href="(/workloads/softmax/v/1/export/(\w+)/)"', page)
    assert [form for _, form in offered] == list(FORMATS)
    for form in FORMATS:
        answer = member.get(f"/workloads/softmax/v/1/export/{form}/")
        assert answer.status_code == 200, form
        name = answer["Content-Disposition"].removeprefix('attachment; filename="').rstrip('"')
        page = send(member, (name, answer.content))
        assert results(page) <= {("workload", "draft"), ("workload", "unchanged")}, form
        assert WorkloadDraft.objects.exists() == (form != "kernelsite"), form
    refused = member.get("/workloads/gqa_paged_decode/v/1/export/flashinfer_trace/")
    assert refused.status_code == 409
    assert "computed axes" in refused.content.decode()


def test_the_command_takes_and_publishes(team, tmp_path, capsys):
    for path, content in trace_files().items():
        (tmp_path / "set" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "set" / path).write_bytes(content)
    call_command("import_workload", str(tmp_path / "set"), "--publish")
    told = capsys.readouterr().out
    assert "starting candidate: fast" in told
    assert "published softmax@1" in told
    (tmp_path / "set/definitions/bad.json").write_bytes(b"{")
    with pytest.raises(CommandError, match="1 refused"):
        call_command("import_workload", str(tmp_path / "set"))
    with pytest.raises(CommandError, match="neither a file nor a folder"):
        call_command("import_workload", str(tmp_path / "nothing"))


def test_the_command_writes_what_it_can_read_again(team, tmp_path):
    sync_shipped()
    call_command("export", "workload", "softmax", str(tmp_path / "out"), "--format", "sol_execbench")
    assert (tmp_path / "out/softmax/definition.json").is_file()
    call_command("export", "workload", "softmax@1", str(tmp_path / "softmax.zip"))
    call_command("export", "library", "core", str(tmp_path / "core.yaml"))
    call_command("import_workload", str(tmp_path / "softmax.zip"))
    (item,) = Outcomes.load(WorkloadImport.objects.get().report).items
    assert item.result == "unchanged"
    with pytest.raises(CommandError, match="File exists"):
        call_command("export", "workload", "softmax", str(tmp_path / "out"))
    with pytest.raises(CommandError, match="no workload"):
        call_command("export", "workload", "nothing", str(Path(tmp_path) / "x"))
