from __future__ import annotations

import csv
import io
import json

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kernelsite.accounts.models import Membership, Team
from kernelsite.compare import exports
from kernelsite.compare.cases import by_case
from kernelsite.compare.fairness import fairness, settings_diff
from kernelsite.compare.forms import SaveForm
from kernelsite.compare.groups import groups_of, pairings, shares
from kernelsite.compare.models import SavedSet
from kernelsite.compare.ribbons import ribbons
from kernelsite.compare.runs import AXES
from kernelsite.searches.models import Evaluation, Search
from search.records import Environment


def groups(*searches):
    return groups_of(sorted(searches, key=lambda search: search.pk))


def text(answer):
    return " ".join(answer.content.decode().split())


def test_searches_that_differ_in_the_seed_only_are_one_group_named_by_what_differs(finished, other_budget):
    found = groups(*finished.searches.all(), *other_budget)
    assert [(group.name, len(group.searches)) for group in found] == [
        ("two stage, budget evaluations 20", 6),
        ("mixed, budget evaluations 20", 6),
        ("two stage, budget evaluations 24", 2),
    ]


def test_the_curve_keeps_records_only_and_knows_every_axis(finished):
    run = groups(*finished.searches.all())[0].runs[0]
    assert run.curve("evaluations") == [(1.0, 0.5), (3.0, 1.6), (4.0, 2.0)]
    assert run.curve("device") == [(2.0, 0.5), (6.0, 1.6), (8.0, 2.0)]
    assert len(run.charged) == 20


def test_shares_of_the_budget_carry_interval_and_chance(finished):
    two_stage, mixed = groups(*finished.searches.all())
    quarter, _, whole = shares(mixed, two_stage)
    assert quarter.spread.seeds == 6
    assert quarter.spread.low <= quarter.spread.median <= quarter.spread.high
    assert (whole.pairing.p_better, whole.pairing.wins) == (0.0, 0)
    assert [result.verdict for _, result in pairings([two_stage, mixed], two_stage)] == ["worse"]


def test_a_share_that_one_seed_has_not_reached_shows_nothing(finished):
    one = finished.searches.order_by("pk").first()
    Search.objects.filter(pk=one.pk).update(state="running", finished_at=None, evaluations_spent=10)
    first = groups(*finished.searches.all())[0]
    assert [share.spread is None for share in shares(first, first)] == [False, False, True]


def test_equal_arms_are_called_comparable(finished, reader):
    page = text(reader.get(finished.get_absolute_url()))
    assert "Comparable." in page
    assert "Not a fair comparison" not in page


def test_the_fairness_box_is_red_and_says_why(finished, other_budget, reader):
    ids = [search.pk for search in [*finished.searches.all(), *other_budget]]
    page = text(reader.get("/compare/", {"s": ",".join(map(str, ids))}))
    assert "Not a fair comparison" in page
    assert "Budgets differ" in page
    assert "20 evaluations · 24 evaluations" in page
    assert "The groups have other seeds" in page


def test_another_machine_is_told_in_words(finished):
    searches = list(finished.searches.all())
    other = Environment(device_class="cpu", device="Another processor", workload="0" * 64)
    rows = Evaluation.objects.filter(search=searches[-1])
    rows.update(environment_key=other.key, result={"environment": other.dump(), "cases": []})
    row = next(row for row in fairness(groups(*searches)) if row.name == "measured on")
    assert not row.is_equal
    assert any("Another processor" in value for value in row.values)


def test_only_settings_that_differ_are_listed(finished):
    assert [row.name for row in settings_diff(groups(*finished.searches.all()))] == ["strategy"]


def test_two_seeds_are_not_enough(other_budget, finished, reader):
    mixed = finished.searches.filter(strategy="mixed", seed__lt=2)
    ids = [search.pk for search in [*mixed, *other_budget]]
    page = text(reader.get("/compare/", {"s": ids}))
    assert "Not enough seeds." in page
    assert "not enough seeds for P" in page
    assert "P(better)" not in page


def test_cases_and_fast_p_count_ended_searches(finished):
    found = by_case(groups(*finished.searches.all()))
    assert [row.case for row in found.rows] == ["large", "small"]
    first, second = found.rows[0].bars
    assert first.low == 2.0
    assert first.high == pytest.approx(2.1)
    assert second.speedup < first.speedup
    assert (found.counted, found.left_out) == (12, 0)
    assert {group.name: curve[0] for group, curve in found.fast_p}["two stage"] == (0.0, 1.0)


