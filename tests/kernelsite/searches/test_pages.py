from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
import synthetic_device
from django.contrib.auth import get_user_model
from django.utils import timezone

from kernelsite.accounts.models import ApiToken, Scope
from kernelsite.catalog.models import sync_shipped
from kernelsite.compare.launch import ComparisonOrder, launch_comparison
from kernelsite.compare.models import Comparison
from kernelsite.searches.models import Candidate, Evaluation, Search
from search.records import EvaluationStatus, TaskName

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def signed_in(client, alice, team):
    client.force_login(alice)
    return client


@pytest.fixture
def finished(launch, wire):
    search = launch(budget=16)
    wire.run()
    search.refresh_from_db()
    return search


def best_of(search):
    return search.best_candidate


def pages_of(search):
    structure = search.structures.order_by("number").last().key
    candidate = best_of(search)
    tabs = ["blueprint", "contract", "code", "tuning"]
    own = ["code", "diff", "checks", "timings", "provenance", "log"]
    return [
        f"/searches/{search.pk}/",
        *(f"/structures/{structure}/?tab={tab}" for tab in tabs),
        *(f"/candidates/{candidate}/?tab={tab}" for tab in own),
    ]


GENERAL = [
    "/",
    "/searches/",
    "/searches/new/",
    "/compare/",
    "/workloads/",
    "/workloads/softmax/",
    "/libraries/",
    "/libraries/core/",
    "/workers/",
    "/find/?q=softmax",
]


def test_every_page_answers(signed_in, finished):
    for address in [*GENERAL, *pages_of(finished)]:
        assert signed_in.get(address).status_code == 200, address


def test_every_page_wants_a_log_in(client, finished):
    for address in [*GENERAL, *pages_of(finished), "/compare/1/", "/compare/curves.json?s=1", "/workers/1/"]:
        response = client.get(address)
        assert response.status_code == 302, address
        assert response["Location"].startswith("/accounts/login/"), address


def test_pages_of_another_team_do_not_exist(client, charlie, finished):
    client.force_login(charlie)
    for address in pages_of(finished):
        assert client.get(address).status_code == 404, address


def test_no_page_needs_inline_script_or_style(signed_in, finished):
    for address in [*GENERAL, *pages_of(finished), "/nowhere/"]:
        text = signed_in.get(address).content.decode()
        assert not re.search(r"<[^>]+\sstyle=", text), address
        assert not re.search(r"<[^>]+\son\w+=", text), address
        assert not re.search(r"<script(?![^>]*(\bsrc=|application/json))", text), address
        assert "javascript:" not in text, address


def test_an_empty_site_says_what_to_do_first(signed_in):
    text = signed_in.get("/").content.decode()
    assert "First steps" in text
    assert "manage.py sync_catalog" in text
    assert "gpuworker" in text


def test_the_search_page_shows_everything_without_javascript(signed_in, finished):
    text = signed_in.get(f"/searches/{finished.pk}/").content.decode()
    for row in Evaluation.objects.filter(search=finished, current=True).select_related(
        "candidate__structure"
    ):
        assert f"/candidates/{row.key}/" in text
    for structure in finished.structures.all():
        assert f"/structures/{structure.key}/" in text
    assert "synthetic baseline" in text
    assert "run_search --workload softmax --strategy two_stage" in text


def test_the_embedded_snapshot_is_the_one_of_the_endpoint(signed_in, finished):
    text = signed_in.get(f"/searches/{finished.pk}/").content.decode()
    embedded = json.loads(re.search(r'id="snapshot" type="application/json">(.*?)</script>', text)[1])
    fetched = signed_in.get(f"/searches/{finished.pk}/snapshot.json").json()
    for document in (embedded, fetched):
        document.pop("server_time")
    assert embedded == fetched


def test_hostile_text_stays_text(signed_in, launch, wire, monkeypatch):
    honest = synthetic_device.answer

    def hostile(request, status=EvaluationStatus.PASSED):
        return honest(request, EvaluationStatus.COMPILE_ERROR).model_copy(
            update={"message": HOSTILE, "log": HOSTILE}
        )

    monkeypatch.setattr("wire.answer", hostile)
    search = launch(budget=4)
    wire.run()
    Search.objects.filter(pk=search.pk).update(title=HOSTILE)
    candidate = Candidate.objects.filter(search=search).first()
    addresses = [
        "/",
        "/searches/",
        f"/searches/{search.pk}/",
        f"/candidates/{candidate.key}/",
        f"/candidates/{candidate.key}/?tab=log",
    ]
    for address in addresses:
        text = signed_in.get(address).content.decode()
        assert "<script>alert" not in text, address
        assert "<img src=x" not in text, address
    assert "&lt;img src=x" in text


