from __future__ import annotations

import re

import pytest
from django.urls import reverse

from kernelsite.catalog.wording import TIMES
from kernelsite.searches.pages.first_picture import MOST_DOTS, ROOM, first_picture, ticks


def row(order, speedup, purpose="search", status="PASSED"):
    low, high = (None, None) if speedup is None else (speedup * 0.9, speedup * 1.1)
    return {
        "order": order, "speedup": speedup, "low": low, "high": high, "purpose": purpose, "status": status,
    }  # fmt: skip


def document(*rows, best=True):
    return {"candidates": list(rows), "search": {"best": {"baseline": "eager <b>"} if best else None}}


def places(path):
    return [(float(x), float(y)) for x, y in re.findall(r"M(\S+) (\S+?)h0", path)]


def test_the_line_steps_from_record_to_record_and_on_to_the_last_evaluation():
    rows = [
        row(4, 1.5),
        row(1, 1.0),
        row(2, 2.0),
        row(3, None, status="TIMEOUT"),
        row(5, None, status="TIMEOUT"),
    ]
    drawn = first_picture(document(*rows), None)
    right, top = ROOM * 5, ROOM * 2
    expected = [(1, 1.0), (2, 1.0), (2, 2.0), (5, 2.0)]
    found = [tuple(map(float, point.split(","))) for point in drawn.line.split()]
    for (x, y), (order, value) in zip(found, expected, strict=True):
        assert x == pytest.approx(1000 * order / right, abs=0.11)
        assert y == pytest.approx(1000 - 1000 * value / top, abs=0.11)
    assert len(places(drawn.dots)) == 3
    assert len(places(drawn.records)) == 2
    assert drawn.told == f"Best so far: 2.00{TIMES} after 5 evaluations, 2 records"
    assert not drawn.note


def test_confirmations_stand_apart_with_their_interval():
    drawn = first_picture(document(row(1, 2.0), row(2, 3.0, purpose="confirm")), None)
    (one,) = drawn.confirmed
    assert one.high < one.y < one.low <= 100
    assert one.high == pytest.approx(100 - 100 / ROOM, abs=0.01)  # the axis reaches to the interval's end
    assert len(places(drawn.records)) == 1


def test_baseline_and_floor_are_lines_within_the_picture():
    drawn = first_picture(document(row(1, 0.5)), 4.0)
    base, floor = drawn.levels
    assert (base.kind, base.text) == ("base", f"1.0{TIMES} eager <b>")
    assert (floor.kind, floor.text) == ("floor", f"floor: 4.00{TIMES}")
    assert 0 < floor.place < base.place < 100
    assert first_picture(document(row(1, 0.5), best=False), 4.0).levels == ()


def test_nothing_passed_is_no_picture():
    assert first_picture(document(), None) is None
    failed = [row(1, None, status="TIMEOUT"), row(None, None, status=None), row(2, 2.0, purpose="confirm")]
    assert first_picture(document(*failed), None) is None


@pytest.mark.parametrize(("count", "step"), [(1200, 1), (1201, 2), (5000, 8)])
def test_dots_are_thinned_as_the_script_does_and_records_are_kept(count, step):
    rows = [row(order, 9.0 if order == 7 else 1.0) for order in range(1, count + 1)]
    drawn = first_picture(document(*rows), None)
    dots = count // step
    assert len(places(drawn.dots)) == dots <= MOST_DOTS
    assert len(places(drawn.records)) == 2
    assert bool(drawn.note) is (step > 1)
    assert drawn.note in ("", f"{dots} of {count} dots drawn; the line holds every record")


@pytest.mark.parametrize(
    ("end", "most", "last", "step"), [(5300, 7, 5000, 1000), (2.1, 8, 2.0, 0.5), (0.9, 8, 0.8, 0.2), (1.06, 7, 1.0, 0.2)]
)  # fmt: skip
def test_ticks_are_round_and_begin_at_zero(end, most, last, step):
    found = ticks(end, most)
    assert [float(text) for _, text in found] == pytest.approx([value for value, _ in found])
    assert found[0] == (0, "0")
    assert found[-1][0] == pytest.approx(last)
    assert found[1][0] == pytest.approx(step)


def test_the_page_has_it_for_the_axes_it_shows(launch, wire, client, alice):
    search = launch(budget=16)
    client.force_login(alice)
    page = reverse("searches:search", args=[search.pk])
    assert "first-picture" not in client.get(page).content.decode()
    wire.run()
    text = client.get(page).content.decode()
    (picture,) = re.findall(r'<div class="first-picture" role="img" aria-label="Best so far: ([^"]+)">', text)
    search.refresh_from_db()
    assert f"after {search.evaluations_spent} evaluations" in picture
    assert 'class="diamond"' in text
    for words in ("x=device", "y=latency", "log=1"):
        assert "first-picture" not in client.get(f"{page}?{words}").content.decode()
