"""From a launch's body to an order: a clone's settings, a preset above them, what the body says above both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.shortcuts import get_object_or_404
from django.utils.text import slugify
from ninja.errors import ValidationError as BodyError
from pydantic import ValidationError

from kernelsite.catalog.models import LibraryVersion, StartingCandidate, WorkloadVersion
from kernelsite.compare.launch_page import PRESETS
from kernelsite.endpoints.secret_scan import scan
from kernelsite.searches.launch import LaunchError, Options, Order, new_key
from kernelsite.searches.models import AtCap, Choice, Search
from kernelsite.searches.scene import METERED, WITH_A_MODEL
from search.settings import Budget, StageSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelsite.api.schemas import Ordered
    from kernelsite.catalog.models import LibraryQuerySet, VersionQuerySet

DEFAULT_LIBRARY = "core"
DEFAULT_BUDGET = 40
"""Evaluations; the launch form starts with as many."""


@dataclass(frozen=True)
class Start:
    """What stands below the body's own options."""

    workload: WorkloadVersion | None
    library: LibraryVersion | None
    options: dict[str, Any]


def order_of(request: Any, body: Ordered, key: str) -> Order:
    """The order that a body asks for.

    Raises:
        LaunchError: no such workload or library, or secrets would go to a model.
        BodyError: an option has a wrong name or value.
    """
    start = _clone(request, body.clone) if body.clone else Start(None, None, {})
    options = _options(start.options, _preset(body.preset), body.options)
    workload = _workload(request, body, start)
    if options.agent == METERED and not body.send_secrets:
        _check_secrets(request, workload, options)
    return Order(
        team=request.team,
        user=request.user,
        workload=workload,
        library=_library(request, body, start),
        options=options,
        key=key or new_key(),
        title=body.title.strip(),
    )


def _check_secrets(request: Any, workload: WorkloadVersion, options: Options) -> None:
    rows = StartingCandidate.objects.of_team(request.team).filter(hash__in=options.starting)
    sent = [workload.document, *(row.document for row in rows)]
    if found := [finding for document in sent for finding in scan(document)]:
        told = "; ".join(finding.text for finding in found[:3])
        raise LaunchError("send_secrets", f"what would be sent holds what looks like a secret: {told}")


def _clone(request: Any, number: int) -> Start:
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    search = get_object_or_404(rows, pk=number)
    return Start(search.workload, search.library, options_of(search))


def options_of(search: Search) -> dict[str, Any]:
    """The options that repeat a search, with its caps as they are now."""
    settings = search.record
    options = Options(
        strategy=settings.strategy,
        agent=settings.agent if settings.agent in WITH_A_MODEL else "",
        device_class=settings.device_class,
        seed=settings.seed,
        budget=search.caps,
        stages=settings.stages,
        allowed_actions=settings.allowed_actions,
        parallel=settings.parallel,
        endpoints=tuple(chosen["id"] for chosen in search.endpoints),
        model_choice=Choice(search.model_choice),
        at_cap=AtCap(search.at_cap),
        transcript=search.transcript,
        starting=settings.starting,
    )
    return options.dump()


def presets() -> dict[str, dict[str, Any]]:
    """The launch form's presets as options, by name."""
    found = {}
    for preset in PRESETS:
        values: Mapping[str, Any] = preset["values"]
        budget = {name: values[name] for name in values if name in Budget.model_fields}
        stages = {name: values[name] for name in values if name in StageSettings.model_fields}
        found[slugify(preset["name"])] = {"budget": budget, "stages": stages}
    return found


def _preset(name: str | None) -> dict[str, Any]:
    return presets()[name] if name else {}


def defaults() -> Options:
    """The launch form's first values."""
    return Options(budget=Budget(evaluations=DEFAULT_BUDGET))


def _options(*layers: Mapping[str, Any]) -> Options:
    told: dict[str, Any] = {"budget": {"evaluations": DEFAULT_BUDGET}}
    for layer in layers:
        told = merged(told, layer)
    try:
        return Options.load(told)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        raise BodyError(
            [{**each, "loc": ("body", "body", "options", *each["loc"])} for each in problems]
        ) from error
    except ValueError as error:  # NaN or infinity, which JSON of Python lets in
        raise LaunchError("options", str(error)) from error


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both documents as one; where both have a value the upper one's holds, and objects are joined."""
    found = dict(below)
    for name, value in above.items():
        held = found.get(name)
        both = isinstance(held, dict) and isinstance(value, dict)
        found[name] = merged(held, value) if both else value  # type: ignore[arg-type]  # both are dicts
    return found


def _workload(request: Any, body: Ordered, start: Start) -> WorkloadVersion:
    if body.workload is None:
        if start.workload is None:
            raise LaunchError("workload", "name a workload, or a search to clone")
        return start.workload
    row: WorkloadVersion | None = _version(
        WorkloadVersion.objects.visible_to(request.team).launchable(), body.workload
    )
    if row is None:
        raise LaunchError("workload", f"there is no workload {body.workload!r}")
    return row


def _library(request: Any, body: Ordered, start: Start) -> LibraryVersion:
    if body.library is None and start.library is not None:
        return start.library
    wanted = body.library or DEFAULT_LIBRARY
    rows: LibraryQuerySet = LibraryVersion.objects.visible_to(request.team)
    row: LibraryVersion | None = _version(rows.launchable(), wanted)
    if row is None:
        raise LaunchError("library", f"there is no published library {wanted!r}")
    return row


def _version(rows: VersionQuerySet[Any], wanted: str) -> Any:
    """The version of `slug` or `slug@number`; without a number the team's own newest, then the shipped one."""
    slug, _, number = wanted.partition("@")
    named = rows.filter(slug=slug).order_by("-version")
    return (named.filter(version=int(number)) if number else named).first()
