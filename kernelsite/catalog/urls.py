"""Addresses of workloads and action libraries."""

from __future__ import annotations

from django.urls import path

from kernelsite.catalog import (
    exports,
    import_pages,
    library_edit,
    library_pages,
    probe_pages,
    workload_edit,
    workload_pages,
)

app_name = "catalog"

urlpatterns = [
    path("workloads/", workload_pages.workloads, name="workloads"),
    path("workloads/workloads.csv", workload_pages.workloads_csv, name="workloads_csv"),
    path("workloads/new/", workload_edit.new, name="workload_new"),
    path("workloads/import/", import_pages.take_in, name="workload_import"),
    path("workloads/import/program/", import_pages.program, name="workload_import_program"),
    path("workloads/imports/<int:pk>/", import_pages.report, name="workload_import_report"),
    path("workloads/imports/<int:pk>/publish/", import_pages.publish, name="workload_import_publish"),
    path("workloads/imports/<int:pk>/probes/", probe_pages.run, name="probe_run"),
    path("workloads/imports/<int:pk>/probes/<int:probe>/cancel/", probe_pages.cancel, name="probe_cancel"),
    path("workloads/imports/<int:pk>/probes/<int:probe>/", probe_pages.operators, name="probe_operators"),
    path("workloads/imports/<int:pk>/probes/<int:probe>/make/", probe_pages.make, name="probe_make"),
    path("workloads/diff/", workload_pages.difference, name="workload_diff"),
    path("workloads/drafts/<slug:slug>/", workload_edit.draft, name="workload_draft"),
    path("workloads/drafts/<slug:slug>/check/", workload_edit.check, name="workload_check"),
    path("workloads/validations/<int:pk>/cancel/", workload_edit.cancel, name="validation_cancel"),
    path("workloads/<slug:slug>/", workload_pages.workload, name="workload"),
    path("workloads/<slug:slug>/v/<int:version>/", workload_pages.workload, name="workload_version"),
    path("workloads/<slug:slug>/v/<int:version>/export/<slug:form>/", exports.export, name="workload_export"),
    path("workloads/<slug:slug>/v/<int:version>/fork/", workload_edit.fork, name="workload_fork"),
    path("workloads/<slug:slug>/v/<int:version>/<str:step>/", workload_edit.act, name="workload_act"),
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