def test_a_case_that_a_group_was_never_measured_in_is_no_failure(finished, other_budget):
    for row in Evaluation.objects.filter(search__in=other_budget, speedup__isnull=False):
        row.result["cases"] = row.result["cases"][:1]
        row.save()
    found = by_case(groups(*finished.searches.all(), *other_budget))
    assert found.cases == ("small",)
    assert [curve[0] for _, curve in found.fast_p] == [(0.0, 1.0)] * 3


def test_a_search_that_never_passed_counts_as_unsolved(finished):
    one = finished.searches.order_by("pk").first()
    Search.objects.filter(pk=one.pk).update(best_speedup=None, best_candidate="", best_confirmed=False)
    found = by_case(groups(*finished.searches.all()))
    assert found.fast_p[0][1][0] == (0.0, pytest.approx(5 / 6))


def test_ribbons_tell_switches_and_discarded_tuning(finished):
    row = ribbons(groups(*finished.searches.all()))[0]
    ribbon = row.ribbons[0]
    assert ribbon.switches == 19
    assert sum(piece.width for piece in ribbon.pieces) == pytest.approx(100)
    # The best is of structure 2: of 19 variants, the nine odd ones after the first were of structure 1.
    assert (ribbon.tuning, ribbon.discarded) == (19, 9)
    assert row.share == pytest.approx(9 / 19)


def test_the_page_is_complete_without_javascript(finished, reader):
    page = text(reader.get(finished.get_absolute_url()))
    assert page.count("<polyline") >= 12 + 2  # seeds, medians
    assert "<polygon" in page  # quartile bands
    for words in ("At shares of the budget", "Share of cases faster than p", "Case by case", "switches"):
        assert words in page


def test_many_searches_are_bands_only_and_the_page_says_so(base, sent, reader):
    from many_searches import launch_many

    searches = launch_many(base, seeds=25)
    page = text(reader.get("/compare/", {"s": ",".join(str(search.pk) for search in searches)}))
    assert "25 searches are more than 24 lines" in page
    assert 'class="line thin' not in page


def test_ten_queries_more_or_less_whatever_the_number_of_searches(finished, reader):
    counts = []
    for searches in (finished.searches.all()[:4], finished.searches.all()):
        with CaptureQueriesContext(connection) as queries:
            reader.get("/compare/", {"s": ",".join(str(search.pk) for search in searches)})
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 20


def test_searches_of_others_are_not_taken(finished, client):
    stranger = get_user_model().objects.create_user("charlie")
    team = Team.objects.create(name="Others", slug="others")
    Membership.objects.create(team=team, user=stranger, role="admin")
    client.force_login(stranger)
    ids = ",".join(str(search.pk) for search in finished.searches.all())
    assert client.get("/compare/", {"s": ids}).status_code == 302
    assert client.get("/compare/data.json", {"s": ids}).status_code == 404
    assert client.get("/compare/curves.json", {"s": ids}).status_code == 404
    assert client.get(finished.get_absolute_url()).status_code == 404


@pytest.mark.parametrize("words", ["", "x,-1,1e9", "99999999999999999999", "0"])
def test_an_unreadable_selection_leads_to_the_picker(reader, words):
    answer = reader.get("/compare/", {"s": words})
    assert answer.url == "/compare/pick/"


def test_the_picker_keeps_what_is_chosen(finished, reader):
    one = finished.searches.order_by("pk").first()
    page = text(reader.get("/compare/pick/", {"s": f"S-{one.pk}"}))
    assert f'name="s" value="{one.pk}" checked' in page
    assert page.count('name="s"') == 12


def test_the_picker_adds_whole_sets(finished, other_budget, reader):
    kept = other_budget[0].pk
    rows = reader.get("/compare/pick/", {"s": kept}).context["sets"]
    everything = dict(rows)[finished.title].split(",")
    assert everything[0] == str(kept)
    assert len(everything) == 13


def test_a_set_is_saved_under_its_name_and_forgotten_again(finished, reader):
    ids = ",".join(str(search.pk) for search in finished.searches.all())
    answer = reader.post("/compare/save/", {"s": ids, "title": "First", "slug": "first-look", "note": "<b>x"})
    assert answer.url == "/compare/first-look/"
    page = text(reader.get(answer.url))
    assert "&lt;b&gt;x" in page
    assert "First" in text(reader.get("/compare/"))
    again = reader.post("/compare/save/", {"s": ids, "title": "Second", "slug": "first-look"})
    assert again.status_code == 422
    assert "is there already" in text(again)
    assert reader.get("/compare/first-look/forget/").status_code == 405
    reader.post("/compare/first-look/forget/")
    assert not SavedSet.objects.exists()
    assert finished.searches.count() == 12