def test_a_failed_candidate_shows_its_cause_and_no_speed(signed_in, launch, wire):
    search = launch(budget=4)
    wire.run_until(lambda: bool(wire.of(TaskName.EVALUATE)))
    first = Evaluation.objects.get(search=search)
    wire.verdicts[str(first.pk)] = EvaluationStatus.INCORRECT_NUMERICAL
    wire.run()
    text = signed_in.get(f"/candidates/{first.key}/?tab=timings").content.decode()
    assert "INCORRECT_NUMERICAL" in text
    assert "A speed is reported only for a checked result" in text
    assert "INCORRECT_NUMERICAL" in signed_in.get(f"/searches/{search.pk}/").content.decode()


def test_a_candidate_that_is_still_awaited_has_a_page(signed_in, launch, wire):
    search = launch(budget=4)
    wire.run_until(lambda: bool(wire.of(TaskName.EVALUATE)))
    row = Evaluation.objects.get(search=search)
    for tab in ["code", "diff", "checks", "timings", "provenance", "log"]:
        response = signed_in.get(f"/candidates/{row.key}/?tab={tab}")
        assert response.status_code == 200
        assert "still awaited" in response.content.decode()


def test_a_confirmation_has_its_own_page(signed_in, finished):
    assert finished.best_candidate.endswith("c")
    text = signed_in.get(f"/candidates/{finished.best_candidate}/").content.decode()
    assert "full tier" in text
    plain = signed_in.get(f"/candidates/{finished.best_candidate[:-1]}/").content.decode()
    assert "fast tier" in plain


def test_what_does_not_exist_is_a_404_page(signed_in, finished):
    nowhere = [
        "/candidates/1.1.1z/",
        "/candidates/9.9.9/",
        "/structures/9.9/",
        "/searches/999/",
        "/compare/999/",
    ]
    for address in [*nowhere, "/workloads/none/", "/libraries/core/v/99/", "/nowhere/"]:
        response = signed_in.get(address)
        assert response.status_code == 404, address
        assert "There is nothing here" in response.content.decode()


def test_hidden_cases_are_only_counted(signed_in, finished):
    record = finished.workload.record
    hidden = [case.name for case in record.cases if case.hidden]
    text = signed_in.get("/workloads/softmax/").content.decode()
    assert f"{len(hidden)} hidden one" in text
    assert not any(name in text for name in hidden)


def test_find_leads_from_a_short_id_to_its_page(signed_in, finished):
    for query, address in [
        (f"S-{finished.pk}", f"/searches/{finished.pk}/"),
        (f"st-{finished.pk}.1", f"/structures/{finished.pk}.1/"),
        (f"C-{finished.pk}.1.001", f"/candidates/{finished.pk}.1.001/"),
    ]:
        assert signed_in.get("/find/", {"q": query})["Location"] == address


def test_find_lists_names_and_survives_nonsense(signed_in, finished):
    assert finished.title in signed_in.get("/find/", {"q": "softmax"}).content.decode()
    for query in ["", "%", "S-99999999999999999999", "😀" * 500]:
        assert signed_in.get("/find/", {"q": query}).status_code in (200, 302)


@pytest.mark.parametrize("address", ["/find/?q=a%00b", "/searches/?state=%00", "/workloads/%00/"])
def test_a_nul_in_an_address_is_a_bad_request(signed_in, address):
    assert signed_in.get(address).status_code == 400


def test_the_list_filters_and_keeps_to_its_team(signed_in, finished, client):
    assert finished.title in signed_in.get("/searches/?state=finished&strategy=two_stage").content.decode()
    assert "No search fits" in signed_in.get("/searches/?strategy=mixed").content.decode()
    assert signed_in.get("/searches/?page=abc&sort=nonsense&state=nonsense").status_code == 200


