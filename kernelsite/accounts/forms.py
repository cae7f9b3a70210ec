"""The log-in form, which counts attempts before it looks at a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from kernelsite.accounts.addresses import client_address
from kernelsite.accounts.models import LoginAttempt


class LoginForm(AuthenticationForm):
    """Name and password."""

    def clean(self) -> dict[str, Any]:
        """Check the password, unless there were too many attempts; a right one clears the count.

        The attempt is written before the check, so that many at the same moment cannot all slip through.
        """
        name, address = (
            self.cleaned_data.get("username", ""),
            client_address(self.request) if self.request else "",
        )
        LoginAttempt.objects.note(name, address)
        if LoginAttempt.objects.too_many(name, address):
            raise ValidationError(
                "Too many attempts. Wait %(minutes)d minutes and try again.",
                code="too_many",
                params={"minutes": LoginAttempt.WINDOW_S // 60},
            )
        cleaned = super().clean()
        LoginAttempt.objects.forget(name, address)
        return cleaned
