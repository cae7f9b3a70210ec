"""WebSocket addresses of searches."""

from __future__ import annotations

from django.urls import path

from kernelsite.searches.consumers import SearchConsumer

websocket_urlpatterns = [path("ws/searches/<int:search_id>/", SearchConsumer.as_asgi())]
