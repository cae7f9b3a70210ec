"""Launch of a search: settings frozen, one row per idempotency key, first `advance` on commit."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from django.db import IntegrityError, transaction
from pydantic import Field

from kernelsite.catalog import standing
from kernelsite.catalog.models import StartingCandidate
from kernelsite.searches import dispatch, events, recorded
from kernelsite.searches.code_version import code_version
from kernelsite.searches.holds import is_walled
from kernelsite.searches.launch_errors import IdempotencyConflictError, LaunchError
from kernelsite.searches.model_launch import checked_transcript, chosen_models, may_spend
from kernelsite.searches.models import AtCap, Choice, Search
from kernelsite.searches.scene import METERED, REPLAY, WITH_A_MODEL
from search.agents.playbook.given import source_problem
from search.agents.playbook.writers import refusal
from search.agents.registry import AGENTS, PLAYBOOK, default_agent
from search.landscapes.files import is_recorded, language_of
from search.records import EventKind, Language, Record, Sha256
from search.settings import MOST_STARTING, Budget, SearchSettings, StageSettings
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from kernelsite.catalog.models import LibraryVersion, WorkloadVersion

__all__ = [
    "IdempotencyConflictError",
    "LaunchError",
    "Options",
    "Order",
    "create",
    "launch_search",
    "new_key",
]

MOVABLE = ("tokens_cap", "cost_usd_cap")
"""Columns that a person may change after the launch."""
LANGUAGES = {"cpu": Language.CPP}
"""What a device class is given to run; everything else is Triton."""


class Options(Record):
    """What a person chooses about how to search; workload and library are chosen beside it."""

    strategy: str = "two_stage"
    agent: str = ""
    """Empty: the one that fits the device class."""
    device_class: str = "cpu"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    budget: Budget
    stages: StageSettings = StageSettings()
    allowed_actions: tuple[str, ...] = ()
    parallel: Annotated[int, Field(ge=1, le=64)] = 1
    endpoints: tuple[int, ...] = ()
    """Model endpoints of the team, by id; of agent `llm` only."""
    model_choice: Choice = Choice.SHARE
    at_cap: AtCap = AtCap.FINISH
    starting: Annotated[
        tuple[Sha256, ...], Field(max_length=MOST_STARTING, exclude_if=lambda value: not value)
    ] = ()
    """Starting candidates of the workload, by candidate hash: the playbook begins with them, a model is shown them."""
    transcript: str = ""
    """What `replay` answers from: `shipped:<name>` or `search:<id>`."""


@dataclass(frozen=True)
class Order:
    """One launch: who, what, and the key that makes a second click harmless."""

    team: Team
    user: User | None
    workload: WorkloadVersion
    library: LibraryVersion
    options: Options
    key: str
    title: str = ""

    @property
    def settings(self) -> SearchSettings:
        """The settings to freeze.

        Raises:
            LaunchError: no such strategy, agent or action, or no landscape of this workload.
        """
        options = self.options
        agent = options.agent or default_agent(options.device_class)
        _must_be_among("strategy", options.strategy, STRATEGIES)
        _must_be_among("agent", agent, [*AGENTS, *WITH_A_MODEL])
        if problem := standing.problem(self.workload, options.device_class):
            raise LaunchError("workload", problem)
        if self.workload.team_id is not None and not is_walled(options.device_class):
            raise LaunchError(
                "device_class", "a worker of this class has no sandbox, and an uploaded reference needs one"
            )
        if problem := recorded.problem(options.device_class, self.workload.record):
            raise LaunchError("device_class", problem)
        if options.stages.review and STRATEGIES[options.strategy].retain is None:
            raise LaunchError(
                "review",
                f"{options.strategy} keeps no structures between two stages, so it has no review gate",
            )
        actions = {action.id for action in self.library.record.actions}
        for action in options.allowed_actions:
            _must_be_among("allowed_actions", action, sorted(actions))
        return SearchSettings(
            workload=self.workload.slug,
            workload_hash=self.workload.hash,
            library=self.library.slug,
            library_hash=self.library.hash,
            strategy=options.strategy,
            agent=agent,
            language=language_for(options.device_class),
            device_class=options.device_class,
            seed=options.seed,
            budget=options.budget,
            stages=options.stages,
            allowed_actions=options.allowed_actions,
            parallel=options.parallel,
            starting=self._starting(agent),
        )

    def _starting(self, agent: str) -> tuple[str, ...]:
        wanted, language = self.options.starting, language_for(self.options.device_class)
        if wanted and agent not in (*WITH_A_MODEL, PLAYBOOK):
            raise LaunchError("starting", f"{agent} answers from a record and starts from no program")
        own = StartingCandidate.objects.of_team(self.team).for_workload(self.workload.slug)
        rows = list(own.filter(hash__in=wanted))
        if strange := set(wanted) - {row.hash for row in rows}:
            raise LaunchError(
                "starting", f"{min(strange)[:16]} is no starting candidate of {self.workload.slug}"
            )
        for row in rows if agent == PLAYBOOK else ():
            if problem := source_problem(row.record, language):
                raise LaunchError("starting", f"the playbook cannot begin with {row.name}: {problem}")
        if agent == PLAYBOOK and not wanted and (problem := refusal(self.workload.record, language)):
            raise LaunchError("agent", f"{problem}; choose a model, or a starting candidate to tune")
        return wanted

    @property
    def model_columns(self) -> dict[str, Any]:
        """What the search's row freezes about its models.

        Raises:
            LaunchError: no usable model, no cap that can be kept, or no such transcript.
        """
        options, agent = self.options, self.settings.agent
        if agent == METERED and is_recorded(options.device_class):
            raise LaunchError("agent", "a recorded device knows only the programs that were recorded")
        strange = agent in WITH_A_MODEL or self.workload.team_id is not None or bool(options.starting)
        if strange and not is_walled(options.device_class):
            raise LaunchError(
                "device_class", "a worker of this class has no sandbox; code of models and uploads needs one"
            )
        caps = {"tokens_cap": options.budget.tokens, "cost_usd_cap": options.budget.cost_usd}
        words = {"model_choice": options.model_choice, "at_cap": options.at_cap}
        if agent == METERED and not may_spend(self.team, self.user):
            raise LaunchError(
                "agent", "viewers spend no money; ask an administrator of the team for a member's role"
            )
        if agent == METERED:
            return caps | words | {"endpoints": chosen_models(self.team, options)}
        transcript = checked_transcript(self.team, options.transcript) if agent == REPLAY else ""
        return caps | words | {"transcript": transcript}


def _must_be_among(field: str, word: str, known: Iterable[str]) -> None:
    if word not in known:
        raise LaunchError(
            field, f"there is no {field.replace('_', ' ')} {word!r}; there are {', '.join(known)}"
        )


def new_key() -> str:
    """An idempotency key for a form."""
    return secrets.token_urlsafe(16)


def language_for(device_class: str) -> Language:
    """The language of candidates on a device class.

    Raises:
        LandscapeError: the class is recorded and there is no such landscape.
    """
    if is_recorded(device_class):
        return language_of(device_class)
    return LANGUAGES.get(device_class, Language.TRITON)


def launch_search(order: Order) -> tuple[Search, bool]:
    """Create a search and start it; the same key again gives the first one.

    Returns:
        The search, and whether this call created it.

    Raises:
        LaunchError: the order cannot be launched, or its key belongs to a search with other settings.
    """
    settings = order.settings
    known = Search.objects.filter(team=order.team, idempotency_key=order.key).first()
    if known is None:
        try:
            with transaction.atomic():
                return create(order), True
        except IntegrityError:  # the other click of a double click was faster
            known = Search.objects.get(team=order.team, idempotency_key=order.key)
    same = known.settings == settings.dump() and all(
        getattr(known, name) == value for name, value in order.model_columns.items() if name not in MOVABLE
    )
    if not same:
        raise IdempotencyConflictError
    return known, False


def create(order: Order, comparison_id: int | None = None) -> Search:
    """Write the search's row and its first event; a driver looks at it after commit."""
    settings = order.settings
    search = Search.objects.create(
        team=order.team,
        created_by=order.user,
        title=order.title or f"{order.workload.title}: {settings.strategy}, seed {settings.seed}",
        workload=order.workload,
        library=order.library,
        comparison_id=comparison_id,
        idempotency_key=order.key,
        settings=settings.dump(),
        strategy=settings.strategy,
        agent=settings.agent,
        language=settings.language,
        device_class=settings.device_class,
        seed=settings.seed,
        evaluations_cap=settings.budget.evaluations,
        **order.model_columns,
    )
    with events.locked(search.pk) as row:
        events.append(row, EventKind.CREATED, f"search created: {row.title}", more={"code": code_version()})
        for chosen in row.endpoints:
            where = f"prompts go to {chosen['base_url']}, model {chosen['model']}"
            events.append(row, EventKind.MODEL, f"{chosen['name']}: {where}")
    dispatch.advance_later(search.pk)
    return search
