"""Every route and socket against every kind of person; the routes are read from the URL configuration."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone
from grown import grow
from permission_table import PERSONAS, ROLES, SOCKETS, TABLE

from kernelsite.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Scope, Team
from kernelsite.catalog import imports, library_publish, probes, validations, workload_publish
from kernelsite.catalog.models import WorkloadDraft
from kernelsite.compare.models import Comparison, SavedSet, SavedView
from kernelsite.endpoints.models import ModelEndpoint, Price
from kernelsite.notices.models import Delivery, Notice, Webhook
from kernelsite.notices.models.webhook import new_secret
from kernelsite.reviews import deeds
from kernelsite.reviews.deeds import Said
from kernelsite.reviews.models import Release
from kernelsite.searches.models import ModelCall, Step
from kernelsite.searches.routing import websocket_urlpatterns
from kernelsite.shares.document import Scope as Shown
from kernelsite.shares.kinds import KINDS
from kernelsite.shares.models import GuestMinute, Share
from search.agents.llm.outcomes import Attempt, Message, ModelRequest
from search.formats.probes import ProbeAnswer
from search.validation import Ending
from search.workload import shipped_workload
from tests.kernelsite.workload_texts import OPERATOR, PICKS

HEAD = "name: small\nversion: '1'\ntitle: Small\n"
ACTION = """\
decisions:
  - {name: exp, when: [trait softmax], initial: libm, words: {libm: of the library, polynomial: a polynomial}}
actions:
  - {id: poly, family: numerics, title: Polynomial, summary: A polynomial., when: [trait softmax], sets: {exp: polynomial},
     contract: No call., notes: ""}
