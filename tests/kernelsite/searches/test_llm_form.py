"""The launch form with models: what it shows, what it refuses, what it asks before a secret leaves."""

from __future__ import annotations

import pytest
from model_rig import add_model

from kernelsite.catalog.models import LibraryVersion, WorkloadVersion, sync_shipped
from kernelsite.endpoints.secret_scan import scan
from kernelsite.searches.models import Search
from tests.fakes.model_server import ModelServer, replies

AWS = "AKIA" + "ABCDEFGHIJKLMNOP"


@pytest.fixture
def model(team):
    with ModelServer(replies("ready")) as server:
        yield add_model(team, server, "work", context_tokens=16384)


@pytest.fixture
def fields(client, alice, team, device, model, wire, settings):
    settings.MODEL_HOSTS = "loopback"
    sync_shipped()
    client.force_login(alice)
    form = client.get("/searches/new/").context["form"]
    shown = {name: field.initial for name, field in form.fields.items() if field.initial is not None}
    return shown | {
        "workload": WorkloadVersion.objects.filter(slug="softmax").latest("version").pk,
        "library": LibraryVersion.objects.latest("version").pk,
        "device_class": "cpu",
        "seeds": "0",
        "idempotency_key": "once",
        "agent": "llm",
        "models": [model.pk],
        "tokens": "200000",
    }


def test_a_search_with_a_model_is_launched_once_and_freezes_it(client, fields, model):
    for _ in range(2):
        assert client.post("/searches/new/", fields).status_code == 302
    search = Search.objects.get()
    (chosen,) = search.endpoints
    assert (chosen["id"], chosen["name"], chosen["model"]) == (model.pk, "work", "fake-model")
    assert not {"prices", "api_key"} & chosen.keys()
    assert (search.agent, search.tokens_cap, search.cost_usd_cap) == ("llm", 200_000, None)
    assert search.caps.tokens == search.record.budget.tokens == 200_000
    page = client.get(f"/searches/new/?from={search.pk}").context["form"]
    assert page.initial["evaluations"] == search.evaluations_cap


def test_the_form_shows_host_ceiling_and_no_key(client, fields, model):
    page = client.get("/searches/new/")
    text = page.content.decode()
    assert model.host in text
    assert "sk-canary" not in text
    (facts,) = page.context["form"].model_facts
    assert facts["ceiling_tokens"] == 12_000 + 4096
    assert facts["ceiling_usd"] == pytest.approx((12_000 * 1 + 4096 * 4) / 1e6)
    assert facts["step_tokens"] is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"models": []}, "models"),
        ({"models": ["999"]}, "models"),
        ({"tokens": ""}, "tokens"),
        ({"tokens": "100"}, "tokens"),
        ({"tokens": "0"}, "tokens"),
        ({"tokens": "", "cost_usd": "0"}, "cost_usd"),
        ({"cost_usd": "0.000001"}, "cost_usd"),
        ({"cost_usd": "nan"}, "cost_usd"),
        ({"agent": "wishful"}, "agent"),
        ({"agent": "replay"}, "transcript"),
        ({"at_cap": "explode"}, "at_cap"),
    ],
)
def test_wrong_choices_are_named_at_their_field(client, fields, changes, field):
    page = client.post("/searches/new/", fields | changes)
    assert page.status_code == 422
    assert field in page.context["form"].errors
    assert not Search.objects.exists()


def test_the_playbook_ignores_models_and_caps(client, fields):
    assert client.post("/searches/new/", fields | {"agent": ""}).status_code == 302
    search = Search.objects.get()
    assert (search.agent, search.endpoints, search.tokens_cap) == ("playbook", [], None)


def test_a_secret_in_a_workload_is_told_before_the_first_send(client, fields):
    """F198: nothing is launched until somebody says that it may leave; the secret itself is not repeated."""
    workload = WorkloadVersion.objects.get(pk=fields["workload"])
    document = workload.document | {"description": f"for the demo\nkey {AWS}"}
    WorkloadVersion.objects.filter(pk=workload.pk).update(document=document)
    page = client.post("/searches/new/", fields)
    assert page.status_code == 422
    assert "description, line 2: an AWS key" in page.content.decode()
    assert AWS not in page.content.decode()
    assert not Search.objects.exists()
    assert client.post("/searches/new/", fields | {"agent": "", "idempotency_key": "own"}).status_code == 302
    assert client.post("/searches/new/", fields | {"send_secrets": "on"}).status_code == 302


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        (f"id = {AWS}", "an AWS key"),
        ("sk-proj-0123456789abcdefghij", "a provider's key"),
        ("Authorization: Bearer abcdef1234567890", "a provider's key"),
        ("db = 'postgres://me:hunter22@db/x'", "a password in an address"),
        ("DB_PASSWORD = 'correct-horse'", "a password"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig", "a signed token"),
    ],
)
def test_secrets_are_found(text, kind):
    (found,) = scan({"reference": f"import torch\n{text}"})
    assert (found.where, found.line, found.kind) == ("reference", 2, kind)


def test_shipped_workloads_hold_no_secret():
    from search.library import shipped_workloads

    for workload in shipped_workloads().values():
        assert scan(workload.dump()) == []
