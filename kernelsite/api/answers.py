"""What every answer of the API has beside its document: entity tag, chosen fields, what is left of the rate limit."""

from __future__ import annotations

from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.utils.cache import set_response_etag
from django.utils.http import parse_etags
from ninja.errors import ValidationError
from ninja.renderers import JSONRenderer

from kernelsite.accounts.models.token import PER_MINUTE
from kernelsite.api.problems import problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

MOST_FIELDS = 50
LONGEST_FIELDS = 2000


class FieldsRenderer(JSONRenderer):
    """JSON without NaN; of a GET with `fields=id,best.speedup` only these, in each row where it is a list."""

    json_dumps_params = {"allow_nan": False}

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> Any:
        """The document as JSON.

        Raises:
            ValidationError: `fields` names something that no row has.
        """
        wanted = request.GET.get("fields", "") if request.method == "GET" else ""
        if wanted and response_status == HTTPStatus.OK:
            data = chosen(data, wanted)
        return super().render(request, data, response_status=response_status)


def chosen(document: Any, wanted: str) -> Any:
    """The document with only the wanted fields of its rows; a page keeps its cursor.

    Raises:
        ValidationError: too many fields, or one that no row has.
    """
    names = [name.strip() for name in wanted[:LONGEST_FIELDS].split(",") if name.strip()]
    if len(names) > MOST_FIELDS:
        raise _wrong(f"at most {MOST_FIELDS} fields")
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        return document | {"items": chosen(document["items"], wanted)}
    rows = document if isinstance(document, list) else [document]
    for name in names:
        if rows and not any(_has(row, name.split(".")) for row in rows):
            raise _wrong(f"there is no field {name!r}")
    found = [_part(row, [name.split(".") for name in names]) for row in rows]
    return found if isinstance(document, list) else found[0]


def _wrong(message: str) -> ValidationError:
    return ValidationError([{"loc": ("query", "fields"), "msg": message}])


def _has(value: Any, path: list[str]) -> bool:
    """Whether a row has a field; below something that is null nobody knows, so it counts as there."""
    if not path or value is None:
        return True
    return isinstance(value, dict) and path[0] in value and _has(value[path[0]], path[1:])


def _part(row: Any, paths: list[list[str]]) -> Any:
    """The row with only the fields at these paths."""
    if not isinstance(row, dict):
        return row
    kept: dict[str, Any] = {}
    for name in dict.fromkeys(path[0] for path in paths):
        if name in row:
            deeper = [path[1:] for path in paths if path[0] == name]
            # An empty path asks for the whole of it.
            kept[name] = row[name] if [] in deeper else _part(row[name], deeper)
    return kept


def finished(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrapper of the API's views: 304 for what the client has, rate limit headers, nothing kept by caches."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            response = _not_allowed(response)
        if request.method == "GET" and response.status_code == HTTPStatus.OK and not response.streaming:
            _compare(request, response)
        left = getattr(request, "requests_left", None)
        if left is not None:
            response.headers["RateLimit-Limit"] = f"{PER_MINUTE}"
            response.headers["RateLimit-Remaining"] = f"{max(0, left)}"
        changed = "no-store" if request.method != "GET" else "private, no-cache"
        response.headers.setdefault("Cache-Control", changed)
        return response

    answer.csrf_exempt = True  # type: ignore[attr-defined]  # there is no cookie to forge with
    answer.login_required = False  # type: ignore[attr-defined]  # tokens are asked for instead
    return answer


def _not_allowed(response: HttpResponse) -> HttpResponse:
    told = problem(HTTPStatus.METHOD_NOT_ALLOWED, f"this address takes {response.headers['Allow']}")
    told.headers["Allow"] = response.headers["Allow"]
    return told


def _compare(request: HttpRequest, response: HttpResponse) -> None:
    """Turn the answer into a 304 when the client has it already."""
    if "ETag" not in response.headers:
        set_response_etag(response)
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if response.headers.get("ETag") in known or "*" in known:
        response.status_code = HTTPStatus.NOT_MODIFIED
        response.content = b""
        del response.headers["Content-Type"]
