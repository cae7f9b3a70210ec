"""What people are told of searches, by notice. Callers hold the search locked: the notice commits with the change.

Of a comparison's searches only the last one to finish is told, as the end of the comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from kernelsite.accounts.models import Role
from kernelsite.notices.models import Event, Wishes
from kernelsite.notices.notify import notify
from kernelsite.searches.models import Search
from kernelsite.searches.models.search import FINAL
from search.records import SearchState

if TYPE_CHECKING:
    from collections.abc import Iterable


def ended(search: Search) -> None:
    """It finished or failed. A person who stopped one knows."""
    if search.state == SearchState.FAILED:
        _tell(search, Event.SEARCH_FAILED, f"{search} failed", search.reason, "failed")
    elif search.state == SearchState.FINISHED and search.comparison_id is None:
        _tell(search, Event.SEARCH_FINISHED, f"{search} finished{_best(search)}", search.reason, "finished")
    _comparison_ended(search)


def _comparison_ended(search: Search) -> None:
    """Two that end at the same moment must not both take the other for running: the comparison's lock orders them."""
    if search.comparison is None:
        return
    # By its class and not by name: searches do not import comparisons.
    comparison = type(search.comparison)._default_manager.select_for_update().get(pk=search.comparison.pk)
    rows = Search.objects.filter(comparison=comparison)
    if rows.exclude(pk=search.pk).exclude(state__in=FINAL).exists():
        return
    notify(
        search.team,
        Event.SEARCH_FINISHED,
        f"Comparison {comparison} finished",
        text=f"{rows.count()} searches",
        link=reverse("compare:comparison", args=[comparison.pk]),
        key=f"comparison-{comparison.pk}-finished",
        to=_watchers(search),
    )


def needs_a_person(search: Search, reason: str) -> None:
    """It paused by itself, or waits at a cap."""
    _tell(search, Event.SEARCH_PAUSED, f"{search} needs you", reason, f"held-{search.event_seq}")


def at_gate(search: Search) -> None:
    """It reached its review gate: whoever may decide hears of it, once for each time."""
    notify(
        search.team,
        Event.GATE_WAITING,
        f"{search} waits for a reviewer",
        text="Stage 1 is done; stage 2 begins when its structures are decided on.",
        link=f"{search.get_absolute_url()}gate/",
        key=f"{search.short}-gate-{search.step_count}",
        to=Role.REVIEWER,
    )


def cap_is_near(search: Search, name: str, told: str) -> None:
    """Most of a cap is spent; once per cap, so moving it up may tell again."""
    cap = search.tokens_cap if name == "tokens" else search.cost_usd_cap
    _tell(search, Event.CAP_NEAR, f"{search}: 80 % of the cap on {name} is spent", told, f"near-{name}-{cap}")


def best_changed(search: Search) -> None:
    """A confirmed best beats every confirmed one of the team's other searches of its workload on its device class."""
    if not search.best_confirmed or search.best_speedup is None:
        return
    others = Search.objects.of_team(search.team).exclude(pk=search.pk)
    rivals = others.filter(
        workload__slug=search.workload.slug, device_class=search.device_class, best_confirmed=True
    )
    if rivals.filter(best_speedup__gte=search.best_speedup).exists():
        return
    title = f"{search.workload.slug} on {search.device_class}: {search.best_speedup:.3g}x in {search.short}"
    text = f"The fastest confirmed kernel so far, over {search.best_baseline}."
    notify(
        search.team,
        Event.RECORD,
        title,
        text=text,
        link=search.get_absolute_url(),
        key=f"{search.short}-record-{search.best_candidate}",
    )


def _best(search: Search) -> str:
    if search.best_speedup is None:
        return " without a passing candidate"
    return f" at {search.best_speedup:.3g}x"


def _tell(search: Search, event: Event, title: str, text: str, word: str) -> None:
    notify(
        search.team,
        event,
        title,
        text=text,
        link=search.get_absolute_url(),
        key=f"{search.short}-{word}",
        to=_watchers(search),
    )


def _watchers(search: Search) -> Iterable[int]:
    """Who started it, and whoever wants to hear of every search; `notify` leaves out who is not in the team."""
    nosy = Wishes.objects.nosy().filter(user__memberships__team=search.team_id)
    return {*nosy.values_list("user_id", flat=True), search.created_by_id or 0}
