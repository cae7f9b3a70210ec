"""Errors as `application/problem+json` (RFC 9457); `errors` names the field of each complaint."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError

from kernelsite.api.auth import TooManyRequestsError
from kernelsite.searches.launch_errors import IdempotencyConflictError, LaunchError
from kernelsite.searches.models import TransitionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from ninja import NinjaAPI

MOST_ERRORS = 20


def problem(status: int, detail: str, errors: list[dict[str, str]] | None = None) -> JsonResponse:
    """One answer; `type` is about:blank, so `title` is the status in words."""
    told: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    told |= {"detail": detail[:500]} | ({"errors": errors} if errors else {})
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    return JsonResponse(told, status=status, content_type="application/problem+json", headers=headers)


def _invalid(error: ValidationError) -> JsonResponse:
    told = [
        {"field": ".".join(str(part) for part in each["loc"][1:])[:200], "message": str(each["msg"])[:300]}
        for each in error.errors[:MOST_ERRORS]
    ]
    return problem(422, "the request has wrong fields", told)


def _launch(error: LaunchError) -> JsonResponse:
    status = 409 if isinstance(error, IdempotencyConflictError) else 422
    return problem(status, str(error), [{"field": error.field, "message": str(error)}])


ANSWERS: dict[type[Exception], Callable[[Any], JsonResponse]] = {
    AuthenticationError: lambda _: problem(401, "send a live token: Authorization: Bearer ks_…"),
    PermissionDenied: lambda error: problem(403, str(error)),
    Http404: lambda _: problem(404, "there is no such thing, or it is another team's"),
    HttpError: lambda error: problem(error.status_code, str(error)),
    LaunchError: _launch,
    TooManyRequestsError: lambda _: problem(429, "too many requests with this token; wait a minute"),
    TransitionError: lambda error: problem(409, str(error)),
    ValidationError: _invalid,
}


def install(api: NinjaAPI) -> None:
    """Make these the API's answers to errors."""
    for kind, answer in ANSWERS.items():
        api.add_exception_handler(kind, _handler(answer))


def _handler(answer: Callable[[Any], JsonResponse]) -> Callable[[HttpRequest, Any], JsonResponse]:
    return lambda request, error: answer(error)
