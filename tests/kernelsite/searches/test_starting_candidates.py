"""Programs that a team had before: chosen at the launch, frozen, shown to who writes, and to nobody else."""

from __future__ import annotations

import pytest
from model_rig import add_model

from kernelsite.accounts.models import Team
from kernelsite.catalog import imports
from kernelsite.catalog.models import LibraryVersion, StartingCandidate, WorkloadVersion, sync_shipped
from kernelsite.searches.models import Search
from kernelsite.searches.scene import needs_walls, scene_of
from search.agents.llm.roles import coder
from search.agents.playbook.agent import PlaybookAgent
from search.compose import compose
from search.records import Candidate, DraftKind, Language, SourceFile, Stage
from search.steps import Draft
from tests.fakes.model_server import ModelServer, replies

AWS = "AKIA" + "ABCDEFGHIJKLMNOP"


def program(text: str) -> Candidate:
    return Candidate(language=Language.CPP, sources=(SourceFile(path="mine.cpp", content=text),))


def keep(team, text="// a program of ours\n", workload="softmax", name="mine") -> StartingCandidate:
    row, _ = imports.starting(team, None, workload, program(text), (name, "us", "set.zip"))
    return row


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


def test_a_chosen_program_is_frozen_and_shown_to_the_coder(client, fields, team):
    row = keep(team)
    assert client.post("/searches/new/", fields | {"starting": [row.pk]}).status_code == 302
    search = Search.objects.get()
    assert search.record.starting == (row.hash,)
    draft = Draft(number=1, kind=DraftKind.EXPLORE, stage=Stage.EXPLORE, seed=1)
    scene = scene_of(search, draft)
    assert scene.starting == (row.record,)
    blueprint = compose(scene.workload, scene.library, (), scene.language)
    (part,) = [one for one in coder.parts(scene, blueprint, None) if one.name == "starting"]
    assert "a program of ours" in part.text
    assert "<data" in part.text
    again = client.get(f"/searches/new/?from={search.pk}").context["form"]
    assert again.initial["starting"] == [row.pk]


def test_a_search_without_one_is_what_it_was(client, fields):
    assert client.post("/searches/new/", fields).status_code == 302
    assert "starting" not in Search.objects.get().settings


def test_only_the_workload_s_and_the_team_s_can_be_chosen(client, fields, team):
    other = keep(team, workload="rmsnorm")
    page = client.post("/searches/new/", fields | {"starting": [other.pk]})
    assert page.status_code == 422
    assert "no starting candidate of softmax" in page.content.decode()
    strange = keep(Team.objects.create(name="Others", slug="others"), name="theirs")
    page = client.post("/searches/new/", fields | {"starting": [strange.pk]})
    assert "starting" in page.context["form"].errors
    assert strange.name not in str(page.context["form"]["starting"])
    assert not Search.objects.exists()


def with_the_playbook(fields, *rows):
    return fields | {"agent": "", "models": [], "tokens": "", "starting": [row.pk for row in rows]}


def test_the_playbook_begins_with_it_in_a_sandbox(client, fields, team):
    row = keep(team, '// KNOBS {"BLOCK": 8}\n')
    assert client.post("/searches/new/", with_the_playbook(fields, row)).status_code == 302
    search = Search.objects.get()
    assert search.agent == "playbook"
    assert needs_walls(search)
    draft = Draft(number=1, kind=DraftKind.INSTANTIATE, stage=Stage.EXPLORE, seed=1)
    proposal = PlaybookAgent().propose(draft, scene_of(search, draft))
    assert proposal.candidate.source_hash == row.record.source_hash
    assert proposal.candidate.knobs == {"BLOCK": 8}


def test_the_playbook_takes_programs_of_the_device_s_language_alone(client, fields, team):
    row, _ = imports.starting(
        team,
        None,
        "softmax",
        Candidate(language=Language.TRITON, sources=(SourceFile(path="k.py", content="import triton\n"),)),
        ("theirs", "us", "set.zip"),
    )
    page = client.post("/searches/new/", with_the_playbook(fields, row))
    assert page.status_code == 422
    assert "written in triton" in page.content.decode()


def test_what_the_playbook_cannot_write_is_said_at_the_launch(client, fields):
    trimul = WorkloadVersion.objects.filter(slug="trimul").latest("version")
    page = client.post("/searches/new/", with_the_playbook(fields) | {"workload": trimul.pk})
    assert page.status_code == 422
    assert "a starting candidate to tune" in page.content.decode()
    assert not Search.objects.exists()


def test_a_secret_in_it_is_told_before_it_leaves(client, fields, team):
    row = keep(team, f'const char* key = "{AWS}";\n')
    page = client.post("/searches/new/", fields | {"starting": [row.pk]})
    assert page.status_code == 422
    assert "an AWS key" in page.content.decode()
    assert (
        client.post("/searches/new/", fields | {"starting": [row.pk], "send_secrets": "on"}).status_code
        == 302
    )


def test_actions_stop_rules_and_a_library_by_its_address(client, fields):
    own = fields | {"agent": "", "idempotency_key": "rules"}
    page = client.post("/searches/new/", own | {"allowed_actions": "online_softmax nonsense"})
    assert page.status_code == 422
    assert "nonsense" in str(page.context["form"].errors["allowed_actions"])
    told = {"stagnation": "8", "floor_speedup": "4.5"}
    known = {one.id for one in LibraryVersion.objects.latest("version").record.actions}
    told["allowed_actions"] = " ".join(sorted(known)[:2])
    assert client.post("/searches/new/", own | told).status_code == 302
    settings = Search.objects.get().record
    assert settings.allowed_actions == tuple(sorted(known)[:2])
    assert (settings.stages.stagnation, settings.stages.floor_speedup) == (8, 4.5)
    form = client.get(f"/searches/new/?from={Search.objects.get().pk}").context["form"]
    assert form.initial["allowed_actions"] == told["allowed_actions"]
    assert (form.initial["stagnation"], form.initial["floor_speedup"]) == (8, 4.5)
    library = LibraryVersion.objects.latest("version")
    for name in (library.slug, library.short):
        assert client.get(f"/searches/new/?library={name}").context["form"].initial["library"] == library.pk