def test_lists_ask_a_fixed_number_of_queries(
    signed_in, finished, launch, wire, django_assert_max_num_queries
):
    for seed in range(1, 4):
        launch(budget=8, seed=seed)
    wire.run()
    for address, most in [("/", 18), ("/searches/", 14), (f"/searches/{finished.pk}/", 20)]:
        with django_assert_max_num_queries(most):
            signed_in.get(address)


# Launch form ---------------------------------------------------------------------------------------


@pytest.fixture
def fields(signed_in, order, device):
    """What the form holds when it is opened."""
    form = signed_in.get("/searches/new/").context["form"]
    data = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    softmax = form.fields["workload"].queryset.get(slug="softmax")
    library = form.fields["library"].queryset.get(slug="core")
    return data | {"workload": softmax.pk, "library": library.pk, "device_class": "cpu", "evaluations": 8}


def test_the_form_launches_a_search(signed_in, fields, wire):
    response = signed_in.post("/searches/new/", fields)
    search = Search.objects.get()
    assert response["Location"] == f"/searches/{search.pk}/"
    assert search.record.budget.evaluations == 8
    assert search.created_by.username == "alice"


def test_two_clicks_launch_one_search(signed_in, fields, wire):
    first = signed_in.post("/searches/new/", fields)
    second = signed_in.post("/searches/new/", fields)
    assert Search.objects.count() == 1
    assert first["Location"] == second["Location"]


def test_a_used_key_with_other_settings_is_a_field_error(signed_in, fields, wire):
    signed_in.post("/searches/new/", fields)
    response = signed_in.post("/searches/new/", fields | {"evaluations": 9})
    assert response.status_code == 422
    assert Search.objects.count() == 1


def test_compare_launches_four_arms(signed_in, fields, wire):
    response = signed_in.post("/searches/new/", fields | {"mode": "compare"})
    comparison = Comparison.objects.get()
    assert response["Location"] == f"/compare/{comparison.pk}/"
    assert {search.strategy for search in comparison.searches.all()} == {
        "two_stage",
        "mixed",
        "structure_only",
        "local_only",
    }


def test_several_seeds_launch_one_search_each(signed_in, fields, wire):
    signed_in.post("/searches/new/", fields | {"seeds": "0-2, 7"})
    assert sorted(Search.objects.values_list("seed", flat=True)) == [0, 1, 2, 7]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("evaluations", "-5"),
        ("evaluations", "0"),
        ("evaluations", ""),
        ("evaluations", "many"),
        ("evaluations", "1e9"),
        ("workload", "999"),
        ("workload", "softmax"),
        ("workload", ""),
        ("library", "999"),
        ("mode", "magic"),
        ("mode", ""),
        ("device_class", "quantum"),
        ("seeds", "-1"),
        ("seeds", ""),
        ("seeds", "0 0"),
        ("seeds", "5-2"),
        ("seeds", "0-999999999"),
        ("seeds", "one"),
        ("probes", "4 2 1"),
        ("probes", "0"),
        ("explore_share", "2"),
        ("explore_share", "nan"),
        ("retain", "0"),
        ("finalists", "99"),
        ("device_seconds", "-1"),
        ("device_seconds", "inf"),
        ("wall_seconds", "0"),
        ("sampler", "dice"),
        ("parallel", "0"),
        ("title", "x" * 300),
    ],
)
def test_a_bad_value_is_an_error_beside_its_field(signed_in, fields, wire, field, value):
    response = signed_in.post("/searches/new/", fields | {field: value})
    assert response.status_code == 422
    assert response.context["form"].errors.get(field), response.context["form"].errors
    assert f'id="error-{field}"' in response.content.decode() or field == "mode"
    assert not Search.objects.exists()


def test_an_empty_form_is_all_errors_and_no_crash(signed_in, order):
    response = signed_in.post("/searches/new/", {})
    assert response.status_code == 422
    assert "Nothing was launched" in response.content.decode()


def test_an_estimate_needs_measurements(signed_in, fields, wire):
    assert signed_in.get("/searches/new/").context["facts"]["paces"] == {}
    signed_in.post("/searches/new/", fields)
    wire.run()
    pace = signed_in.get("/searches/new/").context["facts"]["paces"]["softmax"]["cpu"]
    assert pace["evaluations"] >= 5
    assert pace["low_s"] <= pace["median_s"] <= pace["high_s"]


