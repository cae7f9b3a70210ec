"""One question to a model with its follow-ups: what was said stays in view, and what it cost is summed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from search.agents.llm.failing import NO_FAILURE, Failure, failure_of
from search.agents.llm.fencing import fence, one_line, shortened
from search.agents.llm.ledger import added
from search.agents.llm.outcomes import CallOutcome, Message, ModelRequest
from search.agents.llm.schema import AnswerError, UnusableError
from search.agents.llm.tokens import estimate_messages
from search.steps import DraftFailure
from search.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from search.agents.llm.outcomes import Caller, ModelReply
    from search.agents.llm.prompts import Prompt

T = TypeVar("T")

_SHOWN = 400
_SAID_BACK = 2000
"""Characters of a problem that people and the model are told."""
_CHARACTERS_PER_TOKEN = 2
"""Fewer than any tokenizer makes of code, so that what is quoted fits."""
_LEAST_QUOTED = 256
"""With less room than so many tokens for the model's own words, nothing is asked again."""


@dataclass
class Talk:
    """A conversation of one role about one draft."""

    caller: Caller
    role: str
    draft: int
    """Step number."""
    prompt: Prompt
    schema: dict[str, JsonValue] | None = None
    calls: int = 0
    spent: Usage = field(default_factory=Usage)
    last: ModelReply | None = None

    def ask(self) -> ModelReply:
        """Put the question."""
        return self._call(self.prompt.messages)

    def again(self, problem: str) -> ModelReply | None:
        """Say what is wrong with the last answer; None where no room is left for that."""
        messages = self._follow_up(problem)
        return self._call(messages) if messages else None

    def answered(self, read: Callable[[str], T], correction: str) -> tuple[T | None, Failure]:
        """What the answer is read as, else why there is none; a bad answer is said back once.

        Args:
            read: raises `AnswerError` for a text that is no answer.
            correction: what to say with the problem.
        """
        reply: ModelReply | None = self.ask()
        failure = NO_FAILURE
        for _ in range(2):
            if reply is None:
                break
            if not (reply.is_ok or reply.outcome is CallOutcome.TRUNCATED):
                return None, failure_of(reply)
            try:
                return read(reply.text), NO_FAILURE
            except AnswerError as error:
                failure = _unread(error, reply)
                told = fence(str(error), "what is wrong", _SAID_BACK)
            reply = self.again(f"{told}\n{correction}") if self.calls == 1 else None
        return None, failure

    def _call(self, messages: tuple[Message, ...]) -> ModelReply:
        self.calls += 1
        request = ModelRequest(
            role=self.role,
            messages=messages,
            answer_schema=self.schema,
            turn=f"{self.draft}/{self.role}-{self.calls}",
            draft=self.draft,
            dropped=self.prompt.dropped,
        )
        self.last = self.caller.call(request)
        self.spent = added(self.spent, self.last.spent)
        return self.last

    def _follow_up(self, problem: str) -> tuple[Message, ...]:
        """The question, the answer as far as it fits, and the problem; empty where it does not fit."""
        *before, question = self.prompt.messages
        room = self.caller.context_tokens * 3 // 4 - estimate_messages(
            (*self.prompt.messages, Message(role="user", content=problem))
        )
        if room < _LEAST_QUOTED or self.last is None:
            return ()
        if self.last.outcome is CallOutcome.TRUNCATED or not self.last.text.strip():
            # Half an answer would only be continued; some servers want roles to alternate.
            return (*before, Message(role="user", content=f"{question.content}\n\n{problem}"))
        quoted = shortened(self.last.text, room * _CHARACTERS_PER_TOKEN)
        answered = Message(role="assistant", content=quoted)
        return (*before, question, answered, Message(role="user", content=problem))


def _unread(error: AnswerError, reply: ModelReply) -> Failure:
    if not reply.is_ok:
        return failure_of(reply)
    unusable = isinstance(error, UnusableError)
    cause = DraftFailure.IMPOSSIBLE if unusable else DraftFailure.UNREADABLE
    return Failure(f"{CallOutcome.MALFORMED}: {one_line(str(error), _SHOWN)}", cause)
