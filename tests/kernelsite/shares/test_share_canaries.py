"""A canary in every text column and every text of every JSON column: exactly the listed ones reach a guest."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, models, transaction
from django.test import Client
from django.utils import timezone

from kernelsite.accounts.models import ApiToken, AuditEntry, Invitation
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
from kernelsite.endpoints.models import ModelEndpoint, Price
from kernelsite.reviews import frozen
from kernelsite.searches.models import Candidate, Evaluation, Event, ModelCall, Step
from kernelsite.shares import figures
from kernelsite.shares.canvas.svg import SvgCanvas
from kernelsite.shares.document import Scope
from kernelsite.shares.kinds import KINDS
from kernelsite.shares.models import Share

GRAMMAR = {"searches.Search.best_candidate", "searches.Structure.best_candidate", "shares.Share.digest"}
"""Texts that say where something is, so that nothing would be found behind a canary."""
CASE_NAMES = ("cases.name", "cases.case")
"""Names by which a result's cases are found in the workload; those of hidden ones get a canary."""
SHORTEST = 16
CANARY = re.compile(r"cnry(\d{4})z")

WORKLOAD = {
    "catalog.WorkloadVersion.title",
    "catalog.WorkloadVersion.op_type",
}
MEASURED = {
    "searches.Evaluation.baseline",
    *(
        f"searches.Evaluation.result:{path}"
        for path in (
            "baseline",
            "environment.device",
            "environment.driver",
            "environment.harness",
            "environment.policy",
            "environment.runtime",
        )
    ),
}
RESULTS = WORKLOAD | MEASURED | {"shares.Share.title"}
TREE = {"searches.Structure.blueprint:actions"}
LINEAGE = {"searches.Structure.title"}
CODE = {
    "searches.SourceText.files:content",
    "searches.SourceText.files:path",
    "searches.Candidate.knobs:LAYOUT",
}
TRANSCRIPT = {
    "searches.ModelCall.role",
    "searches.ModelCall.attempt:request.messages.content",
    "searches.ModelCall.attempt:request.messages.role",
    "searches.ModelCall.reply:text",
}
BASELINE = {"searches.Evaluation.baseline"}
"""A release keeps its own."""
RELEASE = {f"reviews.Release.{name}" for name in ("baseline", "device", "license", "content_hash")}
NOTHING, ALL = Scope(tree=False), Scope(code=True, transcript=True)
PUBLIC = {
    ("search", NOTHING): RESULTS,
    ("search", Scope()): RESULTS | TREE,
    ("search", ALL): RESULTS | TREE | CODE | TRANSCRIPT,
    ("structure", NOTHING): RESULTS,
    ("structure", ALL): RESULTS | LINEAGE | CODE | TRANSCRIPT,
    ("release", NOTHING): RESULTS - BASELINE | RELEASE,
    # What is not of one search is not there to be shared.
    ("comparison", ALL): RESULTS | {"searches.Search.strategy"},
    ("set", ALL): RESULTS | {"searches.Search.strategy"},
}


class Aviary:
    """Canaries by what they stand for."""

    def __init__(self, hidden):
        self.names = []
        self.refused = set()
        """Columns that a constraint keeps free of them in some row."""
        self.hidden = hidden
        """Names of hidden cases."""

    def canary(self, name):
        if name not in self.names:
            self.names.append(name)
        return f"cnry{self.names.index(name):04d}z"

    def seen(self, text):
        return {self.names[int(number)] for number in CANARY.findall(text)}

    def plant(self, row):
        label = f"{row._meta.app_label}.{row._meta.object_name}"
        for field in row._meta.concrete_fields:
            name = f"{label}.{field.name}"
            if name in GRAMMAR or field.choices or field.is_relation:
                continue
            if isinstance(field, models.JSONField):
                self._save(row, field, self._in_document(row, field, name))
            elif isinstance(field, models.CharField | models.TextField) and _has_room(field):
                # Names must differ from row to row where a constraint says so.
                self._save(row, field, f"{self.canary(name)}{row.pk}")

    def _save(self, row, field, value):
        rows = type(row)._default_manager.filter(pk=row.pk)
        try:
            with transaction.atomic():
                rows.update(**{field.attname: value})
        except IntegrityError:
            self.refused.add(f"{row._meta.label}.{field.name}")

    def _in_document(self, row, field, name):
        document = getattr(row, field.attname)
        is_read = isinstance(row, WorkloadVersion | Evaluation)
        for path in list(_leaves(document)):
            words = ".".join(word for word in path if isinstance(word, str))
            before = _at(document, path)
            if words in CASE_NAMES and before not in self.hidden:
                continue
            label = "hidden case" if words in CASE_NAMES else f"{name}:{words}" if words else name
            _put(document, path, self.canary(label))
            if is_read and not _loads(row, document):
                _put(document, path, before)
        return document


def _has_room(field):
    return (field.max_length or SHORTEST) >= SHORTEST


def _leaves(value, path=()):
    if isinstance(value, str) and path:
        yield path
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, (*path, key))


def _at(document, path):
    for word in path:
        document = document[word]
    return document


def _put(document, path, value):
    _at(document, path[:-1])[path[-1]] = value


