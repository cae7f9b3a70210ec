"""Pages of webhooks: list, settings, log of deliveries, test, redelivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, demand, may
from kernelsite.endpoints import reach
from kernelsite.endpoints.vault import SealedKeyError
from kernelsite.notices import courier
from kernelsite.notices.models import Delivery, DeliveryState, Event, Notice, Webhook
from kernelsite.notices.models.webhook import new_secret
from kernelsite.notices.wishes_page import EVENTS

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

PER_PAGE = 30
TOLD = ("name", "host", "style", "events")
"""Columns that the audit trail shows; address and secret are not among them."""


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """A webhook; its address is typed in and never shown again."""

    url = forms.CharField(
        label="Address",
        max_length=1000,
        required=False,
        widget=forms.URLInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "https://"}
        ),
    )
    events = forms.MultipleChoiceField(
        choices=[(event.value, event.label) for event in EVENTS], widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = Webhook
        fields = ("name", "style", "events")
        labels = {"style": "What it takes"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        is_new = self.instance.pk is None
        self.fields["url"].required = is_new
        self.fields["url"].help_text = (
            "Sealed at rest, and not shown again." if is_new else "Empty: it stays as it is."
        )
        self.order_fields(["name", "url", "style", "events"])

    def clean_url(self) -> str:
        """An address that this installation may call."""
        url = str(self.cleaned_data["url"]).strip()
        if url and (problem := _problem(url)):
            raise forms.ValidationError(problem)
        return url


def _problem(url: str) -> str:
    """What is wrong with an address; empty when it may be called."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for a port that is no number
    except ValueError:
        return "That is no address."
    schemes = {"https"} if settings.MODEL_HOSTS == "public" else {"http", "https"}
    if parts.scheme not in schemes or not parts.hostname or not (url.isascii() and url.isprintable()):
        return f"An address looks like {' or '.join(f'{word}://host/path' for word in sorted(schemes))}."
    if parts.username or parts.password or parts.fragment or " " in url:
        return "An address holds no user, password, blank or fragment."
    refused = reach.refusal(url)
    return f"{refused}. {reach.words()}" if refused else ""


@never_cache
@require_GET
def webhooks(request: TeamRequest) -> HttpResponse:
    """All webhooks of the team."""
    return _list_page(request, WebhookForm(initial={"events": [event.value for event in EVENTS]}))


def _list_page(
    request: TeamRequest, form: WebhookForm, *, secret: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "webhooks": Webhook.objects.of_team(request.team),
        "form": form,
        "secret": secret,
        "reach": reach.words(),
        "may_change": may(request.role, Act.KEEP_WEBHOOKS),
    }
    return render(request, "notices/webhooks.html", context, status=status)


@sensitive_post_parameters("url")
@never_cache
@require_POST
@asks(Act.KEEP_WEBHOOKS)
def new(request: TeamRequest) -> HttpResponse:
    """Add one and show its secret, this once."""
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _list_page(request, form, status=422)
    secret = add(request, form)
    return _page(request, form.instance, WebhookForm(instance=form.instance), secret=secret)


def add(request: TeamRequest, form: WebhookForm) -> str:
    """Write the webhook of a valid form; its secret, this once."""
    row, secret = form.instance, new_secret()
    row.team = request.team
    row.created_by = request.user if isinstance(request.user, User) else None
    row.seal(form.cleaned_data["url"], secret)
    with transaction.atomic():
        form.save()
        audit.record(request, "add", row, after=_told(row))
    return secret


@sensitive_post_parameters("url")
@never_cache
@require_http_methods(["GET", "POST"])
def webhook(request: TeamRequest, webhook_id: int) -> HttpResponse:
    """Settings and deliveries of one."""
    row = own_webhook(request, webhook_id)
    if request.method == "GET":
        return _page(request, row, WebhookForm(instance=row))
    demand(request.role, Act.KEEP_WEBHOOKS)
    before, form = _told(row), WebhookForm(request.POST, instance=row)
    if not form.is_valid():
        return _page(request, own_webhook(request, webhook_id), form, status=422)
    if form.cleaned_data["url"]:
        # Who receives from now on is somebody else, perhaps: the old secret must not sign for them.
        secret = new_secret() if urlsplit(form.cleaned_data["url"]).hostname != row.host else _secret(row)
        row.seal(form.cleaned_data["url"], secret)
    with transaction.atomic():
        form.save()
        audit.record(request, "change", row, before=before, after=_told(row))
    messages.success(request, f"{row.name} is saved.")
    return redirect(row)


def _secret(row: Webhook) -> str:
    try:
        return row.unseal()[1]
    except SealedKeyError:
        return new_secret()


