"""Searches that run again from a transcript: nothing is sent and nothing is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.searches.ledger import CallStop
from kernelsite.searches.models import CallState, ModelCall, Search, Step
from kernelsite.searches.transcripts import shipped_transcripts
from search.agents.llm.outcomes import Attempt, CallOutcome, Charge, ModelReply
from search.agents.llm.replay import ReplayCaller

if TYPE_CHECKING:
    from search.agents.llm.outcomes import Caller, ModelRequest


@dataclass
class RowsReplay:
    """`search.agents.llm.outcomes.Caller` that answers as an earlier search was answered; nothing is sent."""

    source: Search

    @property
    def context_tokens(self) -> int:
        """Prompts depend on it."""
        return min(int(chosen["context_tokens"]) for chosen in self.source.endpoints)

    @property
    def json_schema(self) -> bool:
        """As above."""
        return all(chosen["json_schema"] for chosen in self.source.endpoints)

    def call(self, request: ModelRequest) -> ModelReply:
        """The reply with which the recorded call ended, or `not_recorded`."""
        rows = self.source.calls.filter(request_hash=request.hash, reply__isnull=False).order_by("-id")
        if (row := rows.first()) is not None:
            return ModelReply.load(row.reply)
        detail = f"{self.source.short} has no {request.role} call {request.turn!r} of this kind"
        return ModelReply(outcome=CallOutcome.NOT_RECORDED, detail=detail, charge=Charge.NOTHING, attempts=0)


@dataclass
class Kept:
    """`search.agents.llm.outcomes.Caller` that writes replayed calls into rows, free of charge: later steps read
    planners' answers from there, and people the transcript."""

    inner: Caller
    search: Search
    step: Step

    @property
    def context_tokens(self) -> int:
        """See `Caller`."""
        return self.inner.context_tokens

    @property
    def json_schema(self) -> bool:
        """See `Caller`."""
        return self.inner.json_schema

    def call(self, request: ModelRequest) -> ModelReply:
        """The recorded reply."""
        reply = self.inner.call(request)
        name = reply.endpoint or "replay"
        attempt = Attempt(
            request=request,
            endpoint=name,
            host="replay",
            model=reply.model or name,
            output_limit=max(1, reply.usage.completion_tokens),
            ceiling_tokens=0,
            ceiling_usd=0.0,
        )
        ModelCall.objects.create(
            search=self.search,
            step=self.step,
            step_attempt=self.step.attempt,
            endpoint_name=name,
            host=attempt.host,
            model=attempt.model[:200],
            role=request.role[:30],
            request_hash=request.hash,
            state=CallState.RELEASED,
            outcome=reply.outcome,
            ceiling_tokens=0,
            ceiling_usd=0.0,
            tokens=0,
            prompt_tokens=reply.usage.prompt_tokens,
            completion_tokens=reply.usage.completion_tokens,
            model_returned=reply.model[:200],
            fingerprint=reply.fingerprint[:200],
            attempt=attempt.dump(),
            reply=reply.dump(),
            settled_at=timezone.now(),
        )
        return reply


def replay_of(search: Search, step: Step) -> Caller:
    """What answers a step of a replay.

    Raises:
        CallStop: the transcript is gone.
    """
    kind, _, name = search.transcript.partition(":")
    if kind == "shipped":
        file = shipped_transcripts().get(name)
        if file is None:
            raise CallStop(f"no transcript {name!r} ships with this version")
        return Kept(ReplayCaller.of_file(file), search, step)
    source = Search.objects.filter(pk=int(name), team=search.team_id).first()
    if source is None or not source.endpoints:
        raise CallStop(f"the transcript of S-{name} is gone")
    return Kept(RowsReplay(source), search, step)
