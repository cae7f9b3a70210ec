"""Pages of model endpoints. Everybody in the team sees them; maintainers and administrators change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, demand, may
from kernelsite.endpoints import reach
from kernelsite.endpoints.connection import probe
from kernelsite.endpoints.forms import ADDRESSES, EndpointForm, PriceForm
from kernelsite.endpoints.models import ANSWERING, ModelEndpoint, Price

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team

SETTINGS = ("name", "base_url", "model", "key_hint", "concurrency", "is_disabled")
PRICE = ("input_usd", "cached_usd", "output_usd", "valid_from", "valid_until")
"""Columns that the audit trail shows."""


@require_GET
def endpoints(request: TeamRequest) -> HttpResponse:
    """All models of the team."""
    rows = ModelEndpoint.objects.of_team(request.team).prefetch_related("prices")
    today = timezone.localdate()
    listed = [(row, row.prices_on(today)) for row in rows]
    return render(request, "endpoints/list.html", {"endpoints": listed, "may_change": _may_change(request)})


@never_cache
@require_http_methods(["GET", "POST"])
def new(request: TeamRequest) -> HttpResponse:
    """Add a model, with today's price where it is known."""
    team = _managed_team(request)
    form = EndpointForm(team, request.POST or None)
    price = PriceForm(
        request.POST or None, prefix="price", empty_permitted=True, use_required_attribute=False
    )
    if request.method == "POST" and form.is_valid() and price.is_valid():
        row = form.save(commit=False)
        row.created_by = request.user if isinstance(request.user, User) else None
        with transaction.atomic():
            row.save()
            if price.has_changed():
                price.instance.endpoint = row
                price.save()
            audit.record(request, "add", row, after=_told(row, SETTINGS))
        messages.success(request, f"{row.name} is added. Test the connection before a search relies on it.")
        return redirect(row)
    return _form_page(request, form, price=price)


@never_cache
@require_http_methods(["GET", "POST"])
def endpoint(request: TeamRequest, endpoint_id: int) -> HttpResponse:
    """One model: its settings, prices, and the result of its last test."""
    row = _own(request, endpoint_id)
    if request.method == "GET":
        return _form_page(request, EndpointForm(row.team, instance=row), row=row)
    form = EndpointForm(_managed_team(request), request.POST, instance=row)
    if not form.is_valid():
        return _form_page(request, form, row=_own(request, endpoint_id))
    lost = form.loses_key
    with transaction.atomic():
        before = _told(_own(request, endpoint_id), SETTINGS)
        form.save()
        audit.record(request, "change", row, before=before, after=_told(row, SETTINGS))
    if lost:
        messages.warning(
            request, "The address changed, so the stored key was dropped; type the key of the new one."
        )
    else:
        messages.success(request, f"{row.name} is saved.")
    return redirect(row)


def _form_page(
    request: TeamRequest,
    form: EndpointForm,
    *,
    row: ModelEndpoint | None = None,
    price: PriceForm | None = None,
) -> HttpResponse:
    failed = bool(form.errors or (price and price.errors))
    context: dict[str, Any] = {
        "form": form,
        "row": row,
        "price_form": price or PriceForm(),
        "addresses": ADDRESSES,
        "reach": reach.words(),
        "may_change": _may_change(request),
        "today": timezone.localdate(),
    }
    if row is not None:
        in_force = row.prices.in_force(timezone.localdate()).first()
        context |= {
            "prices": list(row.prices.all()),
            "in_force": in_force.pk if in_force else None,
            "searches": row.calls.values("search").distinct().count(),
            "call_count": row.calls.count(),
        }
    return render(request, "endpoints/endpoint.html", context, status=422 if failed else 200)


@require_POST
@asks(Act.KEEP_MODELS)
def act(request: TeamRequest, endpoint_id: int, action: str) -> HttpResponse:
    """Test, disable, enable or delete."""
    row = _own(request, endpoint_id)
    match action:
        case "test":
            outcome = probe(row)
            audit.record(request, "test", row, after={"outcome": outcome})
            if outcome in ANSWERING:
                messages.success(request, f"{row.name} answers.")
            else:
                messages.error(request, f"{row.name}: {outcome.replace('_', ' ')}.")
        case "disable" | "enable":
            row.is_disabled = action == "disable"
            with transaction.atomic():
                row.save(update_fields=["is_disabled"])
                audit.record(request, action, row)
            messages.success(request, f"{row.name} is {action}d.")
        case "delete":
            with transaction.atomic():
                audit.record(request, "delete", row, before=_told(row, SETTINGS))
                _delete(row)
            messages.success(request, f"{row.name} is deleted, and its key with it.")
            return redirect("endpoints:list")
        case _:
            raise Http404
    return redirect(row)


def _delete(row: ModelEndpoint) -> None:
    """The row stays for the calls that were made over it; its key does not."""
    row.set_key("")
    row.is_disabled, row.deleted_at = True, timezone.now()
    row.save(update_fields=["sealed_key", "key_hint", "is_disabled", "deleted_at"])


@require_POST
def add_price(request: TeamRequest, endpoint_id: int) -> HttpResponse:
    """A price from a day on; it ends the one before it."""
    team = _managed_team(request)
    row = _own(request, endpoint_id)
    form = PriceForm(request.POST)
    if not form.is_valid():
        return _form_page(request, EndpointForm(team, instance=row), row=row, price=form)
    form.instance.endpoint = row
    with transaction.atomic():
        form.save()
        audit.record(request, "add price", row, after=_told(form.instance, PRICE))
    messages.success(request, "The price is added.")
    return redirect(row)


@require_POST
@asks(Act.KEEP_MODELS)
def drop_price(request: TeamRequest, endpoint_id: int, price_id: int) -> HttpResponse:
    """Take a price away; calls that were charged by it keep what they were charged."""
    row = _own(request, endpoint_id)
    price = get_object_or_404(row.prices, pk=price_id)
    with transaction.atomic():
        audit.record(request, "drop price", row, before=_told(price, PRICE))
        price.delete()
    messages.success(request, "The price is gone.")
    return redirect(row)


def _own(request: TeamRequest, endpoint_id: int) -> ModelEndpoint:
    """The endpoint, when it is the team's; others do not learn that it exists."""
    return get_object_or_404(
        ModelEndpoint.objects.of_team(request.team).select_related("team"), pk=endpoint_id
    )


def _may_change(request: TeamRequest) -> bool:
    return may(request.role, Act.KEEP_MODELS)


def _managed_team(request: TeamRequest) -> Team:
    demand(request.role, Act.KEEP_MODELS)
    assert request.team is not None  # a role is a role in a team
    return request.team


def _told(row: ModelEndpoint | Price, names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of a row for the audit trail; a key is never among them."""
    return {name: str(getattr(row, name)) for name in names}