"""
SMALL = {"00_library.yaml": HEAD, "10_poly.yaml": ACTION}


def route_names(resolver=None, namespaces=()):
    resolver = resolver or get_resolver()
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from route_names(entry, (*namespaces, entry.namespace) if entry.namespace else namespaces)
        else:
            yield ":".join((*namespaces, entry.name or str(entry.pattern)))


def test_every_route_and_socket_has_a_row():
    assert set(route_names()) == set(TABLE)
    assert {str(route.pattern) for route in websocket_urlpatterns} == set(SOCKETS)
    assert all(set(row.answers) == set(PERSONAS) for rows in TABLE.values() for row in rows)


@pytest.fixture
def people(team, alice):
    """A user for each persona but the anonymous one; `alice` is the admin."""
    users = {"admin": alice}
    for role in ROLES[:-1]:
        users[role] = get_user_model().objects.create_user(role, email=f"{role}@example.org")
        Membership.objects.create(team=team, user=users[role], role=role)
    users["stranger"], users["removed"] = map(get_user_model().objects.create_user, ("stranger", "removed"))
    other = Team.objects.create(name="Others", slug="others")
    Membership.objects.create(team=other, user=users["stranger"], role="admin")
    place = Membership.objects.create(team=team, user=users["removed"], role="admin")
    people = {
        name: (user, token_of(user, other if name == "stranger" else team)) for name, user in users.items()
    }
    place.delete()
    return people


def token_of(user, team):
    until = timezone.now() + timedelta(days=1)
    scopes = list(Scope)
    return ApiToken(team=team, user=user, name="all", scopes=scopes, expires_at=until).issue()


@pytest.fixture
def world(launch, team, device, people, alice):
    """Names for the table's paths: one thing of each kind, all the team's."""
    search = launch()
    search.refresh_from_db()
    grow(search, 3)
    endpoint = ModelEndpoint.objects.create(team=team, name="m", base_url="http://127.0.0.1:1/v1", model="m")
    price = Price.objects.create(endpoint=endpoint, input_usd=1.0, output_usd=1.0)
    comparison = Comparison.objects.create(team=team, title="c", idempotency_key="c", request={})
    arm = launch(seed=1)
    arm.comparison = comparison
    arm.save(update_fields=["comparison"])
    SavedSet.objects.create(team=team, slug="kept", title="Kept").searches.set([search])
    SavedView.objects.create(
        team=team, user=alice, key="kept-by-alice", title="v", path="/searches/", digest="0"
    )
    library_publish.new_draft(team, alice, "small", SMALL)
    ours = {name: text.replace("small", "ours") for name, text in SMALL.items()}
    library_publish.publish(library_publish.new_draft(team, alice, "ours", ours), alice)
    validation = workloads_of(team, alice)
    upload, probe, profile = import_of(team, alice)
    webhook = Webhook(team=team, name="chat", events=["record"])
    webhook.seal("http://127.0.0.1:9/x", new_secret())
    webhook.save()
    notice = Notice.objects.create(team=team, event="record", key="k", title="t")
    delivery = Delivery.objects.create(notice=notice, webhook=webhook, state="failed")
    invitation = Invitation(team=team, email="bob@example.org", created_by=alice)
    secret = invitation.issue()
    alices = ApiToken.objects.get(user=alice)
    review, release = reviewed(search, people["member"][0])
    return {
        "search": search.pk,
        "review": review.pk,
        "release": release.pk,
        "call": call_of(search, endpoint).pk,
        "comparison": comparison.pk,
        "library": search.library.version,
        "device": device.pk,
        "validation": validation.pk,
        "endpoint": endpoint.pk,
        "price": price.pk,
        "import": upload.pk,
        "probe": probe.pk,
        "profile": profile.pk,
        "invitation": invitation.pk,
        "secret": secret,
        "team": team.pk,
        "token": alices.pk,
        **shares_of(search),
        "webhook": webhook.pk,
        "delivery": delivery.pk,
        "viewer": Membership.objects.get(user=people["viewer"][0]).pk,
    }


def shares_of(search):
    """Two links to a search: one as usual, one with its code."""
    ids = {}
    for name, has_code in (("share", False), ("code_share", True)):
        result = KINDS["search"].result(search, "Shared", Shown(code=has_code))
        row = Share(
            team=search.team,
            kind="search",
            thing_id=search.pk,
            has_code=has_code,
            document=result.dump(),
            expires_at=timezone.now() + timedelta(days=1),
        )
        ids |= {"guest_token": row.issue(), name: row.pk}
    return ids


def workloads_of(team, user):
    """A published workload with a validation under way, an empty draft and a sound one."""
    softmax = shipped_workload("softmax")
    workload_publish.begin(team, user, "begun", "Begun")
    for name in ("rows", "sound"):
        workload = softmax.model_copy(update={"name": name})
        workload_publish.create_draft(team, user, workload, "a file")
    row = workload_publish.publish(WorkloadDraft.objects.get(slug="rows"), user)
    return validations.request(team, user, row.record, row.slug, "h200")[0]


def import_of(team, user):
    """An import of two programs that only a run explains; the second waits for a device, the first was profiled."""
    upload = imports.take(team, user, {"first.py": PICKS, "second.py": PICKS}, "set")
    (probe,) = probes.request(upload, user, "cpu", [1])
    (profile,) = probes.request(upload, user, "cpu", [0], "profile")
    probes.record(profile.pk, profile.token, ProbeAnswer(ending=Ending.PASSED, told=(OPERATOR,)).dump())
    return upload, probe, profile


def reviewed(search, user):
    """An open review of the third structure, and a release of the second."""
    open_, _ = deeds.propose(search.structures.get(number=3), Said(user, "k"), "MIT")
    done, _ = deeds.propose(search.structures.get(number=2), Said(user, "k"), "MIT")
    candidate = done.revision.candidate
    release = Release.objects.create(
        team=search.team,
        review=done,
        workload=search.workload,
        slug="softmax",
        number=1,
        candidate=candidate,
        evaluation=candidate.evaluations.first(),
        content_hash=candidate.record.hash,
        speedup=2.0,
        low=1.9,
        high=2.1,
        median_us=50.0,
    )
    return open_, release


def call_of(search, endpoint):
    request = ModelRequest(role="coder", messages=(Message(role="user", content="?"),), turn="1/1")
    attempt = Attempt(
        request=request,
        endpoint="m",
        host="127.0.0.1",
        model="m",
        output_limit=5,
        ceiling_tokens=10,
        ceiling_usd=None,
    )
    return ModelCall.objects.create(
        search=search,
        step=Step.objects.filter(search=search).first(),
        step_attempt=1,
        endpoint=endpoint,
        endpoint_name="m",
        host="127.0.0.1",
        model="m",
        role="coder",
        request_hash="0" * 64,
        ceiling_tokens=10,
        tokens=10,
        attempt=attempt.dump(),
    )


class TakenBackError(Exception):
    pass


def ask(client, row, world, headers):
    """Status and the number of audit entries that the request wrote; everything is taken back."""
    path, text = row.path.format(**world), json.dumps(row.data).replace('"{search}"', str(world["search"]))
    text = text.replace("{search}", str(world["search"]))
    data = json.loads(text.replace('"{team}"', str(world["team"])))
    before = AuditEntry.objects.count()
    status = written = None
    try:
        with transaction.atomic():
            if row.method == "GET":
                response = client.get(path, headers=headers)
            elif path.startswith("/api/"):
                send = getattr(client, row.method.lower())
                response = send(path, data, content_type="application/json", headers=headers)
            else:
                response = client.post(path, data, headers=headers)
            status, written = response.status_code, AuditEntry.objects.count() - before
            raise TakenBackError
    except TakenBackError:
        return status, written


@pytest.mark.parametrize("persona", PERSONAS)
def test_each_person_gets_the_table_s_answers(world, people, persona, monkeypatch):
    monkeypatch.setattr(GuestMinute, "LIMIT", 10_000)
    user, token = people.get(persona, (None, "ks_nothing"))
    if persona == "guest":
        token = world["guest_token"]
    wrong = {}
    for name, rows in TABLE.items():
        for row in rows:
            client = Client(raise_request_exception=False)
            is_api = row.path.startswith("/api/v1/")
            if user is not None and not is_api:
                client.force_login(user)
            if persona == "guest" and not row.path.startswith("/p/"):
                # Neither what the page leaves in the browser nor the token itself opens anything else.
                client.get(f"/p/{token}/")
            headers = {"Authorization": f"Bearer {token}"} if is_api or persona == "guest" else {}
            status, written = ask(client, row, world, headers)
            in_a_team = persona in people and persona != "removed"
            is_change = row.method != "GET" and row.audited and status < 400 and in_a_team
            if (status, written) != (row.answers[persona], int(is_change)):
                wrong[f"{name} {row.method} {row.path}"] = (status, written, row.answers[persona])
    assert wrong == {}


def test_sockets(world, people):
    (path,) = SOCKETS
    opened = {}
    for persona in PERSONAS:
        user = people[persona][0] if persona in people else AnonymousUser()
        opened[persona] = async_to_sync(opens)(f"/ws/searches/{world['search']}/", user)
    assert opened == SOCKETS[path]


async def opens(path, user):
    communicator = WebsocketCommunicator(URLRouter(websocket_urlpatterns), path)
    communicator.scope["user"] = user
    connected, _ = await communicator.connect(timeout=5)
    if connected:
        await communicator.disconnect()
    return connected


def pages_of(world):
    """Paths that an admin may read, of pages and files."""
    rows = (row for rows in TABLE.values() for row in rows)
    return [
        row.path.format(**world)
        for row in rows
        if row.method == "GET" and row.answers["admin"] == 200 and not row.path.startswith("/api/v1/")
    ]


def counts():
    """Rows of every table; a guest's look is counted by minute, which is what its table is for."""
    return {model: model.objects.count() for model in apps.get_models() if model is not GuestMinute}


