"""Addresses of comparisons, and of the launch form, which can launch one."""

from __future__ import annotations

from django.urls import path, re_path

from kernelsite.compare import launch_page, parts, views, views_kept

app_name = "compare"

urlpatterns = [
    path("searches/new/", launch_page.new, name="new"),
    path("compare/", views.comparisons, name="comparisons"),
    path("compare/pick/", views.pick, name="pick"),
    path("compare/parts/", parts.parts, name="parts"),
    path("compare/save/", views.save, name="save"),
    path("compare/curves.json", views.curves_json, name="curves"),
    re_path(r"^compare/data\.(?P<kind>json|csv)$", views.data, name="data"),
    path("views/", views_kept.views, name="views"),
    re_path(r"^views/(?P<key>[\w-]{1,20})/$", views_kept.view, name="view"),
    re_path(r"^views/(?P<key>[\w-]{1,20})/forget/$", views_kept.forget_view, name="forget_view"),
    path("compare/<int:comparison_id>/", views.comparison, name="comparison"),
    re_path(r"^compare/(?P<slug>[a-z0-9-]{1,60})/$", views.saved, name="saved"),
    re_path(r"^compare/(?P<slug>[a-z0-9-]{1,60})/forget/$", views.forget, name="forget"),
]
