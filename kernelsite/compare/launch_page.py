"""The launch form: one search, one per seed, or the four strategies at a matched budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, demand
from kernelsite.catalog.models import StartingCandidate
from kernelsite.compare.launch import FIRST_FOUR, ComparisonOrder, launch_comparison
from kernelsite.searches.class_figures import queues
from kernelsite.searches.estimate import paces
from kernelsite.searches.forms import COMPARE, LaunchForm, clone_fields, device_choices
from kernelsite.searches.launch import LaunchError, language_for, launch_search, new_key
from kernelsite.searches.models import Search

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team
    from kernelsite.compare.models import Comparison

PRESETS: tuple[dict[str, Any], ...] = (
    {
        "name": "Quick look",
        "about": "24 evaluations",
        "values": {"evaluations": 24, "retain": 2},
    },
    {
        "name": "Standard",
        "about": "60 evaluations, 3 kept",
        "values": {"evaluations": 60, "retain": 3},
    },
    {
        "name": "Thorough",
        "about": "240 evaluations, 4 kept",
        "values": {"evaluations": 240, "retain": 4},
    },
)
FIELD_OF = {"strategy": "mode", "strategies": "mode", "seed": "seeds"}
"""Fields of an order that have another name in the form."""


@require_http_methods(["GET", "POST"])
def new(request: TeamRequest) -> HttpResponse:
    """Show the form, or launch; a second click with the same key leads to what the first one made.

    With `as=json` nothing is launched: the answer is the body that launches the same over the API.
    """
    team = request.team
    if team is None:
        return render(request, "searches/no_team.html", status=403)
    demand(request.role, Act.LAUNCH)
    if request.method == "GET":
        return _page(request, team, LaunchForm(team, initial=_initial(request)))
    form = LaunchForm(team, request.POST)
    if form.is_valid():
        try:
            if request.POST.get("as") == "json":
                return _as_json(form, team)
            return redirect(_launch(form, team, request))
        except LaunchError as error:
            name = FIELD_OF.get(error.field, error.field)
            form.add_error(name if name in form.fields else None, str(error))
        except ValidationError as error:
            form.add_record_errors(error)
    return _page(request, team, form, status=422)


def _launch(form: LaunchForm, team: Team, request: TeamRequest) -> Search | Comparison:
    user = request.user if isinstance(request.user, User) else None
    order = form.order(team, user)
    seeds = form.cleaned_data["seeds"]
    mode = form.cleaned_data["mode"]
    with transaction.atomic():
        made: Search | Comparison
        if mode != COMPARE and len(seeds) == 1:
            made, is_new = launch_search(order)
        else:
            strategies = FIRST_FOUR if mode == COMPARE else (mode,)
            made, is_new = launch_comparison(ComparisonOrder(order, strategies, seeds))
        if is_new:
            audit.record(request, "launch", made)
    return made


def _as_json(form: LaunchForm, team: Team) -> JsonResponse:
    """The form as the body of `POST /api/v1/searches`, or of `/comparisons` for several searches.

    Raises:
        LaunchError: it could not be launched.
    """
    order = form.order(team, None)
    seeds, mode = form.cleaned_data["seeds"], form.cleaned_data["mode"]
    _ = order.settings  # raises what a launch would refuse
    body: dict[str, Any] = {
        "workload": f"{order.workload.slug}@{order.workload.version}",
        "library": f"{order.library.slug}@{order.library.version}",
        "title": order.title,
        "options": order.options.dump(),
    }
    is_one = mode != COMPARE and len(seeds) == 1
    if not is_one:
        body |= {"strategies": list(FIRST_FOUR if mode == COMPARE else (mode,)), "seeds": list(seeds)}
    name = "search.json" if is_one else "comparison.json"
    return JsonResponse(body, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _initial(request: TeamRequest) -> dict[str, Any]:
    """A fresh key, and what the address asks for: `?workload=<slug>&library=<slug or slug@n>&mode=&from=<search>`."""
    initial: dict[str, Any] = {"idempotency_key": new_key()}
    source = request.GET.get("from", "")
    if source.isdecimal() and (
        search := Search.objects.of_team(request.team).filter(pk=int(source[:9])).first()
    ):
        initial |= _clone(search)
    if mode := request.GET.get("mode"):
        initial["mode"] = mode
    return initial


def _clone(search: Search) -> dict[str, Any]:
    settings = search.record
    stages = settings.stages.dump()
    return {
        **stages,
        "edits": settings.stages.edits,
        "workload": search.workload_id,
        "library": search.library_id,
        "mode": settings.strategy,
        "seeds": settings.seed,
        "device_class": settings.device_class,
        **settings.budget.dump(),
        "probes": " ".join(map(str, settings.stages.probes)),
        "parallel": settings.parallel,
        "allowed_actions": " ".join(settings.allowed_actions),
        "starting": list(
            StartingCandidate.objects.of_team(search.team)
            .for_workload(settings.workload)
            .filter(hash__in=settings.starting)
            .values_list("pk", flat=True)
        ),
        **clone_fields(search),
    }


def _page(request: TeamRequest, team: Team, form: LaunchForm, status: int = 200) -> HttpResponse:
    workloads = list(form.fields["workload"].queryset)  # type: ignore[attr-defined]  # a ModelChoiceField
    if request.method == "GET" and (slug := request.GET.get("workload")):
        form.initial["workload"] = next((row.pk for row in workloads if row.slug == slug), None)
    libraries = list(form.fields["library"].queryset)  # type: ignore[attr-defined]  # as above
    if request.method == "GET" and (slug := request.GET.get("library")):
        form.initial["library"] = next((row.pk for row in libraries if slug in {row.slug, row.short}), None)
    # What a CPU can run comes first: a newcomer who changes nothing must see a search that works.
    small = (row.pk for row in workloads if "gpu_sized" not in row.record.tags)
    form.initial.setdefault("workload", next(small, None))
    devices = [name for name, _ in device_choices()]
    facts = {
        "paces": paces(team, {(row.slug, name) for row in workloads for name in devices}),
        "workloads": {row.pk: row.slug for row in workloads},
        "languages": {name: language_for(name) for name in devices},
        "arms": len(FIRST_FOUR),
        "queues": queues(),
    }
    return render(
        request, "searches/new.html", {"form": form, "facts": facts, "presets": PRESETS}, status=status
    )