@pytest.mark.parametrize(
    ("changes", "address"),
    [({}, "searches"), ({"seeds": "0 1"}, "comparisons"), ({"mode": "compare"}, "comparisons")],
)
def test_the_form_as_json_launches_the_same_over_the_api(signed_in, alice, team, fields, changes, address):
    answer = signed_in.post("/searches/new/", fields | changes | {"as": "json"})
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    assert not Search.objects.exists()
    until = timezone.now() + timedelta(hours=1)
    token = ApiToken(team=team, user=alice, name="t", scopes=[Scope.LAUNCH], expires_at=until).issue()
    made = signed_in.post(
        f"/api/v1/{address}", answer.content, "application/json", headers={"Authorization": f"Bearer {token}"}
    )
    assert made.status_code == 201, made.content
    by_api = Search.objects.earliest("pk").record
    assert signed_in.post("/searches/new/", fields | changes).status_code == 302
    assert Search.objects.filter(pk__gt=1).latest("pk").record.stages == by_api.stages
    assert {search.record.budget for search in Search.objects.all()} == {by_api.budget}


def test_what_cannot_be_launched_is_no_json_either(signed_in, fields):
    answer = signed_in.post("/searches/new/", fields | {"allowed_actions": "magic", "as": "json"})
    assert answer.status_code == 422
    assert "magic" in answer.content.decode()


def test_a_clone_brings_the_settings_of_its_model(signed_in, finished):
    initial = signed_in.get(f"/searches/new/?from={finished.pk}").context["form"].initial
    assert initial["evaluations"] == 16
    assert initial["mode"] == "two_stage"
    assert signed_in.get("/searches/new/?from=999&workload=none&mode=magic").status_code == 200


def test_somebody_without_a_team_gets_a_page_that_says_so(client, transactional_db):
    client.force_login(get_user_model().objects.create_user("dora"))
    assert client.get("/").status_code == 200
    response = client.get("/searches/new/")
    assert response.status_code == 403
    assert "You are in no team" in response.content.decode()


# Comparison ------------------------------------------------------------------------------------------


@pytest.fixture
def compared(order, wire, device):
    def build(seeds=(0,), strategies=("two_stage", "local_only")):
        comparison, _ = launch_comparison(ComparisonOrder(order(budget=8), strategies, seeds))
        wire.run(20_000)
        return comparison

    return build


def test_one_seed_gives_curves_and_no_verdict(signed_in, compared):
    text = signed_in.get(f"/compare/{compared().pk}/").content.decode()
    assert "Not enough seeds" in text
    assert "Verdict" not in text


def test_three_seeds_give_intervals_and_no_verdict(signed_in, compared):
    text = signed_in.get(f"/compare/{compared(seeds=(0, 1, 2)).pk}/").content.decode()
    assert "interval only" in text
    assert ">better<" not in text


def test_the_comparison_page_names_every_arm_and_its_fairness(signed_in, compared):
    comparison = compared()
    response = signed_in.get(f"/compare/{comparison.pk}/")
    assert [group.name for group in response.context["groups"]] == ["two stage", "local only"]
    assert all(row.is_equal for row in response.context["fairness"])


def test_curves_hold_only_records_and_are_not_sent_twice(signed_in, compared):
    comparison = compared()
    address = "/compare/curves.json?s=" + ",".join(str(search.pk) for search in comparison.searches.all())
    response = signed_in.get(address)
    for group in response.json()["groups"]:
        for seed in group["seeds"]:
            speeds = [point["speedup"] for point in seed["points"]]
            assert speeds == sorted(set(speeds))
    again = signed_in.get(address, headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304


def test_a_comparison_of_another_team_does_not_exist(client, charlie, compared):
    comparison = compared()
    client.force_login(charlie)
    assert client.get(f"/compare/{comparison.pk}/").status_code == 404
    searches = ",".join(str(search.pk) for search in comparison.searches.all())
    assert client.get(f"/compare/curves.json?s={searches}").status_code == 404


def test_the_launch_page_starts_from_a_workload_that_a_cpu_can_run(signed_in):
    sync_shipped()
    form = signed_in.get("/searches/new/").context["form"]
    chosen = form.fields["workload"].queryset.get(pk=form.initial["workload"])
    assert "gpu_sized" not in chosen.record.tags
