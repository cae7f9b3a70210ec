"""Addresses of gates, reviews and releases."""

from __future__ import annotations

from django.urls import path, re_path

from kernelsite.reviews import acts, gate_page, page, queue, release_pages

app_name = "reviews"

DEEDS = "|".join(acts.DEEDS)
FILES = "|".join(release_pages.DOWNLOADS)

urlpatterns = [
    path("searches/<int:search_id>/gate/", gate_page.gate_page, name="gate"),
    re_path(r"^structures/(?P<key>\d{1,9}\.\d{1,6})/propose/$", acts.propose, name="propose"),
    path("reviews/", queue.queue, name="queue"),
    path("reviews/next/", queue.next_, name="next"),
    path("reviews/rules", queue.rules, name="rules"),
    path("reviews/<int:review_id>/", page.review, name="review"),
    re_path(rf"^reviews/(?P<review_id>\d{{1,18}})/(?P<deed>{DEEDS})$", acts.act, name="act"),
    path("releases/<int:release_id>/", release_pages.release, name="release"),
    re_path(
        rf"^releases/(?P<release_id>\d{{1,18}})/(?P<kind>{FILES})/$",
        release_pages.release_file,
        name="release_file",
    ),
]
