"""Addresses of the API; the description is for people who are logged in."""

from __future__ import annotations

from django.urls import URLPattern, path

from kernelsite.api import docs, problems
from kernelsite.api.answers import finished
from kernelsite.api.routes import api

app_name = "api"
NINJA_S_OWN = (None, "api-root", "openapi-json")

urlpatterns = [
    path("docs/", docs.docs, name="docs"),
    path("openapi.json", docs.openapi, name="openapi"),
]
for _route in api.urls[0]:
    if isinstance(_route, URLPattern) and _route.name not in NINJA_S_OWN:
        urlpatterns.append(path(f"v1/{_route.pattern}", finished(_route.callback), name=_route.name))
urlpatterns.append(path("v1/<path:rest>", finished(problems.missing), name="missing"))
