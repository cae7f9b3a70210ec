"""What a launch must know of the models it asks for: that they can be called, and that a cap can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelsite.accounts.roles import Act, may, role_in
from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.searches.launch_errors import LaunchError
from kernelsite.searches.models import Search
from kernelsite.searches.scene import METERED
from kernelsite.searches.transcripts import shipped_transcripts
from search.agents.llm.prompts import PROMPT_TOKENS

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from kernelsite.searches.launch import Options
    from search.agents.llm.endpoint import Endpoint
    from search.settings import Budget


def chosen_models(team: Team, options: Options) -> list[dict[str, Any]]:
    """The endpoints of a launch as its search freezes them: without keys, and without prices, which change.

    Raises:
        LaunchError: there is none, one is not the team's, or the caps cannot be kept with them.
    """
    rows = list(ModelEndpoint.objects.of_team(team).usable().filter(pk__in=options.endpoints).order_by("pk"))
    if not rows:
        raise LaunchError("models", "choose at least one model")
    if len(rows) < len(set(options.endpoints)):
        raise LaunchError("models", "a chosen model is disabled, deleted, or not your team's")
    records = [row.record_without_key for row in rows]
    check_caps(options.budget, records)
    return [{"id": row.pk, **_without_prices(record)} for row, record in zip(rows, records, strict=True)]


def may_spend(team: Team, user: User | None) -> bool:
    """Whether a person may have a model called at the team's cost; a launch without a person is the operator's."""
    if user is None:
        return True
    return may(role_in(team, user), Act.LAUNCH)


def _without_prices(record: Endpoint) -> dict[str, Any]:
    document = record.dump()
    del document["prices"]
    return document


def check_caps(budget: Budget, records: list[Endpoint]) -> None:
    """Refuse what would end in the first call.

    Raises:
        LaunchError: no cap, a cap below one call, or a cap on money with an unknown price.
    """
    if budget.tokens is None and budget.cost_usd is None:
        raise LaunchError(
            "tokens", "give a cap on tokens or on money, so that the search cannot spend without end"
        )
    for record in records:
        tokens, usd = ceiling_of(record)
        if budget.tokens is not None and budget.tokens < tokens:
            raise LaunchError(
                "tokens", f"one call of {record.name} may take {tokens:,} tokens; the cap is below it"
            )
        if budget.cost_usd is None:
            continue
        if usd is None:
            raise LaunchError(
                "cost_usd", f"{record.name} has no price today, so money cannot be capped: cap tokens instead"
            )
        if budget.cost_usd < usd:
            raise LaunchError(
                "cost_usd", f"one call of {record.name} may cost {usd:.4f} USD; the cap is below it"
            )


def ceiling_of(record: Endpoint) -> tuple[int, float | None]:
    """The most that one call may take with a full prompt and the longest answer, in tokens and USD."""
    prompt = min(PROMPT_TOKENS, max(1, record.context_tokens - record.max_output_tokens))
    usd = record.prices.ceiling_usd(prompt, record.max_output_tokens) if record.prices else None
    return prompt + record.max_output_tokens, usd


def transcript_choices(team: Team) -> list[tuple[str, str]]:
    """What a replay of this team may answer from."""
    shipped = [(f"shipped:{name}", f"shipped with Kernelsite: {name}") for name in shipped_transcripts()]
    asked = Search.objects.of_team(team).filter(agent=METERED, calls__isnull=False)
    searches = asked.distinct().order_by("-id")[:50]
    return shipped + [(f"search:{row.pk}", f"{row.short} {row.title}") for row in searches]


def checked_transcript(team: Team, wanted: str) -> str:
    """The transcript that was asked for.

    Raises:
        LaunchError: there is no such transcript.
    """
    if wanted not in dict(transcript_choices(team)):
        raise LaunchError("transcript", "choose a transcript to replay")
    return wanted