def _page(
    request: TeamRequest, row: Webhook, form: WebhookForm, *, secret: str = "", status: int = 200
) -> HttpResponse:
    deliveries = row.deliveries.select_related("notice")
    context = {
        "row": row,
        "form": form,
        "secret": secret,
        "page": Paginator(deliveries, PER_PAGE).get_page(request.GET.get("page")),
        "may_change": may(request.role, Act.KEEP_WEBHOOKS),
    }
    return render(request, "notices/webhook.html", context, status=status)


@never_cache
@require_POST
@asks(Act.KEEP_WEBHOOKS)
def act(request: TeamRequest, webhook_id: int, action: str) -> HttpResponse:
    """Test, switch on or off, make a new secret, delete."""
    row = own_webhook(request, webhook_id)
    match action:
        case "test":
            return _test(request, row)
        case "secret":
            return _renew(request, row)
        case "on" | "off":
            switch(request, row, is_on=action == "on")
            messages.success(request, f"{row.name} is {action}.")
        case "delete":
            remove(request, row)
            messages.success(request, f"{row.name} is deleted, with its log.")
            return redirect("notices:webhooks")
        case _:
            raise Http404
    return redirect(row)


def switch(request: TeamRequest, row: Webhook, *, is_on: bool) -> None:
    """Switch it on or off; failures are counted anew."""
    row.off_at, row.off_reason = (None, "") if is_on else (timezone.now(), "by a person")
    row.failures = 0
    with transaction.atomic():
        row.save(update_fields=["off_at", "off_reason", "failures"])
        audit.record(request, f"switch {'on' if is_on else 'off'}", row)


def remove(request: TeamRequest, row: Webhook) -> None:
    """Delete it with its log."""
    with transaction.atomic():
        audit.record(request, "delete", row, before=_told(row))
        row.delete()


def _test(request: TeamRequest, row: Webhook) -> HttpResponse:
    """Test it, and say what came of it."""
    delivery = try_now(request, row)
    if delivery.state == DeliveryState.SENT:
        messages.success(request, f"{row.name} took the test.")
    else:
        last = delivery.tries[-1] if delivery.tries else {"error": "", "status": 0}
        messages.error(request, f"{row.name}: {last['error'] or 'status {}'.format(last['status'])}.")
    return redirect(row)


def try_now(request: TeamRequest, row: Webhook) -> Delivery:
    """Send one delivery now, in this request, so that its outcome can be told."""
    title = f"{request.user.get_username()} tests the webhook {row.name}"
    with transaction.atomic():
        notice = Notice.objects.create(
            team=row.team,
            event=Event.TEST,
            title=title[:200],
            key=f"test-{timezone.now().timestamp()}-{row.pk}",
            link=row.get_absolute_url(),
        )
        delivery = Delivery.objects.create(notice=notice, webhook=row)
        audit.record(request, "test", row)
    if Delivery.objects.claim(delivery.pk, timezone.now()):
        courier.deliver(delivery.pk)
    delivery.refresh_from_db()
    return delivery


def _renew(request: TeamRequest, row: Webhook) -> HttpResponse:
    """A new secret, shown this once; the old one signs nothing any more."""
    secret = new_secret()
    try:
        row.seal(row.unseal()[0], secret)
    except SealedKeyError as error:
        messages.error(request, f"{error}.")
        return redirect(row)
    with transaction.atomic():
        row.save(update_fields=["sealed", "host"])
        audit.record(request, "new secret", row)
    return _page(request, row, WebhookForm(instance=row), secret=secret)


@require_POST
@asks(Act.KEEP_WEBHOOKS)
def again(request: TeamRequest, webhook_id: int, delivery_id: int) -> HttpResponse:
    """Send a delivery once more, under the same id; one that is waiting anyway stays as it is."""
    row = own_webhook(request, webhook_id)
    delivery = send_again(request, row, delivery_id)
    messages.info(request, f"{delivery.notice} is sent again within seconds.")
    return redirect(row)


def send_again(request: TeamRequest, row: Webhook, delivery_id: int) -> Delivery:
    """Make a delivery due again, unless it is waiting anyway."""
    delivery = get_object_or_404(row.deliveries.select_related("notice"), pk=delivery_id)
    with transaction.atomic():
        if Delivery.objects.again(delivery.pk):
            audit.record(request, "send again", row, after={"delivery": str(delivery.uid)})
    return delivery


def own_webhook(request: TeamRequest, webhook_id: int) -> Webhook:
    """The webhook, when it is the team's; others do not learn that it exists."""
    return get_object_or_404(Webhook.objects.of_team(request.team).select_related("team"), pk=webhook_id)


def _told(row: Webhook) -> dict[str, Any]:
    return {name: getattr(row, name) for name in TOLD}
