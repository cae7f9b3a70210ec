"""Addresses of workloads and action libraries."""

from __future__ import annotations

from django.urls import path

from kernelsite.catalog import views

app_name = "catalog"

urlpatterns = [
    path("workloads/", views.workloads, name="workloads"),
    path("workloads/<slug:slug>/", views.workload, name="workload"),
    path("workloads/<slug:slug>/v/<int:version>/", views.workload, name="workload_version"),
    path("libraries/", views.libraries, name="libraries"),
    path("libraries/<slug:slug>/", views.library, name="library"),
    path("libraries/<slug:slug>/v/<int:version>/", views.library, name="library_version"),
]
