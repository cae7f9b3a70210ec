"""Addresses of workloads and action libraries."""

from __future__ import annotations

from django.urls import path

from kernelsite.catalog import library_edit, library_pages, views

app_name = "catalog"

urlpatterns = [
    path("workloads/", views.workloads, name="workloads"),
    path("workloads/<slug:slug>/", views.workload, name="workload"),
    path("workloads/<slug:slug>/v/<int:version>/", views.workload, name="workload_version"),
    path("libraries/", library_pages.libraries, name="libraries"),
    path("libraries/import/", library_edit.take_in, name="library_import"),
    path("libraries/diff/", library_pages.difference, name="library_diff"),
    path("libraries/drafts/<slug:slug>/", library_edit.draft, name="library_draft"),
    path("libraries/drafts/<slug:slug>/file/", library_edit.file, name="library_file"),
    path("libraries/drafts/<slug:slug>/export.zip", library_edit.export_draft, name="library_draft_zip"),
    path("libraries/<slug:slug>/", library_pages.library, name="library"),
    path("libraries/<slug:slug>/v/<int:version>/", library_pages.library, name="library_version"),
    path(
        "libraries/<slug:slug>/v/<int:version>/statistics/",
        library_pages.statistics,
        name="library_statistics",
    ),
    path(
        "libraries/<slug:slug>/v/<int:version>/export.<str:form>", library_pages.export, name="library_export"
    ),
    path("libraries/<slug:slug>/v/<int:version>/fork/", library_edit.fork, name="library_fork"),
    path("libraries/<slug:slug>/v/<int:version>/<str:step>/", library_edit.act, name="library_act"),
]
