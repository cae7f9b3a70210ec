"""Addresses of a search's calls to models; under `searches/`."""

from __future__ import annotations

from django.urls import path

from kernelsite.searches import caps
from kernelsite.searches.pages import transcript

app_name = "calls"

urlpatterns = [
    path("<int:search_id>/calls/", transcript.calls, name="list"),
    path("<int:search_id>/calls.jsonl", transcript.calls_jsonl, name="jsonl"),
    path("<int:search_id>/calls/<int:call_id>/", transcript.call, name="call"),
    path("<int:search_id>/calls/<int:call_id>.json", transcript.call_json, name="json"),
    path("<int:search_id>/caps", caps.move, name="caps"),
]
