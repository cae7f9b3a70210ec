"""Workloads and libraries over the API: listed, read, taken in, given back."""

from __future__ import annotations

import json

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile

from kernelsite.accounts.models import AuditEntry, Membership
from kernelsite.catalog.library_files import to_yaml
from kernelsite.catalog.models import LibraryDraft, WorkloadDraft, WorkloadVersion
from search.library import shipped_library
from search.workload import Workload, shipped_workload


@pytest.fixture
def upload(client, call, monkeypatch):
    """Posts a file; the token is that of `call`."""

    def upload(path, file, content, **data):
        held = {}
        monkeypatch.setattr(client, "get", lambda _, headers: held.update(headers))
        call("get", "/workloads")
        monkeypatch.undo()
        body = {"file": SimpleUploadedFile(file, content)} | data
        return client.post(f"/api/v1{path}", body, headers=held)

    return upload


def named(name: str) -> bytes:
    return json.dumps(shipped_workload("softmax").model_copy(update={"name": name}).dump()).encode()


def test_versions_are_listed_page_by_page(call, site):
    first = call("get", "/workloads?limit=10").json()
    assert len(first["items"]) == 10
    rest = call("get", f"/workloads?limit=200&before={first['next']}").json()
    assert rest["next"] is None
    names = [row["name"] for row in first["items"] + rest["items"]]
    assert len(set(names)) == WorkloadVersion.objects.count() == len(names)
    assert [row["name"] for row in call("get", "/libraries").json()["items"]] == ["core@1"]


def test_a_document_is_the_one_that_is_hashed(call, site):
    document = call("get", "/workloads/softmax").json()
    assert Workload.load(document).hash == shipped_workload("softmax").hash
    assert call("get", "/workloads/softmax?version=7").status_code == 404
    assert call("get", "/libraries/core").json()["name"] == "core"


def test_a_viewer_s_token_sees_no_hidden_cases(call, site, alice):
    Membership.objects.filter(user=alice).update(role="viewer")
    assert not any(case["hidden"] for case in call("get", "/workloads/softmax").json()["cases"])
    exported = json.loads(call("get", "/workloads/softmax/export/kernelsite").content)
    assert not any(case["hidden"] for case in exported["cases"])


def test_an_upload_is_taken_and_published(call, upload, site):
    answer = upload("/workloads/import", "mine.workload.json", named("mine"), publish="true")
    assert answer.status_code == 201, answer.content
    assert answer.json()["published"] == ["mine@1"]
    assert [entry.verb for entry in AuditEntry.objects.order_by("id")] == ["import", "publish"]
    report = call("get", f"/workloads/imports/{answer.json()['id']}").json()["report"]
    assert [one["result"] for one in report["items"]] == ["draft"]
    back = call("get", "/workloads/mine/export/kernelsite").content
    again = upload("/workloads/import", "mine.workload.json", back, publish="true").json()
    assert again["published"] == []
    assert [one["result"] for one in again["report"]["items"]] == ["unchanged"]


@pytest.mark.parametrize(
    ("name", "content", "data", "status"),
    [
        ("a.json", b"", {}, 422),
        ("a.zip", b"PK\x03\x04", {}, 422),
        ("a.json", b"{}", {"format": "nothing"}, 422),
        ("a.json", b"{}", {"publish": "perhaps"}, 422),
    ],
)
def test_a_bad_upload_is_a_problem_document(upload, site, name, content, data, status):
    answer = upload("/workloads/import", name, content, **data)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not WorkloadDraft.objects.exists()


def test_what_a_format_cannot_say_is_said(call, site):
    answer = call("get", "/workloads/gqa_paged_decode/export/flashinfer_trace")
    assert answer.status_code == 409
    assert "computed axes" in answer.json()["detail"]
    assert call("get", "/workloads/softmax/export/nothing").status_code == 409


def test_a_library_goes_out_and_comes_in_under_another_name(call, upload, site):
    text = call("get", "/libraries/core/export.yaml").content.decode()
    # PostgreSQL's jsonb keeps no order of keys.
    assert yaml.safe_load(text) == yaml.safe_load(to_yaml(shipped_library()))
    ours = text.replace("name: core", "name: ours", 1).encode()
    answer = upload("/libraries/import", "ours.yaml", ours, name="ours", publish="true")
    assert answer.json()["published"] == "ours@1", answer.content
    broken = upload("/libraries/import", "ours.yaml", b"name: [", name="theirs", publish="true")
    assert broken.status_code == 201
    assert broken.json()["problems"]
    assert LibraryDraft.objects.get().slug == "theirs"
    assert upload("/libraries/import", "x.exe", b"MZ", name="x").status_code == 422
    assert upload("/libraries/import", "x.yaml", ours, name="Not A Name").status_code == 422


def test_a_token_needs_scope_and_its_person_the_role(call, upload, site, alice):
    Membership.objects.filter(user=alice).update(role="viewer")
    assert upload("/workloads/import", "mine.workload.json", named("mine")).status_code == 403
    assert upload("/libraries/import", "a.yaml", b"name: a", name="a").status_code == 403
    assert call("get", "/workloads", scopes=("launch",)).status_code == 403
