"""A caller that answers from a transcript: no network, no key, no cost, the same search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.llm.ledger import added
from search.agents.llm.outcomes import CallOutcome, Charge, ModelReply
from search.agents.llm.transcript import read_transcript

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from search.agents.llm.outcomes import CallRecord, ModelRequest
    from search.agents.llm.transcript import Header


class ReplayCaller:
    """Answers each request with the reply that its recorded call ended with, found by the request's hash.

    Usage is told as it was recorded, so budgets run as they did; nothing is spent. A call that was repeated,
    because a process died before its answer was kept, is answered by its last time.
    """

    def __init__(self, header: Header, records: Iterable[CallRecord]) -> None:
        self.context_tokens = header.context_tokens
        self.json_schema = header.json_schema
        self._replies: dict[str, ModelReply] = {}
        for record in records:
            self._keep(record)

    @classmethod
    def of_file(cls, path: Path) -> ReplayCaller:
        """From a transcript's file.

        Raises:
            search.agents.llm.transcript.TranscriptError: it is none.
        """
        return cls(*read_transcript(path))

    def call(self, request: ModelRequest) -> ModelReply:
        """The recorded reply, or `not_recorded` with what was asked for."""
        known = self._replies.get(request.hash)
        if known is not None:
            return known
        return ModelReply(
            outcome=CallOutcome.NOT_RECORDED,
            detail=f"the transcript holds no {request.role} call {request.turn!r} with request {request.hash[:12]}: "
            "the search differs from the recorded one",
            charge=Charge.NOTHING,
            attempts=0,
        )

    def _keep(self, record: CallRecord) -> None:
        """Replace an earlier attempt of the same call and add up what its attempts cost."""
        reply = record.reply
        earlier = self._replies.get(record.request_hash)
        if earlier is not None and record.attempt.number > 1:
            reply = reply.model_copy(update={"spent": added(earlier.spent, reply.spent)})
        self._replies[record.request_hash] = reply
