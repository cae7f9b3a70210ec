"""Addresses. Each app brings its own; health is for load balancers and answers without a log-in."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("kernelsite.compare.urls")),
    path("", include("kernelsite.reviews.urls")),
    path("", include("kernelsite.searches.urls")),
    path("searches/", include("kernelsite.searches.calls_urls")),
    path("", include("kernelsite.catalog.urls")),
    path("", include("kernelsite.searches.worker_urls")),
    path("", include("kernelsite.shares.urls")),
    path("settings/models/", include("kernelsite.endpoints.urls")),
    path("", include("kernelsite.notices.urls")),
    path("", include("kernelsite.accounts.team_urls")),
    path("accounts/", include("kernelsite.accounts.urls")),
    path("api/", include("kernelsite.api.urls")),
    path("", include("kernelsite.ops.urls")),
]