def test_a_get_changes_no_row_and_every_answer_carries_the_headers(world, people):
    """F139, F171, F174, F175: crawled as an admin, with the table's pages."""
    client = Client()
    client.force_login(people["admin"][0])
    before, wrong = counts(), {}
    for path in pages_of(world):
        response = client.get(path)
        assert response.status_code == 200, path
        rules = HEADERS if is_file(response.headers) else HEADERS | PAGE_HEADERS
        if missing := [name for name, is_right in rules.items() if not is_right(response.headers)]:
            wrong[path] = missing
    assert wrong == {}
    assert counts() == before


def policy(headers):
    parts = (part.split() for part in headers.get("Content-Security-Policy", "").split(";"))
    return {words[0]: set(words[1:]) for words in parts if words}


def is_harmless(headers):
    """A page, or something that a browser neither runs nor draws in the site's name."""
    kind = headers["Content-Type"].split(";")[0]
    return kind in PASSIVE or is_file(headers)


def is_file(headers):
    return headers.get("Content-Disposition", "").startswith("attachment")


def scripts(headers):
    found = policy(headers)
    return found.get("script-src", found.get("default-src", {"?"})) <= {"'self'", "'none'"}


PASSIVE = {"text/html", "application/json", "text/plain", "image/png", "application/problem+json"}
HEADERS = {
    "scripts": scripts,
    "default": lambda headers: policy(headers).get("default-src") == {"'none'"},
    "old frames": lambda headers: headers["X-Frame-Options"] == "DENY",
    "no sniffing": lambda headers: headers["X-Content-Type-Options"] == "nosniff",
    "referrer": lambda headers: headers["Referrer-Policy"] in {"same-origin", "no-referrer"},
    "no other origin": lambda headers: "Access-Control-Allow-Origin" not in headers,
    "type": is_harmless,
}
PAGE_HEADERS = {
    "nothing unsafe": lambda headers: "unsafe" not in headers["Content-Security-Policy"],
    "base": lambda headers: policy(headers).get("base-uri") == {"'none'"},
    "frames": lambda headers: policy(headers).get("frame-ancestors") == {"'none'"},
}


