from __future__ import annotations

from kernelsite.searches.spending import by_stage, caps


def row(stage="tune", purpose="search", status="PASSED", order=1, device=2.0):
    return {"stage": stage, "purpose": purpose, "status": status, "order": order, "device_seconds": device}


def test_spending_stands_in_the_order_of_stages_and_other_purposes_last():
    rows = [row("tune"), row("explore"), row("explore", status="TIMEOUT"), row("tune", "promote")]
    table = by_stage(rows)
    assert [stage["name"] for stage in table] == ["explore", "tune", "promote"]
    assert (table[0]["evaluations"], table[0]["passed"], table[0]["failed"]) == (2, 1, 1)
    assert [stage["share"] for stage in table] == [0.5, 0.25, 0.25]


def test_what_is_awaited_counts_nowhere_yet():
    (stage,) = by_stage([row(status=None, order=None, device=0.0)])
    assert (stage["evaluations"], stage["passed"], stage["failed"], stage["share"]) == (0, 0, 0, 0.0)


def told(state="running", spent=10, cap=40, wall=20.0):
    budget = {
        "evaluations": {"spent": spent, "cap": cap},
        "wall_seconds": {"spent": wall, "cap": None},
    }
    return {row["name"]: row for row in caps({"state": state, "budget": budget})}


def test_the_end_is_projected_from_the_pace_so_far():
    assert told()["evaluations"]["left_s"] == 60.0
    assert told()["evaluations"]["share"] == 0.25


def test_no_end_is_guessed_without_a_pace_a_cap_or_a_running_search():
    assert told(spent=0)["evaluations"]["left_s"] is None
    assert told(wall=0.0)["evaluations"]["left_s"] is None
    assert told(state="paused")["evaluations"]["left_s"] is None
    assert told()["wall_seconds"]["left_s"] is None
