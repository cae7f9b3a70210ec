"""Replies that are no answer: in words, and as the cause that pages count by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.llm.outcomes import CallOutcome
from search.steps import DraftFailure

if TYPE_CHECKING:
    from search.agents.llm.outcomes import ModelReply

CAUSES = {
    CallOutcome.TRUNCATED: DraftFailure.TRUNCATED,
    CallOutcome.REFUSED: DraftFailure.REFUSED,
    CallOutcome.EMPTY: DraftFailure.EMPTY,
    CallOutcome.INCOMPLETE: DraftFailure.BROKEN_ANSWER,
    CallOutcome.BAD_GATEWAY_RESPONSE: DraftFailure.BROKEN_ANSWER,
    CallOutcome.MALFORMED: DraftFailure.UNREADABLE,
    CallOutcome.CONTEXT_TOO_LONG: DraftFailure.NO_ROOM,
    CallOutcome.BUDGET: DraftFailure.NOT_ASKED,
    CallOutcome.NOT_RECORDED: DraftFailure.NOT_RECORDED,
}


@dataclass(frozen=True)
class Failure:
    """Why there is no answer; falsy where there is one."""

    text: str = ""
    cause: DraftFailure | None = None

    def __bool__(self) -> bool:
        return bool(self.text)


NO_FAILURE = Failure()


def failure_of(reply: ModelReply) -> Failure:
    """A reply that is no answer."""
    text = f"{reply.outcome}: {reply.detail}" if reply.detail else str(reply.outcome)
    return Failure(text, CAUSES.get(reply.outcome, DraftFailure.OTHER))