def test_every_change_needs_the_form_token(world, people):
    """F139: as an admin with a session and without the token that only our own forms know."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["admin"][0])
    before, let_in = counts(), {}
    for rows in TABLE.values():
        for row in rows:
            if row.method != "GET" and not row.path.startswith("/api/v1/"):
                status = client.post(row.path.format(**world), row.data).status_code
                if status != 403:
                    let_in[row.path] = status
    assert let_in == {}
    assert counts() == before


HOSTILE = "<img src=x onerror=alert(1)>\"'</script>"
TEXTS = {
    "title",
    "name",
    "text",
    "note",
    "off_reason",
    "agent",
    "model",
    "driver",
    "runtime",
    "sandbox",
    "cores",
}
TEXTS |= {
    "quarantine",
    "best_baseline",
    "test_note",
    "endpoint_name",
    "host",
    "actor",
    "verb",
    "reason",
    "summary",
}


def is_ours(model):
    """Tables of the site; the trail lets nobody write into it."""
    return model.__module__.startswith("kernelsite.") and model is not AuditEntry


def test_hostile_text_stays_text_on_every_page(world, people):
    """F140: written into every column of free text, past all forms, and looked for in every page."""
    filled = 0
    for model in filter(is_ours, apps.get_models()):
        bound = {name for each in model._meta.constraints for name in getattr(each, "fields", ())}
        for field in model._meta.concrete_fields:
            free = field.name in TEXTS - bound and not field.unique and not field.choices
            if free and (field.max_length or 99) >= len(HOSTILE):
                with suppress(IntegrityError), transaction.atomic():  # a timeline refuses to be changed
                    filled += model.objects.update(**{field.name: HOSTILE})
    get_user_model().objects.filter(pk=people["viewer"][0].pk).update(username=HOSTILE)
    assert filled > 20
    client = Client()
    client.force_login(people["admin"][0])
    shown = 0
    for path in pages_of(world):
        response = client.get(path)
        if response.headers["Content-Type"].startswith("text/html"):
            page = response.content.decode()
            assert "<img src=x" not in page, path
            assert "'</script>" not in page, path
            shown += "&lt;img src=x" in page
    assert shown > 10
