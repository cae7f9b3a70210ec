"""Addresses of health."""

from __future__ import annotations

from django.urls import path

from kernelsite.ops import health

app_name = "ops"

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
