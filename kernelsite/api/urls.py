"""Addresses of the API; the description is for people who are logged in."""

from __future__ import annotations

from django.urls import URLPattern, path

from kernelsite.api import docs
from kernelsite.api.auth import with_rate_headers
from kernelsite.api.routes import api

app_name = "api"
NINJA_S_OWN = (None, "api-root", "openapi-json")

urlpatterns = [
    path("docs/", docs.docs, name="docs"),
    path("openapi.json", docs.openapi, name="openapi"),
]
for _route in api.urls[0]:
    if isinstance(_route, URLPattern) and _route.name not in NINJA_S_OWN:
        view = with_rate_headers(_route.callback)
        urlpatterns.append(path(f"v1/{_route.pattern}", view, name=_route.name))
