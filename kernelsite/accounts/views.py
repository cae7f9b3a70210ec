"""Log-in page: Django's, with a limit on attempts. Log-out, which reaches open sockets too."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib.auth import views

from kernelsite.accounts import bell
from kernelsite.accounts.forms import LoginForm
from kernelsite.accounts.session_store import note_place

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


class LoginView(views.LoginView):
    """Answers 429 to whoever tries too often."""

    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_valid(self, form: Any) -> HttpResponse:
        """Log in, and note from where."""
        response = super().form_valid(form)
        note_place(self.request)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Show the form again, with its errors."""
        response = super().form_invalid(form)
        if form.has_error("__all__", code="too_many"):
            response.status_code = HTTPStatus.TOO_MANY_REQUESTS
        return response


class LogoutView(views.LogoutView):
    """By POST only."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """End the session, then have sockets notice."""
        user_id = request.user.pk
        response: HttpResponse = super().post(request, *args, **kwargs)
        if user_id is not None:
            bell.ring_later(user_id)
        return response
