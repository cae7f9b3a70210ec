"""Addresses of the fleet."""

from __future__ import annotations

from django.urls import path

from kernelsite.fleet import views

app_name = "fleet"

urlpatterns = [path("workers/", views.workers, name="workers")]
