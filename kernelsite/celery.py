"""The site's Celery app: queues `control` and `agent`. Device queues are served by `gpuworker`."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kernelsite.settings")

app = Celery("kernelsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
