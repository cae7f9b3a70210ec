"""Addresses of the API; the description is for people who are logged in."""

from __future__ import annotations

from django.urls import path

from kernelsite.api import docs
from kernelsite.api.auth import with_rate_headers
from kernelsite.api.routes import api

app_name = "api"

urlpatterns = [
    path("docs/", docs.docs, name="docs"),
    path("openapi.json", docs.openapi, name="openapi"),
]
for _route in api.urls[0]:
    if _route.name not in {"api-root", "openapi-json"}:
        urlpatterns.append(path(f"v1/{_route.pattern}", with_rate_headers(_route.callback), name=_route.name))
