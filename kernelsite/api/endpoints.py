"""Model endpoints. Keys are written and never read."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Router, Status

from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api import records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.schemas import EndpointBody, EndpointChange, PriceBody
from kernelsite.api.searches import checked
from kernelsite.endpoints import views
from kernelsite.endpoints.forms import EndpointForm, PriceForm
from kernelsite.endpoints.models import ModelEndpoint, Price

COLUMNS = (
    "id", "name", "base_url", "model", "key_hint", "temperature", "max_output_tokens", "context_tokens",
    "json_schema", "streaming", "concurrency", "requests_per_minute", "deadline_s", "is_disabled", "test_outcome",
    "tested_at",
)  # fmt: skip

router = Router(tags=["models"])


@router.get("/models", response=list[records.EndpointAnswer], url_name="models")
def models(request: Any) -> list[dict[str, Any]]:
    """All models of the team with their prices."""
    demand_scope(request, Scope.READ)
    return [_shown(row) for row in ModelEndpoint.objects.of_team(request.team).prefetch_related("prices")]


@router.get("/models/{int:endpoint_id}", response=records.EndpointAnswer, url_name="model")
def model(request: Any, endpoint_id: int) -> dict[str, Any]:
    """One model."""
    demand_scope(request, Scope.READ)
    return _shown(views.own_endpoint(request, endpoint_id))


def _shown(row: ModelEndpoint) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in COLUMNS}
    return told | {"has_key": bool(row.sealed_key), "prices": [_price(each) for each in row.prices.all()]}


def _price(row: Price) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in ("id", "input_usd", "cached_usd", "output_usd")}
    until = row.valid_until.isoformat() if row.valid_until else None
    return told | {"valid_from": row.valid_from.isoformat(), "valid_until": until}


@router.post("/models", response={201: records.EndpointAnswer}, url_name="add_model")
def add(request: Any, body: EndpointBody) -> Status[Any]:
    """Add a model."""
    demand_act(request, Act.KEEP_MODELS)
    form = EndpointForm(request.team, body.model_dump())
    checked(form)
    return Status(201, _shown(views.add(request, form)))


@router.patch("/models/{int:endpoint_id}", response=records.EndpointAnswer, url_name="change_model")
def change(request: Any, endpoint_id: int, body: EndpointChange) -> dict[str, Any]:
    """Change a model; fields left out stay as they are."""
    demand_act(request, Act.KEEP_MODELS)
    row = views.own_endpoint(request, endpoint_id)
    now = {name: getattr(row, name) for name in EndpointForm.Meta.fields}
    form = EndpointForm(request.team, now | body.model_dump(exclude_unset=True), instance=row)
    checked(form)
    views.change(request, row, form)
    return _shown(views.own_endpoint(request, endpoint_id))


@router.delete("/models/{int:endpoint_id}", response={204: None}, url_name="delete_model")
def delete(request: Any, endpoint_id: int) -> Status[None]:
    """Delete a model and its key; transcripts of its calls stay."""
    demand_act(request, Act.KEEP_MODELS)
    views.perform(request, views.own_endpoint(request, endpoint_id), "delete")
    return Status(204, None)


@router.post("/models/{int:endpoint_id}/prices", response=records.EndpointAnswer, url_name="add_price")
def add_price(request: Any, endpoint_id: int, body: PriceBody) -> dict[str, Any]:
    """A price from a day on; it ends the one before it."""
    demand_act(request, Act.KEEP_MODELS)
    row = views.own_endpoint(request, endpoint_id)
    form = PriceForm(body.model_dump())
    checked(form)
    views.save_price(request, row, form)
    return _shown(views.own_endpoint(request, endpoint_id))


@router.delete("/models/{int:endpoint_id}/prices/{int:price_id}", response={204: None}, url_name="drop_price")
def drop_price(request: Any, endpoint_id: int, price_id: int) -> Status[None]:
    """Take a price away; calls that were charged by it keep what they were charged."""
    demand_act(request, Act.KEEP_MODELS)
    views.forget_price(request, views.own_endpoint(request, endpoint_id), price_id)
    return Status(204, None)


@router.post("/models/{int:endpoint_id}/{action}", response=records.EndpointAnswer, url_name="act_on_model")
def act(request: Any, endpoint_id: int, action: Literal["test", "disable", "enable"]) -> dict[str, Any]:
    """Ask one small question, disable, or enable."""
    demand_act(request, Act.KEEP_MODELS)
    row = views.own_endpoint(request, endpoint_id)
    views.perform(request, row, action)
    return _shown(row)