@pytest.mark.parametrize("slug", ["pick", "save", "12", "Über", "a--b", "", "a" * 61])
def test_a_bad_name_is_refused(slug):
    assert "slug" in SaveForm({"title": "x", "slug": slug}).errors


def test_what_is_refused_stands_beside_its_field(finished, reader):
    answer = reader.post("/compare/save/", {"s": finished.searches.first().pk, "title": "x", "slug": "pick"})
    assert answer.status_code == 422
    assert "field-error" in answer.content.decode()
    assert not SavedSet.objects.exists()


def test_a_viewer_reads_and_saves_nothing(finished, reader):
    Membership.objects.update(role="viewer")
    page = reader.get(finished.get_absolute_url())
    assert "Save set" not in text(page)
    answer = reader.post("/compare/save/", {"s": finished.searches.first().pk, "title": "x", "slug": "x"})
    assert answer.status_code == 403
    assert not SavedSet.objects.exists()


def test_exports_say_what_the_page_says(finished, reader):
    ids = ",".join(str(search.pk) for search in finished.searches.all())
    document = json.loads(reader.get("/compare/data.json", {"s": ids, "ref": "1"}).content)
    assert document["reference"] == "mixed"
    assert document["pairings"]["two stage"]["verdict"] == "better"
    rows = list(csv.DictReader(io.StringIO(reader.get("/compare/data.csv", {"s": ids}).content.decode())))
    assert len(rows) == 240
    assert {row["group"] for row in rows} == {"two stage", "mixed"}
    assert rows[3]["best_so_far"] == "2.0"


def test_every_chart_has_a_file_of_its_numbers(finished, reader):
    ids = ",".join(str(search.pk) for search in finished.searches.all())

    def rows(of):
        answer = reader.get("/compare/data.csv", {"s": ids, "of": of})
        return list(csv.DictReader(io.StringIO(answer.content.decode())))

    found = by_case(groups(*finished.searches.all()))
    cases = {(row["case"], row["group"]): float(row["speedup"]) for row in rows("cases")}
    assert cases == {(row.case, bar.group.name): bar.speedup for row in found.rows for bar in row.bars}
    steps = [(row["group"], float(row["p"]), float(row["share_of_cases"])) for row in rows("fast_p")]
    assert steps == [(group.name, p, share) for group, corners in found.fast_p for p, share in corners]
    pieces = [row for row in rows("ribbons") if row["search"] == finished.searches.first().short]
    assert sum(int(row["last_evaluation"]) - int(row["first_evaluation"]) + 1 for row in pieces) == 20
    page = reader.get(finished.get_absolute_url()).content.decode()
    assert all(f"of={word}" in page for word in exports.FILES)
    assert reader.get("/compare/data.csv", {"s": ids, "of": "nothing"}).status_code == 404


def test_searches_of_other_models_are_other_groups_and_not_comparable(finished):
    first, second = finished.searches.order_by("pk")[:2]
    chosen = [{"id": 1, "name": "m", "model": "small"}, {"id": 2, "name": "m", "model": "large"}]
    first.endpoints, second.endpoints = chosen[:1], chosen[1:]
    found = groups(first, second)
    assert [group.name for group in found] == ["two stage, models small", "mixed, models large"]
    (row,) = [row for row in fairness(found) if row.name == "agent and models"]
    assert not row.is_equal
    assert {"models large" in value for value in row.values} == {True, False}


def test_a_group_name_that_a_spreadsheet_would_run_is_plain_text(finished):
    from dataclasses import replace

    hostile = replace(groups(*finished.searches.all())[0], name="=cmd()")
    assert "\n'=cmd()," in exports.csv_text([hostile]).replace("\r", "")


def test_curves_are_not_sent_again_while_nothing_moved(finished, reader):
    ids = ",".join(str(search.pk) for search in finished.searches.all())
    first = reader.get("/compare/curves.json", {"s": ids})
    assert first.json()["groups"][0]["bands"]["evaluations"]
    second = reader.get("/compare/curves.json", {"s": ids}, headers={"If-None-Match": first["ETag"]})
    assert second.status_code == 304


def test_axes_without_spending_are_not_offered(finished, reader):
    page = text(reader.get(finished.get_absolute_url()))
    assert AXES["device"].label in page
    assert ">tokens<" not in page
    Search.objects.filter(comparison=finished).update(tokens_spent=5)
    assert ">tokens<" in text(reader.get(finished.get_absolute_url(), {"x": "tokens"}))
