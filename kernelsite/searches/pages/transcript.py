"""What a search said to its models and what they answered: a tab of the structure page, a list, one call, downloads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.searches.models import ModelCall, Search
from search.agents.llm.texts import without_secrets
from search.agents.llm.transcript import Header, record_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.searches.models import Structure

LONG = 4000
"""Characters above which a text is shown closed."""
STEPS_PER_PAGE = 10
CALLS_PER_PAGE = 100


@dataclass(frozen=True)
class Text:
    """One message or answer, masked; hostile, so it only ever enters a page escaped."""

    role: str
    content: str

    @property
    def is_long(self) -> bool:
        """It is shown closed."""
        return len(self.content) > LONG


@dataclass(frozen=True)
class Told:
    """A call with its texts."""

    call: ModelCall

    @property
    def messages(self) -> list[Text]:
        """What was sent."""
        request = self.call.attempt["request"]
        return [Text(each["role"], without_secrets(each["content"])) for each in request["messages"]]

    @property
    def answer(self) -> Text:
        """What came back; empty when nothing did."""
        return Text("answer", without_secrets((self.call.reply or {}).get("text", "")))

    @property
    def detail(self) -> str:
        """Why it is no complete answer."""
        return str((self.call.reply or {}).get("detail", ""))

    @property
    def dropped(self) -> list[str]:
        """Parts of the prompt that its budget had no room for."""
        return list(self.call.attempt["request"].get("dropped", ()))

    @property
    def has_schema(self) -> bool:
        """A schema for the answer was asked for."""
        return self.call.attempt["request"].get("answer_schema") is not None


def has_transcript(row: Structure) -> bool:
    """Whether a model was asked for this structure."""
    return ModelCall.objects.filter(step__structure=row).exists()


def transcript(row: Structure, page: str | int = 1) -> dict[str, Any]:
    """Context of the structure page's tab: steps, and under each its calls in order."""
    steps = row.steps.filter(calls__isnull=False).distinct().order_by("number")
    shown = Paginator(steps.select_related("candidate__structure"), STEPS_PER_PAGE).get_page(page)
    calls = ModelCall.objects.filter(step__in=list(shown)).order_by("step__number", "id")
    told = {pk: [Told(call) for call in group] for pk, group in groupby(calls, key=lambda call: call.step_id)}
    return {"talk": [(step, told.get(step.pk, [])) for step in shown], "talk_page": shown}


def models_of(search: Search) -> dict[str, Any]:
    """Context of `searches/_models.html`: spending by model, caps, what is still reserved."""
    rows = search.calls.by_model()
    tokens, usd, held, held_usd = (
        sum(row[name] or 0 for row in rows) for name in ("charged", "cost", "held", "held_cost")
    )
    return {
        "models": rows,
        "chosen": search.endpoints,
        "has_models": bool(search.endpoints or rows),
        "caps": search.caps,
        "committed": {"tokens": tokens, "usd": usd},
        "open": {"tokens": held, "usd": held_usd},
        "is_priced": all(not row["unpriced"] for row in rows),
    }


@require_GET
def calls(request: TeamRequest, search_id: int) -> HttpResponse:
    """Every call of a search, newest first, with what was spent by model."""
    row = _own(request, search_id)
    rows = row.calls.without_texts().select_related("step__structure").order_by("-id")
    page = Paginator(rows, CALLS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "searches/calls.html", {"row": row, "page": page, **models_of(row)})


@require_GET
def call(request: TeamRequest, search_id: int, call_id: int) -> HttpResponse:
    """One call with all its texts."""
    row = _own(request, search_id)
    found = get_object_or_404(
        row.calls.select_related("step__structure", "step__candidate__structure"), pk=call_id
    )
    tries = row.calls.without_texts().filter(step=found.step_id, request_hash=found.request_hash)
    return render(
        request, "searches/call.html", {"row": row, "told": Told(found), "tries": tries.order_by("id")}
    )


@require_GET
def call_json(request: TeamRequest, search_id: int, call_id: int) -> HttpResponse:
    """One call as its transcript keeps it: masked JSON."""
    found = get_object_or_404(_own(request, search_id).calls, pk=call_id)
    name = f"S-{search_id}-call-{call_id}.json"
    return HttpResponse(record_line(found.record), content_type="application/json", headers=_attached(name))


@require_GET
def calls_jsonl(request: TeamRequest, search_id: int) -> StreamingHttpResponse:
    """The transcript of a search, which `run_search --agent replay --transcript` answers from."""
    row = _own(request, search_id)
    lines = (f"{line}\n" for line in _lines(row))
    headers = _attached(f"S-{search_id}-calls.jsonl")
    return StreamingHttpResponse(lines, content_type="application/jsonl", headers=headers)


def _lines(search: Search) -> Iterator[str]:
    windows = [chosen["context_tokens"] for chosen in search.endpoints]
    schemas = [chosen["json_schema"] for chosen in search.endpoints]
    note = f"{search.short}: {search.title}"
    yield Header(
        context_tokens=min(windows, default=0), json_schema=all(schemas), note=note
    ).model_dump_json()
    for found in search.calls.order_by("id").iterator(chunk_size=20):
        yield record_line(found.record)


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _own(request: TeamRequest, search_id: int) -> Search:
    """The search, when it is the team's; others do not learn that it exists."""
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    return get_object_or_404(rows, pk=search_id)
