"""Addresses of share links, for members and for guests."""

from __future__ import annotations

from django.urls import path, re_path

from kernelsite.shares import guests, switches, views

app_name = "shares"

urlpatterns = [
    path("shares/", views.shares, name="shares"),
    path("shares/new/", views.new, name="new"),
    path("shares/<int:share_id>/revoke", views.revoke, name="revoke"),
    path("shares/<int:share_id>/extend", views.extend, name="extend"),
    path("settings/sharing/", switches.sharing, name="settings"),
    path("settings/sharing/rules", switches.set_rules, name="set_rules"),
    path("settings/sharing/site", switches.set_site, name="set_site"),
    path("p/<str:token>/", guests.page, name="page"),
    path("p/<str:token>/data.json", guests.data, name="data"),
    path("p/<str:token>/picture.png", guests.picture, name="picture"),
    re_path(
        r"^p/(?P<token>[^/]+)/figures/(?P<name>[a-z-]{1,40})\.(?P<form>svg|png|pdf)$",
        guests.figure,
        name="figure",
    ),
]
