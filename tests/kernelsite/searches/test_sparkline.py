from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from kernelsite.searches.models import Evaluation, Search
from kernelsite.searches.sparkline import HEIGHT, WIDTH, sparklines


def corners(points):
    return [tuple(float(number) for number in corner.split(",")) for corner in points.split()]


def test_a_picture_steps_up_at_each_record_and_nowhere_else(launch, wire):
    search = launch(budget=16)
    wire.run()
    search.refresh_from_db()
    best, records = 0.0, []
    rows = Evaluation.objects.filter(search=search, purpose="search", status="PASSED", order__isnull=False)
    for row in rows.order_by("order"):
        if row.speedup > best:
            best = row.speedup
            records.append(row.order)
    drawn = corners(sparklines([search])[search.pk])
    assert len(records) > 1
    assert [x for x, _ in drawn[::2]] == [round(order / 16 * WIDTH, 1) for order in records]
    assert [y for _, y in drawn] == sorted((y for _, y in drawn), reverse=True)
    assert all(0 <= y <= HEIGHT for _, y in drawn)


def test_many_searches_take_one_query_and_those_without_a_result_have_no_picture(launch, wire):
    launch(budget=4)
    launch(budget=4, seed=1)
    wire.run()
    empty = launch(budget=4, seed=2)
    searches = list(Search.objects.all())
    with CaptureQueriesContext(connection) as queries:
        found = sparklines(searches)
    assert len(queries) == 1
    assert set(found) == {search.pk for search in searches} - {empty.pk}
