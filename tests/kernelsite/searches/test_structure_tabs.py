"""The structure page: diagram, contract, code, tuning, candidate table, profile."""

from __future__ import annotations

import csv
import io
import re

import pytest
from grown import grow

from kernelsite.searches.models import Evaluation, Structure
from kernelsite.searches.pages import ordering
from kernelsite.searches.pages.structure import CHART_ROWS, chart_rows
from search.records import EvaluationStatus, Purpose

TABS = ("blueprint", "contract", "code", "tuning", "candidates", "profile")


@pytest.fixture
def signed_in(client, alice, team):
    client.force_login(alice)
    return client


@pytest.fixture
def structures(launch):
    return grow(launch(budget=24))


@pytest.fixture
def tuned(structures):
    return structures[-1]


def page(client, structure, tab, **query):
    response = client.get(structure.get_absolute_url(), {"tab": tab} | query)
    assert response.status_code == 200
    return response


def test_every_tab_asks_a_fixed_number_of_queries(signed_in, tuned, django_assert_max_num_queries):
    page(signed_in, tuned, "code")  # colours are cached
    for tab in TABS:
        with django_assert_max_num_queries(17):
            page(signed_in, tuned, tab)


def test_a_structure_of_another_team_does_not_exist(client, charlie, tuned):
    client.force_login(charlie)
    for address in [tuned.get_absolute_url(), f"/structures/{tuned.key}/candidates.csv"]:
        assert client.get(address).status_code == 404


def test_tabs_without_data_are_not_offered(signed_in, tuned):
    assert page(signed_in, tuned, "").context["tabs"] == list(TABS)
    Structure.objects.filter(pk=tuned.pk).update(
        candidate_count=0, evaluation_count=0, passed_count=0, best_candidate="", best_speedup=None
    )
    Evaluation.objects.filter(candidate__structure=tuned).delete()
    assert page(signed_in, tuned, "").context["tabs"] == ["blueprint", "contract"]
    for tab in TABS:
        page(signed_in, tuned, tab)


def test_the_lineage_says_what_each_step_adds(signed_in, tuned, structures):
    line = page(signed_in, tuned, "blueprint").context["lineage"]
    assert [each.row.pk for each in line] == [structure.pk for structure in structures]
    assert [each.name for each in line] == ["direct", "+ online_softmax", "+ vector_lanes"]


def test_the_diagram_has_the_sizes_of_the_chosen_case(signed_in, tuned):
    text = page(signed_in, tuned, "blueprint", case="wide").content.decode()
    assert "65536" in text
    assert page(signed_in, tuned, "blueprint", case="none").context["diagram"].case == "main"


def test_hidden_cases_are_no_choice(signed_in, tuned):
    hidden = {case.name for case in tuned.search.workload.record.cases if case.hidden}
    assert hidden
    assert not hidden & set(page(signed_in, tuned, "blueprint").context["cases"])


def test_violations_are_listed_with_the_judges_word(signed_in, tuned):
    row = Evaluation.objects.filter(candidate__structure=tuned, status="CRASH").first()
    row.status, row.result["message"] = "CONTRACT_VIOLATION", "walks N twice <script>"
    row.save()
    text = page(signed_in, tuned, "contract").content.decode()
    assert "walks N twice &lt;script&gt;" in text
    assert f"/candidates/{row.key}/?tab=checks" in text


def test_knobs_are_marked_in_the_code(signed_in, tuned):
    response = page(signed_in, tuned, "code")
    marked = set(re.findall(r'<mark class="knob" title="[^"]*">(\w+)</mark>', response.content.decode()))
    assert marked <= set(response.context["candidate"].knobs)
    assert marked


def test_the_tuning_tab_shows_importance_map_and_lines_without_javascript(signed_in, tuned):
    response = page(signed_in, tuned, "tuning")
    context = response.context
    assert context["importances"]
    assert sum(cell.count for _, cells in context["heat"].rows for cell in cells) == context["points"]
    assert len(context["coordinates"].lines) == context["points"]
    names = [one.knob for one in context["importances"]]
    chosen = page(signed_in, tuned, "tuning", x=names[1], y=names[0]).context["heat"]
    assert (chosen.across, chosen.down) == (names[1], names[0])


