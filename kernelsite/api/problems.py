"""Errors as `application/problem+json` (RFC 9457); `errors` names the field of each complaint."""

from __future__ import annotations

import logging
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404, JsonResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from kernelsite.accounts.people import LastAdminError
from kernelsite.api.auth import TooManyRequestsError
from kernelsite.reviews.deeds import ReviewError
from kernelsite.searches.gate import GateError
from kernelsite.searches.launch import Options
from kernelsite.searches.launch_errors import IdempotencyConflictError, LaunchError
from kernelsite.searches.models import TransitionError
from search.settings import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from ninja import NinjaAPI

log = logging.getLogger(__name__)

MOST_ERRORS = 20
RETRY_S = 2
OTHER_NAMES = {"models": "options.endpoints", "idempotency_key": "Idempotency-Key"}
"""Fields of the launch form that the API calls otherwise."""


class ConflictError(Exception):
    """The thing is in a state in which that cannot be done; for people."""


def problem(
    status: int, detail: str, errors: list[dict[str, str]] | None = None, *, retry_s: int | None = None
) -> JsonResponse:
    """One answer; `type` is about:blank, so `title` is the status in words."""
    told: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    told |= {"detail": detail[:500]} | ({"errors": errors} if errors else {})
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    headers |= {} if retry_s is None else {"Retry-After": f"{retry_s}"}
    return JsonResponse(told, status=status, content_type="application/problem+json", headers=headers)


def _invalid(error: ValidationError) -> JsonResponse:
    told = [
        {"field": _field(each["loc"])[:200], "message": str(each["msg"]).removeprefix("Value error, ")[:300]}
        for each in error.errors[:MOST_ERRORS]
    ]
    return problem(422, "the request has wrong fields", told)


def _field(place: tuple[Any, ...]) -> str:
    """`options.budget.evaluations`, `limit`: without where it stood, and for a body without its own name."""
    return ".".join(str(part) for part in (place[2:] if place[0] == "body" else place[1:]))


def _launch(error: LaunchError) -> JsonResponse:
    status = 409 if isinstance(error, IdempotencyConflictError) else 422
    return problem(status, str(error), [{"field": _option(error.field), "message": str(error)}])


def _option(field: str) -> str:
    """Where a body of the API has a field of the launch form."""
    if field in Options.model_fields:
        return f"options.{field}"
    if field in Budget.model_fields:
        return f"options.budget.{field}"
    return OTHER_NAMES.get(field, field)


ANSWERS: dict[type[Exception], Callable[[Any], JsonResponse]] = {
    AuthenticationError: lambda _: problem(401, "send a live token: Authorization: Bearer ks_…"),
    PermissionDenied: lambda error: problem(403, str(error)),
    LastAdminError: lambda error: problem(409, str(error)),
    ConflictError: lambda error: problem(409, str(error)),
    GateError: lambda error: problem(409, str(error)),
    ReviewError: lambda error: problem(409, str(error)),
    Http404: lambda _: problem(404, "there is no such thing, or it is another team's"),
    HttpError: lambda error: problem(error.status_code, str(error)),
    LaunchError: _launch,
    OperationalError: lambda _: problem(503, "the database does not answer now; ask again", retry_s=RETRY_S),
    TooManyRequestsError: lambda _: problem(
        429, "too many requests with this token; wait until the minute is over", retry_s=_rest_of_minute()
    ),
    TransitionError: lambda error: problem(409, str(error)),
    ValidationError: _invalid,
    Exception: lambda error: _unexpected(error),
}


def missing(request: HttpRequest, rest: str) -> JsonResponse:
    """View of every address below `/api/v1/` that is no operation."""
    return problem(404, "the API has no such address; /api/docs/ has them all")


def install(api: NinjaAPI) -> None:
    """Make these the API's answers to errors."""
    for kind, answer in ANSWERS.items():
        api.add_exception_handler(kind, _handler(answer))


def _rest_of_minute() -> int:
    """Seconds until a token may ask again; its requests are counted by minutes of the clock."""
    return 60 - int(time.time()) % 60


def _unexpected(error: Exception) -> JsonResponse:
    """What nobody foresaw: its place goes to the log, nothing of it to the client."""
    log.error("API: %s", type(error).__name__, exc_info=error)
    return problem(500, "something went wrong here; the log of the site says what")


def _handler(answer: Callable[[Any], JsonResponse]) -> Callable[[HttpRequest, Any], JsonResponse]:
    return lambda request, error: answer(error)
