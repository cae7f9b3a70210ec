"""Addresses of comparisons, and of the launch form, which can launch one."""

from __future__ import annotations

from django.urls import path

from kernelsite.compare import launch_page, views

app_name = "compare"

urlpatterns = [
    path("searches/new/", launch_page.new, name="new"),
    path("compare/", views.comparisons, name="comparisons"),
    path("compare/<int:comparison_id>/", views.comparison, name="comparison"),
    path("compare/<int:comparison_id>/curves.json", views.curves_json, name="curves"),
]
