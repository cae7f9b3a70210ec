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
from kernelsite.endpoints.models import ModelEndpoint, Price

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
    team = managed_team(request)
    form = EndpointForm(team, request.POST or None)
    today = PriceForm(
        request.POST or None, prefix="price", empty_permitted=True, use_required_attribute=False
    )
    if request.method == "POST" and form.is_valid() and today.is_valid():
        row = add(request, form, today)
        messages.success(request, f"{row.name} is added. Test the connection before a search relies on it.")
        return redirect(row)
    return _form_page(request, form, price=today)


def add(request: TeamRequest, form: EndpointForm, price: PriceForm | None = None) -> ModelEndpoint:
    """Write a new model from valid forms, with a price when the form holds one."""
    row = form.save(commit=False)
    row.created_by = request.user if isinstance(request.user, User) else None
    with transaction.atomic():
        row.save()
        if price is not None and price.has_changed():
            price.instance.endpoint = row
            price.save()
        audit.record(request, "add", row, after=_told(row, SETTINGS))
    return row


@never_cache
@require_http_methods(["GET", "POST"])
def endpoint(request: TeamRequest, endpoint_id: int) -> HttpResponse:
    """One model: its settings, prices, and the result of its last test."""
    row = own_endpoint(request, endpoint_id)
    if request.method == "GET":
        return _form_page(request, EndpointForm(row.team, instance=row), row=row)
    form = EndpointForm(managed_team(request), request.POST, instance=row)
    if not form.is_valid():
        return _form_page(request, form, row=own_endpoint(request, endpoint_id))
    lost = form.loses_key
    change(request, row, form)
    if lost:
        messages.warning(
            request, "The address changed, so the stored key was dropped; type the key of the new one."
        )
    else:
        messages.success(request, f"{row.name} is saved.")
    return redirect(row)


def change(request: TeamRequest, row: ModelEndpoint, form: EndpointForm) -> None:
    """Write what a valid form says of a model."""
    with transaction.atomic():
        before = _told(own_endpoint(request, row.pk), SETTINGS)
        form.save()
        audit.record(request, "change", row, before=before, after=_told(row, SETTINGS))


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
    row = own_endpoint(request, endpoint_id)
    perform(request, row, action)
    if action == "delete":
        messages.success(request, f"{row.name} is deleted, and its key with it.")
        return redirect("endpoints:list")
    if action == "test" and not row.is_reachable:
        messages.error(request, f"{row.name}: {row.test_outcome.replace('_', ' ')}.")
    else:
        messages.success(request, f"{row.name} {'answers' if action == 'test' else f'is {action}d'}.")
    return redirect(row)


def perform(request: TeamRequest, row: ModelEndpoint, action: str) -> None:
    """Test, disable, enable or delete a model.

    Raises:
        Http404: there is no such action.
    """
    match action:
        case "test":
            audit.record(request, "test", row, after={"outcome": probe(row)})
        case "disable" | "enable":
            row.is_disabled = action == "disable"
            with transaction.atomic():
                row.save(update_fields=["is_disabled"])
                audit.record(request, action, row)
        case "delete":
            with transaction.atomic():
                audit.record(request, "delete", row, before=_told(row, SETTINGS))
                _delete(row)
        case _:
            raise Http404


def _delete(row: ModelEndpoint) -> None:
    """The row stays for the calls that were made over it; its key does not."""
    row.set_key("")
    row.is_disabled, row.deleted_at = True, timezone.now()
    row.save(update_fields=["sealed_key", "key_hint", "is_disabled", "deleted_at"])


@require_POST
def add_price(request: TeamRequest, endpoint_id: int) -> HttpResponse:
    """A price from a day on; it ends the one before it."""
    team = managed_team(request)
    row = own_endpoint(request, endpoint_id)
    form = PriceForm(request.POST)
    if not form.is_valid():
        return _form_page(request, EndpointForm(team, instance=row), row=row, price=form)
    save_price(request, row, form)
    messages.success(request, "The price is added.")
    return redirect(row)


def save_price(request: TeamRequest, row: ModelEndpoint, form: PriceForm) -> None:
    """Write the price of a valid form."""
    form.instance.endpoint = row
    with transaction.atomic():
        form.save()
        audit.record(request, "add price", row, after=_told(form.instance, PRICE))


@require_POST
@asks(Act.KEEP_MODELS)
def drop_price(request: TeamRequest, endpoint_id: int, price_id: int) -> HttpResponse:
    """Take a price away; calls that were charged by it keep what they were charged."""
    row = own_endpoint(request, endpoint_id)
    forget_price(request, row, price_id)
    messages.success(request, "The price is gone.")
    return redirect(row)


def forget_price(request: TeamRequest, row: ModelEndpoint, price_id: int) -> None:
    """Delete a price of a model."""
    found = get_object_or_404(row.prices, pk=price_id)
    with transaction.atomic():
        audit.record(request, "drop price", row, before=_told(found, PRICE))
        found.delete()


def own_endpoint(request: TeamRequest, endpoint_id: int) -> ModelEndpoint:
    """The endpoint, when it is the team's; others do not learn that it exists."""
    return get_object_or_404(
        ModelEndpoint.objects.of_team(request.team).select_related("team"), pk=endpoint_id
    )


def _may_change(request: TeamRequest) -> bool:
    return may(request.role, Act.KEEP_MODELS)


def managed_team(request: TeamRequest) -> Team:
    """The team, for who may change its models."""
    demand(request.role, Act.KEEP_MODELS)
    assert request.team is not None  # a role is a role in a team
    return request.team


def _told(row: ModelEndpoint | Price, names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of a row for the audit trail; a key is never among them."""
    return {name: str(getattr(row, name)) for name in names}