def _loads(row, document):
    fresh = type(row)(**{"document" if isinstance(row, WorkloadVersion) else "result": document})
    try:
        fresh.record  # noqa: B018  # builds it
    except ValueError:
        return False
    return True


@pytest.fixture
def crowd(team, alice, search, comparison, saved, release):
    """One row at least of what the site keeps about people, models and events."""
    until = timezone.now() + timedelta(days=1)
    search.state, search.finished_at = "finished", timezone.now()
    search.save()
    Invitation(team=team, email="x@example.org", created_by=alice).issue()
    ApiToken(team=team, user=alice, name="n", scopes=["read"], expires_at=until).issue()
    AuditEntry.objects.create(
        team_id=team.pk, actor="a", verb="v", kind="k", name="n", reason="r", address="1"
    )
    endpoint = ModelEndpoint.objects.create(team=team, name="m", base_url="http://127.0.0.1:1/v1", model="m")
    Price.objects.create(endpoint=endpoint, input_usd=1.0, output_usd=1.0)
    Event.objects.get_or_create(
        search=search, seq=90, kind="search.best", defaults={"payload": {"text": "t"}}
    )
    step = Step.objects.filter(search=search, candidate=None).first()
    step.structure = search.structures.last()
    step.proposal = {"note": "n"}
    step.save()
    ModelCall.objects.create(
        search=search,
        step=step,
        step_attempt=1,
        endpoint=endpoint,
        endpoint_name="m",
        host="h",
        model="m",
        role="coder",
        request_hash="0" * 64,
        ceiling_tokens=1,
        tokens=1,
        attempt={"host": "h", "request": {"messages": [{"role": "user", "content": "?"}], "dropped": ["d"]}},
        reply={"text": "an answer", "detail": "d", "raw": "r"},
    )
    for row in Candidate.objects.all():
        row.knobs["LAYOUT"] = "row"
        row.save()
    hidden = next(case.name for case in search.workload.record.cases if case.hidden)
    for row in Evaluation.objects.all():
        row.note, row.result["log"], row.result["message"] = "n", "a log", "a message"
        if cases := row.result["cases"]:
            cases.append(cases[0] | {"case": hidden})
        row.result["environment"] |= {"driver": "1", "runtime": "r", "policy": "p"}
        row.save()
    return {
        "search": search,
        "structure": search.structures.last(),
        "comparison": comparison,
        "set": saved,
        "release": release,
    }


@pytest.fixture
def thawed(transactional_db):
    """Rows that reviews never change take canaries like all others."""
    frozen.remove(connection)
    yield
    frozen.install(connection)


def of_a_share(kind, thing, scope, team):
    share = Share(
        team=team,
        kind=kind,
        thing_id=thing.pk,
        is_live=True,
        has_tree=scope.tree,
        has_code=scope.code,
        has_transcript=scope.transcript,
        expires_at=timezone.now() + timedelta(days=1),
    )
    return share, share.issue()


def everything_a_guest_can_get(token):
    guest = Client()
    answers = [
        guest.get(f"/p/{token}/{path}")
        for path in ("", "data.json", "picture.png", "figures/best-so-far.svg", "figures/cases.svg")
    ]
    assert [answer.status_code for answer in answers] == [200] * 5
    headers = json.dumps([dict(answer.headers) for answer in answers])
    return headers + "".join(answer.content.decode() for answer in answers)


def test_only_the_listed_fields_reach_a_guest(crowd, thawed, team, monkeypatch):
    # Pictures are painted as SVG, whose words can be read.
    monkeypatch.setattr(figures, "new_canvas", lambda form, width, height, scale=2: SvgCanvas(width, height))
    tokens = {case: of_a_share(case[0], crowd[case[0]], case[1], team) for case in PUBLIC}
    own = crowd["search"]
    aviary = Aviary({case.name for case in own.workload.record.cases if case.hidden})
    for model in apps.get_models():
        if model.__module__.startswith("kernelsite.") or model is get_user_model():
            rows = model._default_manager.all()
            if model is WorkloadVersion or model is LibraryVersion:
                rows = rows.filter(pk=own.workload_id if model is WorkloadVersion else own.library_id)
            for row in rows:
                aviary.plant(row)
    assert len(aviary.names) > 150
    assert "hidden case" in aviary.names
    assert aviary.refused <= {"reviews.Entry.path"}
    found = {}
    for case, (_, token) in tokens.items():
        found[case] = aviary.seen(everything_a_guest_can_get(token))
    wrong = {
        case: {"too much": sorted(seen - PUBLIC[case]), "lacking": sorted(PUBLIC[case] - seen)}
        for case, seen in found.items()
        if seen != PUBLIC[case]
    }
    assert wrong == {}


def test_a_frozen_document_holds_no_more_than_a_live_one(crowd, share):
    token = share(kind="search", thing=crowd["search"], code="on")
    kept = Client().get(f"/p/{token}/data.json").json()
    live = KINDS["search"].result(crowd["search"], "For everybody", Scope(tree=False, code=True)).dump()
    assert set(kept) - {"state", "until", "revision"} == set(live)
    kept["taken_at"] = live["taken_at"]
    assert {name: kept[name] for name in live} == live
