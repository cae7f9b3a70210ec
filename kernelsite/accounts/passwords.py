"""Pages of a forgotten password and of a confirmed e-mail address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model, views
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kernelsite.accounts import audit, letters, sessions
from kernelsite.accounts.addresses import client_address

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse, HttpResponseBase

    from kernelsite.accounts.middleware import TeamRequest


class ForgottenForm(forms.Form):
    """Where to send the link."""

    email = forms.EmailField(
        label="E-mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )


@never_cache
@login_not_required
@require_http_methods(["GET", "POST"])
def forgotten(request: HttpRequest) -> HttpResponse:
    """Take the wish for a link; the answer is the same for every address."""
    form = ForgottenForm(request.POST or None)
    sent = request.method == "POST" and form.is_valid()
    if sent:
        letters.wish_reset(form.cleaned_data["email"], client_address(request))
    status = 422 if form.errors else 200
    return render(request, "accounts/forgotten.html", {"form": form, "sent": sent}, status=status)


# Django's own decorators are on its `dispatch`, which is overridden here.
@method_decorator([sensitive_post_parameters(), never_cache, login_not_required], name="dispatch")
class ResetView(views.PasswordResetConfirmView):
    """Django's page behind the link. A new password ends every session of the person."""

    template_name = "accounts/reset.html"
    success_url = reverse_lazy("accounts:login")

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The link must not reach another site by its own address."""
        response: HttpResponseBase = super().dispatch(*args, **kwargs)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        """Save it, end all sessions, and tell the trails of the person's teams."""
        with transaction.atomic():
            response = super().form_valid(form)
            sessions.end(form.user.pk)
            audit.write_of_person(self.request, form.user, "reset password")
        messages.success(self.request, "Your password is changed. Log in with it.")
        return response


@never_cache
@require_http_methods(["GET", "POST"])
def address(request: TeamRequest, token: str) -> HttpResponse:
    """Confirm an e-mail address, by POST, as the person it belongs to."""
    user = get_user_model().objects.get(pk=request.user.pk or 0)
    email = letters.confirmed_address(user, token)
    if email is None:
        raise Http404
    if request.method == "GET":
        response = render(request, "accounts/address.html", {"email": email})
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
    before, user.email = {"email": user.email}, email
    with transaction.atomic():
        user.save(update_fields=["email"])
        audit.record(request, "change address", user, before=before, after={"email": email})
    messages.success(request, f"You are reached at {email} now.")
    return redirect("team:profile")
