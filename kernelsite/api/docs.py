"""The API's description for people, drawn by the server: Swagger's page needs inline scripts, which the policy forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kernelsite.accounts.models.token import PER_MINUTE
from kernelsite.api.routes import api

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

ROOT = "/api/v1/"


@require_GET
def docs(request: TeamRequest) -> HttpResponse:
    """Every operation with its parameters, and how to call it."""
    document = api.get_openapi_schema(path_prefix=ROOT)
    operations = [
        {"method": method.upper(), "path": path, "about": about, "parameters": _parameters(about, document)}
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    ]
    context = {
        "operations": operations,
        "per_minute": PER_MINUTE,
        "root": request.build_absolute_uri("/")[:-1],
    }
    return render(request, "api/docs.html", context)


@require_GET
def openapi(request: TeamRequest) -> JsonResponse:
    """The OpenAPI document."""
    return JsonResponse(api.get_openapi_schema(path_prefix=ROOT))


def _parameters(about: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    """Parameters of an operation, and the first level of its body."""
    rows = [
        {
            "name": each["name"],
            "where": each["in"],
            "required": each["required"],
            "type": _type(each["schema"]),
            "default": each["schema"].get("default"),
        }
        for each in about.get("parameters", [])
    ]
    body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    record = document["components"]["schemas"].get(body.get("$ref", "").rpartition("/")[2], {})
    required = record.get("required", [])
    return rows + [
        {
            "name": name,
            "where": "body",
            "required": name in required,
            "type": _type(schema),
            "default": schema.get("default"),
        }
        for name, schema in record.get("properties", {}).items()
    ]


def _type(schema: dict[str, Any]) -> str:
    """Its JSON type in words."""
    kinds = [each.get("type", "object") for each in schema.get("anyOf", [schema])]
    words = " or ".join(kind for kind in kinds if kind != "null")
    return f"{words}: {', '.join(schema['enum'])}" if "enum" in schema else words
