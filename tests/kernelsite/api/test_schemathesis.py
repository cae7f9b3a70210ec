"""Schemathesis makes requests from the OpenAPI document: none that it thinks of is answered by a 500."""

from __future__ import annotations

import json

import pytest
import requests
import schemathesis
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings

from kernelsite.accounts.models import Scope
from kernelsite.api import waiting
from kernelsite.api.routes import api
from kernelsite.catalog import imports, probes
from kernelsite.searches.models import Search
from tests.kernelsite.workload_texts import PICKS

FIELDS = {"method", "url", "params", "json", "data", "files"}
"""Of a request, beside its headers."""

EXAMPLES = 5
"""Requests an operation; more find nothing that these did not, and take their time."""
QUIET = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
BODY = {"workload": "softmax", "options": {"budget": {"evaluations": 8}}}


class TakenBackError(Exception):
    """Ends a request's transaction."""


@pytest.fixture
def known(call, site, team, monkeypatch):
    """Path parameters that lead to something, by name: made up ones alone would find nothing but 404."""
    monkeypatch.setattr(waiting, "LONGEST_S", 0)
    search = call("post", "/searches", BODY).json()["id"]
    assert Search.objects.get().pk == search
    made = imports.take(team, None, {"first.py": PICKS}, "set")
    (run,) = probes.request(made, None, "cpu", task="profile")
    ids = {"import_id": made.pk, "probe_id": run.pk}
    return {"search_id": search, "device_id": site.pk, "slug": "softmax", **ids}


@pytest.fixture
def token(call, client, monkeypatch):
    """What a request of the admin with every scope carries."""
    held = {}
    monkeypatch.setattr(client, "get", lambda _, headers: held.update(headers))
    call("get", "/devices", scopes=tuple(Scope))
    monkeypatch.undo()
    return held["Authorization"]


def test_no_request_is_answered_by_an_error_of_ours(known, token):
    document = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/api/v1/")))
    wrong = {}
    operations = 0
    for found in schemathesis.openapi.from_dict(document).get_all_operations():
        operations += 1
        wrong |= failures(found.ok(), known, token)
    assert wrong == {}
    assert operations > 20


def failures(operation, known, token) -> dict[str, str]:
    """Requests of one operation that were answered by a 500, or by an error that is no problem document."""
    found = {}
    count = 0

    @QUIET
    @given(case=operation.as_strategy())
    def ask(case):
        nonlocal count
        count += 1
        real = {name: value for name, value in known.items() if name in (case.path_parameters or {})}
        if count % 2 and real:
            case.path_parameters.update(real)
        answer = send(case, token)
        if answer.status_code >= 500:
            found[case.as_curl_command()[:600]] = f"{answer.status_code}: {answer.content[:300]}"
        elif answer.status_code >= 400 and "problem+json" not in answer.headers["Content-Type"]:
            found[case.as_curl_command()[:600]] = f"{answer.status_code} is no problem document"

    ask()
    return found


def send(case, token):
    """The answer to a request, whose changes are taken back."""
    told = case.as_transport_kwargs(base_url="http://testserver")
    made = requests.Request(**{name: value for name, value in told.items() if name in FIELDS}).prepare()
    kind = made.headers.get("Content-Type", "application/octet-stream")
    client = Client(raise_request_exception=False, headers={"Authorization": token})
    answer = None
    try:
        with transaction.atomic():
            kind = kind.decode() if isinstance(kind, bytes) else kind
            answer = client.generic(made.method, made.path_url, made.body or b"", content_type=kind)
            raise TakenBackError
    except TakenBackError:
        return answer
