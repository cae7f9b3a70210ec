"""All searches of a team, filtered and paged by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.db.models import F
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kernelsite.searches.models import Search
from kernelsite.searches.sparkline import sparklines
from search.records import SearchState
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

PER_PAGE = 50
SORTS = {
    "new": ("newest first", F("id").desc()),
    "old": ("oldest first", F("id").asc()),
    "best": ("best first", F("best_speedup").desc(nulls_last=True)),
    "name": ("by name", F("title").asc()),
}
FILTERS = {"state": "state", "strategy": "strategy", "workload": "workload__slug"}
"""Names in the address and their columns."""


@require_GET
def searches(request: TeamRequest) -> HttpResponse:
    """The list; a filter word that nobody has finds nothing."""
    own = Search.objects.of_team(request.team)
    wanted = {name: request.GET.get(name, "")[:100] for name in FILTERS}
    rows = own.filter(**{FILTERS[name]: word for name, word in wanted.items() if word})
    sort = request.GET.get("sort", "new")
    _, order = SORTS.get(sort, SORTS["new"])
    ordered = rows.defer("settings", "endpoints").order_by(order, "-id")
    page = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "sparks": sparklines(page.object_list),
        "wanted": wanted,
        "is_filtered": any(wanted.values()),
        "sort": sort,
        "sorts": [(name, title) for name, (title, _) in SORTS.items()],
        "states": list(SearchState),
        "strategies": list(STRATEGIES),
        "workloads": own.order_by().values_list("workload__slug", flat=True).distinct(),
    }
    return render(request, "searches/list.html", context)
