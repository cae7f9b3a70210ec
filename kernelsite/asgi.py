"""ASGI entry point: pages over HTTP, live searches over WebSockets."""

from __future__ import annotations

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kernelsite.settings")
pages = get_asgi_application()

# Consumers import models, which the line above makes ready.
from kernelsite.ops.bodies import bounded  # noqa: E402
from kernelsite.ops.origin import SameOrigin  # noqa: E402
from kernelsite.searches.routing import websocket_urlpatterns  # noqa: E402

sockets = SameOrigin(AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))))
application = ProtocolTypeRouter({"http": bounded(pages), "websocket": sockets})
