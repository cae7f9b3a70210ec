"""Registers the checks of a site that others reach."""

from __future__ import annotations

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Processes, health, headers, logs."""

    name = "kernelsite.ops"

    def ready(self) -> None:
        """Checks count once their module is imported."""
        from kernelsite.ops import checks  # noqa: F401
