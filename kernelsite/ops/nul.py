"""Addresses with a NUL character are refused: PostgreSQL cannot store or compare one, SQLite silently cuts at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse


def refuse_nul(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware; form fields have Django's own check."""

    def without_nul(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The address has a NUL character.")
        return get_response(request)

    return without_nul
