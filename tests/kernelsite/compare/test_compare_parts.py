"""Structures and candidates side by side."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kernelsite.accounts.models import Membership, Team
from kernelsite.compare.parts import parts_of
from kernelsite.searches.models import Evaluation, Structure


def page(reader, ids):
    return " ".join(reader.get("/compare/parts/", {"p": ids}).content.decode().split())


@pytest.fixture
def pair(finished):
    """Short ids, without letters, of one structure of each arm."""
    for search in finished.searches.all():
        for row in search.structures.all():
            best = Evaluation.objects.filter(candidate__structure=row).order_by("-speedup").first()
            row.best_candidate, row.best_speedup = best.key, best.speedup
            row.blueprint = {"actions": [], "choices": {"lanes": f"L{row.number}", "store": "plain"}}
            row.save()
    first, second = finished.searches.order_by("pk")[:2]
    return f"{first.pk}.1", f"{second.pk}.2"


def test_a_structure_stands_with_its_best_candidate_and_its_own_curve(finished, pair, base):
    (structure, candidate) = parts_of(base.team, [pair[0], f"{pair[1]}.004"])
    own = list(
        Evaluation.objects.filter(candidate__structure=structure.structure)
        .order_by("order")
        .values_list("speedup", flat=True)
    )
    bests = [max(value or 0.0 for value in own[: k + 1]) for k in range(len(own))]
    assert structure.curve == [(k + 1.0, best) for k, best in enumerate(bests) if best]
    assert structure.evaluation.speedup == max(value for value in own if value)
    assert structure.cases == pytest.approx(dict.fromkeys(("small", "large"), structure.evaluation.speedup))
    assert (candidate.name, candidate.curve, candidate.knobs) == (f"C-{pair[1]}.004", [], {"T": "4"})


def test_the_page_says_what_differs_and_nothing_else(pair, reader):
    told = page(reader, f"ST-{pair[0]}, {pair[1]}")
    assert "Comparable." in told
    assert '<td class="small mono">L1</td><td class="small mono">L2</td>' in told
    assert "plain</td>" not in told
    assert "against=" in told
    assert "polyline" in told


def test_other_devices_tiers_and_baselines_are_told_in_red(pair, reader):
    search, number = pair[1].split(".")
    rows = Evaluation.objects.filter(search=search, candidate__structure__number=number)
    rows.update(tier="fast", baseline="another")
    Evaluation.objects.filter(search=pair[0].split(".")[0]).update(baseline="one")
    told = page(reader, ",".join(pair))
    assert "Times that cannot be compared" in told
    assert "Speed-ups are over different baselines" in told
    assert "some at the full one" in told


def test_no_more_than_eight_and_nothing_of_others(pair, reader, client, finished):
    search = finished.searches.first()
    for number in range(10, 20):
        Structure.objects.create(
            search=search, number=number, fingerprint=str(number), blueprint={}, title="x", step=1, created_seq=1
        )  # fmt: skip
    many = ",".join(f"ST-{search.pk}.{number}" for number in range(10, 20))
    assert page(reader, many).count("group-name") == 8
    eve = get_user_model().objects.create_user("eve")
    Membership.objects.create(team=Team.objects.create(name="Others", slug="others"), user=eve, role="admin")
    client.force_login(eve)
    told = page(client, ",".join(pair))
    assert "2 of the ids name nothing of this team" in told
    assert "group-name" not in told


@pytest.mark.parametrize(
    "ids", ["", "nonsense", "ST-1", "1.1.1.1", "<script>", "ST-999999999.999999", "C-1.1.001z"]
)
def test_words_that_are_no_ids_are_survived(base, reader, ids):
    told = page(reader, ids)
    assert "Nothing to compare yet" in told
    assert "<script>" not in told


def test_the_number_of_queries_does_not_grow_with_the_parts(pair, reader, finished):
    def queries(ids):
        with CaptureQueriesContext(connection) as found:
            page(reader, ids)
        return len(found)

    few = queries(pair[0])
    assert (
        queries(",".join(f"{search.pk}.{n}" for search in finished.searches.all()[:4] for n in (1, 2))) == few
    )
