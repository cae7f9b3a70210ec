"""Addresses of device workers. Their pages read evaluations, so they stand here and not in `kernelsite.fleet`."""

from __future__ import annotations

from django.urls import path, re_path

from kernelsite.fleet import views
from kernelsite.searches.pages import workers

app_name = "fleet"

urlpatterns = [
    path("workers/", workers.workers, name="workers"),
    path("workers/<int:device_id>/", workers.worker, name="worker"),
    re_path(r"^workers/(?P<device_id>\d{1,9})/(?P<action>drain|enable)/$", views.act, name="act"),
]