def test_the_tuning_curve_keeps_every_record_of_many_candidates():
    rows = [
        {
            "id": str(number),
            "purpose": Purpose.SEARCH,
            "stage": "tune",
            "status": EvaluationStatus.PASSED,
            "order": number,
            "speedup": 1.0 + number * 0.01 if number % 997 == 0 else 0.5,
            "low": 0.4,
            "high": 99.0,
            "median_us": 1.0,
            "device_seconds": 0.1,
            "knobs": {},
        }
        for number in range(1, 3 * CHART_ROWS)
    ]
    drawn = chart_rows(rows)
    assert len(drawn) <= CHART_ROWS + 10
    assert {row["id"] for row in drawn} >= {str(number) for number in range(997, 3 * CHART_ROWS, 997)}


# Candidate table -------------------------------------------------------------------------------------


def ids(response):
    return [row["id"] for row in response.context["candidates"]]


def test_the_table_sorts_and_filters(signed_in, tuned):
    rows = page(signed_in, tuned, "candidates", sort="speedup").context["candidates"]
    speeds = [row["speedup"] for row in rows if row["speedup"] is not None]
    assert speeds == sorted(speeds, reverse=True)
    assert not ids(page(signed_in, tuned, "candidates", outcome="open"))
    assert len(
        ids(page(signed_in, tuned, "candidates", outcome="nonsense", sort="nonsense", page="x"))
    ) == len(rows)


def test_the_table_is_paged_and_finds_a_candidate(signed_in, tuned, monkeypatch):
    monkeypatch.setattr(ordering, "PAGE_SIZE", 2)
    last = list(ordering.ordered(tuned, "measured").values_list("candidate__number", "purpose"))[-1]
    key = f"{tuned.key}.{last[0]:03d}{'c' if last[1] == 'confirm' else ''}"
    assert len(ids(page(signed_in, tuned, "candidates"))) == 2
    response = signed_in.get(tuned.get_absolute_url(), {"tab": "candidates", "jump": f"C-{key}"})
    assert response.status_code == 302
    assert response["Location"].endswith(f"#C-{key}")
    assert key in ids(signed_in.get(response["Location"].partition("#")[0]))


@pytest.mark.parametrize("words", ["99999", "C-1.1.1x", "<script>", "9.9.9", "\N{SNOWMAN}" * 50])
def test_a_jump_to_nothing_says_so(signed_in, tuned, words):
    text = page(signed_in, tuned, "candidates", jump=words).content.decode()
    assert "This structure has no candidate" in text
    assert "<script>alert" not in text
    assert "<script></span>" not in text


def test_the_csv_has_every_row_and_no_formula(signed_in, tuned):
    candidate = tuned.candidates.first()
    candidate.knobs = candidate.knobs | {"EVIL": "=HYPERLINK(1)"}
    candidate.save()
    response = signed_in.get(f"/structures/{tuned.key}/candidates.csv?sort=speedup")
    assert response["Content-Disposition"].startswith("attachment;")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == Evaluation.objects.filter(candidate__structure=tuned, current=True).count()
    assert {row["EVIL"] for row in rows} == {"", "'=HYPERLINK(1)"}


# Profile ---------------------------------------------------------------------------------------------


def test_the_profile_stands_beside_the_parent(signed_in, tuned):
    groups = {group.title: group for group in page(signed_in, tuned, "profile").context["groups"]}
    (time,) = groups["Measured"].pairs
    assert time.mine == pytest.approx(tuned.best_median_us)
    assert time.before == pytest.approx(tuned.parent.best_median_us)
    assert {"launches", "bytes from memory"} <= {pair.title for pair in groups["Modelled"].pairs}


def test_compiled_kernels_are_compared(signed_in, tuned):
    for structure, registers in ((tuned, 40), (tuned.parent, 80)):
        for row in Evaluation.objects.filter(candidate__structure=structure):
            build = next(stage for stage in row.result["stages"] if stage["stage"] == "build")
            build["details"] = {"kernels": [{"name": "k", "registers": registers, "spilled_bytes": 0}]}
            row.save()
    groups = {group.title: group for group in page(signed_in, tuned, "profile").context["groups"]}
    pair = groups["Compiled"].pairs[0]
    assert (pair.mine, pair.before, pair.tone) == (40, 80, "good")
