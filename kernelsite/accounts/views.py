"""Log-in page: Django's, with a limit on attempts."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib.auth import views

from kernelsite.accounts.forms import LoginForm

if TYPE_CHECKING:
    from django.http import HttpResponse


class LoginView(views.LoginView):
    """Answers 429 to whoever tries too often."""

    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_invalid(self, form: Any) -> HttpResponse:
        """Show the form again, with its errors."""
        response = super().form_invalid(form)
        if form.has_error("__all__", code="too_many"):
            response.status_code = HTTPStatus.TOO_MANY_REQUESTS
        return response
