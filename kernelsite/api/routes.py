"""The API's operations, part by part. Each does what a page does, through the same functions."""

from __future__ import annotations

from ninja import NinjaAPI

from kernelsite.api import (
    comparisons,
    devices,
    endpoints,
    libraries,
    notices,
    people,
    probes,
    problems,
    results,
    reviews,
    searches,
    shares,
    workloads,
)
from kernelsite.api.answers import FieldsRenderer
from kernelsite.api.auth import TokenAuth

ROUTERS = (
    searches.router,
    results.router,
    comparisons.router,
    workloads.router,
    probes.router,
    libraries.router,
    devices.router,
    endpoints.router,
    people.router,
    reviews.router,
    shares.router,
    notices.router,
)

api = NinjaAPI(
    title="Kernelsite",
    version="1",
    description="Launch and steer searches, read their results.",
    auth=TokenAuth(),
    docs_url=None,
    urls_namespace="api",
    renderer=FieldsRenderer(),
)
problems.install(api)
for _router in ROUTERS:
    api.add_router("", _router)
