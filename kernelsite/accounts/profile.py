"""A person's own page: how the site looks, e-mail address, password, sessions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model, logout, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.db import transaction
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from kernelsite.accounts import audit, letters, sessions
from kernelsite.accounts.addresses import client_address
from kernelsite.accounts.models import LoginAttempt, Profile, Session

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest


@cache
def zones() -> list[str]:
    """Names of all time zones; looking them up reads hundreds of files."""
    return sorted(available_timezones())


class LookForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """Theme, time zone, density, shortcuts."""

    class Meta:
        model = Profile
        fields = ("theme", "density", "time_zone", "shortcuts")
        labels = {"time_zone": "Time zone", "shortcuts": "Keyboard shortcuts of single letters"}
        widgets = {"time_zone": forms.TextInput(attrs={"list": "zones", "autocomplete": "off"})}

    def clean_time_zone(self) -> str:
        """One that this machine knows."""
        name = str(self.cleaned_data["time_zone"])
        if name not in zones():
            raise forms.ValidationError("Take one from the list, e.g. Europe/Berlin.")
        return name


class AddressForm(forms.Form):
    """Another e-mail address; the password shows that it is not somebody at an open browser."""

    email = forms.EmailField(label="E-mail address", max_length=254)
    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, request: TeamRequest, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request, self.user = request, user

    def clean_password(self) -> str:
        """The right one, and not guessed."""
        _check_password(self.request, self.user, str(self.cleaned_data["password"]))
        return ""


class PasswordForm(PasswordChangeForm):
    """Django's form, with the limit on guesses of the log-in page."""

    def __init__(self, request: TeamRequest, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.request = request
        # It is not the first thing on its page.
        del self.fields["old_password"].widget.attrs["autofocus"]

    def clean_old_password(self) -> str:
        """The right one, and not guessed."""
        _check_password(self.request, self.user, str(self.cleaned_data["old_password"]))
        return str(self.cleaned_data["old_password"])


def _check_password(request: TeamRequest, user: Any, password: str) -> None:
    name, here = user.get_username(), client_address(request)
    LoginAttempt.objects.note(name, here)
    if LoginAttempt.objects.too_many(name, here):
        raise forms.ValidationError(f"Too many attempts. Wait {LoginAttempt.WINDOW_S // 60} minutes.")
    if not user.check_password(password):
        raise forms.ValidationError("That is not your password.")
    LoginAttempt.objects.forget(name, here)


@never_cache
@require_http_methods(["GET", "POST"])
def profile(request: TeamRequest) -> HttpResponse:
    """Show everything; by POST, save how the site looks. Nobody else sees that, so the trail does not tell it."""
    row = Profile.objects.filter(user=request.user.pk or 0).first() or Profile(user_id=request.user.pk or 0)
    form = LookForm(request.POST if request.method == "POST" else None, instance=row)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("team:profile")
    return _page(request, look=form)


def _page(
    request: TeamRequest,
    *,
    look: LookForm | None = None,
    email: AddressForm | None = None,
    word: PasswordForm | None = None,
) -> HttpResponse:
    user = _user(request)
    failed = any(form is not None and form.errors for form in (look, email, word))
    context = {
        "look": look or LookForm(instance=Profile.objects.of(user)),
        "email_form": email or AddressForm(request, user),
        "password_form": word or PasswordForm(request, user),
        "person": user,
        "zones": zones(),
        "sessions": Session.objects.of(user.pk).live().exclude(number=None).order_by("-seen_at"),
        "here": request.session.session_key,
    }
    return render(request, "accounts/profile.html", context, status=422 if failed else 200)


@sensitive_post_parameters("password")
@never_cache
@require_POST
def email(request: TeamRequest) -> HttpResponse:
    """Send a link to another address; it counts once the link is opened."""
    user = _user(request)
    form = AddressForm(request, user, request.POST)
    if not form.is_valid():
        return _page(request, email=form)
    wanted = form.cleaned_data["email"]
    letters.wish_address(user, wanted, client_address(request))
    messages.info(request, f"A link is on its way to {wanted}. Your address changes when you open it.")
    return redirect("team:profile")


@sensitive_post_parameters()
@never_cache
@require_POST
def password(request: TeamRequest) -> HttpResponse:
    """Change the password; this session stays, every other one ends."""
    form = PasswordForm(request, _user(request), request.POST)
    if not form.is_valid():
        return _page(request, word=form)
    with transaction.atomic():
        user = form.save()
        update_session_auth_hash(request, user)
        sessions.end(user.pk, keep=request.session.session_key or "")
        audit.record(request, "change password", user)
    messages.success(request, "Your password is changed, and every other session is logged out.")
    return redirect("team:profile")


@require_POST
def end_sessions(request: TeamRequest) -> HttpResponse:
    """End one session by its number, all others, or all; ending what has ended is no error."""
    user, word = _user(request), request.POST.get("which", "")
    here = request.session.session_key or ""
    with transaction.atomic():
        match word:
            case "others":
                count = sessions.end(user.pk, keep=here)
            case "all":
                count = sessions.end(user.pk)
            case _:
                count = sessions.end(user.pk, number=_number(word))
        audit.record(request, "log out", user, after={"sessions": count})
    if not Session.objects.live().filter(session_key=here).exists():
        logout(request)
        return redirect("accounts:login")
    messages.success(request, f"{count} session{'s' * (count != 1)} logged out.")
    return redirect("team:profile")


def _number(word: str) -> str:
    try:
        return str(UUID(word))
    except ValueError:
        raise Http404 from None


def _user(request: TeamRequest) -> User:
    return get_user_model().objects.select_related("profile").get(pk=request.user.pk or 0)
