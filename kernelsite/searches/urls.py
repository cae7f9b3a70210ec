"""Addresses of pages about searches; live data and actions are in `live_urls`, the launch form in `kernelsite.compare`."""

from __future__ import annotations

from django.urls import include, path, re_path

from kernelsite.searches.pages import candidate, downloads, home, listing, search, structure

app_name = "searches"

urlpatterns = [
    path("", home.home, name="home"),
    path("find/", home.find, name="find"),
    path("searches/", listing.searches, name="searches"),
    path("searches/running.json", home.running_json, name="running_json"),
    path("searches/<int:search_id>/", search.search, name="search"),
    path("searches/", include("kernelsite.searches.live_urls")),
    re_path(r"^structures/(?P<key>\d{1,9}\.\d{1,6})/$", structure.structure, name="structure"),
    re_path(
        r"^structures/(?P<key>\d{1,9}\.\d{1,6})/candidates\.csv$",
        downloads.structure_csv,
        name="structure_csv",
    ),
    re_path(r"^candidates/(?P<key>\d{1,9}\.\d{1,6}\.\d{1,6}[a-z]?)/$", candidate.candidate, name="candidate"),
    re_path(
        r"^candidates/(?P<key>\d{1,9}\.\d{1,6}\.\d{1,6}[a-z]?)/(?P<kind>source|standalone|hub|solution|traces|contract|evaluation)/$",
        downloads.candidate_file,
        name="candidate_file",
    ),
]
