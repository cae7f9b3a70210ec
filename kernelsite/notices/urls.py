"""Addresses of notices, of a person's wishes, and of a team's webhooks."""

from __future__ import annotations

from django.urls import path

from kernelsite.notices import inbox, webhook_pages, wishes_page

app_name = "notices"

urlpatterns = [
    path("notices/", inbox.inbox, name="inbox"),
    path("notices/read", inbox.read, name="read"),
    path("settings/notifications/", wishes_page.wishes, name="settings"),
    path("settings/webhooks/", webhook_pages.webhooks, name="webhooks"),
    path("settings/webhooks/new", webhook_pages.new, name="new_webhook"),
    path("settings/webhooks/<int:webhook_id>/", webhook_pages.webhook, name="webhook"),
    path("settings/webhooks/<int:webhook_id>/<str:action>", webhook_pages.act, name="act"),
    path(
        "settings/webhooks/<int:webhook_id>/deliveries/<int:delivery_id>/again",
        webhook_pages.again,
        name="again",
    ),
]
