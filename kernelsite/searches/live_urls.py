"""Addresses of live data and actions; included by `kernelsite.searches.urls` under `searches/`."""

from __future__ import annotations

from django.urls import path

from kernelsite.searches import live_views, log_views

urlpatterns = [
    path("<int:search_id>/snapshot.json", live_views.snapshot_json, name="snapshot"),
    path("<int:search_id>/events.json", live_views.events_json, name="events"),
    path("<int:search_id>/log.json", log_views.log_json, name="log"),
    path("<int:search_id>/beliefs.json", log_views.beliefs_json, name="beliefs"),
    path("<int:search_id>/candidates.csv", log_views.candidates_csv, name="candidates_csv"),
    path("<int:search_id>/actions/<slug:action>", live_views.act, name="act"),
]
