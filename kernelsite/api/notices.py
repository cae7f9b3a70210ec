"""What a person was told, and the team's webhooks."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import Http404
from ninja import Query, Router, Status

from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api import records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import Before, Limit, newest
from kernelsite.api.schemas import DeliveryPage, NoticePage, ReadBody, WebhookBody
from kernelsite.api.searches import checked
from kernelsite.notices import webhook_pages as pages
from kernelsite.notices.models import Delivery, Receipt, Webhook
from kernelsite.notices.webhook_pages import WebhookForm

router = Router(tags=["notices"])


@router.get("/notices", response=NoticePage, url_name="notices")
def notices(
    request: Any,
    limit: Limit = 50,
    before: Before = None,
    unread: Annotated[bool, Query(description="only those not read yet")] = False,
) -> dict[str, Any]:
    """What the token's person was told in its team, newest first."""
    demand_scope(request, Scope.READ)
    own = Receipt.objects.of(request.user, request.team).select_related("notice")
    return newest(own.unread() if unread else own, limit, before, _notice)


def _notice(row: Receipt) -> dict[str, Any]:
    told = {name: getattr(row.notice, name) for name in ("event", "title", "text", "link", "created_at")}
    return {"id": row.pk, "read_at": row.read_at, **told}


@router.post("/notices/read", response=dict[str, int], url_name="read_notices")
def read(request: Any, body: ReadBody) -> dict[str, int]:
    """Mark one or all read; how many were not."""
    demand_scope(request, Scope.READ)
    own = Receipt.objects.of(request.user, request.team)
    if body.notice is not None:
        own = own.filter(pk=body.notice)
        if not own.exists():
            raise Http404
    return {"read": own.read()}


@router.get("/webhooks", response=list[records.WebhookAnswer], url_name="webhooks")
def webhooks(request: Any) -> list[dict[str, Any]]:
    """All webhooks of the team."""
    demand_scope(request, Scope.READ)
    return [_webhook(row) for row in Webhook.objects.of_team(request.team)]


def _webhook(row: Webhook) -> dict[str, Any]:
    return {name: getattr(row, name) for name in records.WebhookAnswer.model_fields}


@router.post("/webhooks", response={201: records.NewWebhookAnswer}, url_name="add_webhook")
def add(request: Any, body: WebhookBody) -> Status[Any]:
    """Add a webhook; the secret that signs its deliveries is shown this once, its address never again."""
    demand_act(request, Act.KEEP_WEBHOOKS)
    form = WebhookForm(body.model_dump())
    checked(form)
    secret = pages.add(request, form)
    return Status(201, _webhook(form.instance) | {"secret": secret})


@router.delete("/webhooks/{int:webhook_id}", response={204: None}, url_name="remove_webhook")
def remove(request: Any, webhook_id: int) -> Status[None]:
    """Delete a webhook and its log."""
    demand_act(request, Act.KEEP_WEBHOOKS)
    pages.remove(request, pages.own_webhook(request, webhook_id))
    return Status(204, None)


@router.post("/webhooks/{int:webhook_id}/on", response=records.WebhookAnswer, url_name="webhook_on")
def switch_on(request: Any, webhook_id: int) -> dict[str, Any]:
    """Let it be called again."""
    return _switch(request, webhook_id, is_on=True)


@router.post("/webhooks/{int:webhook_id}/off", response=records.WebhookAnswer, url_name="webhook_off")
def switch_off(request: Any, webhook_id: int) -> dict[str, Any]:
    """Let it be called no more."""
    return _switch(request, webhook_id, is_on=False)


def _switch(request: Any, webhook_id: int, *, is_on: bool) -> dict[str, Any]:
    demand_act(request, Act.KEEP_WEBHOOKS)
    row = pages.own_webhook(request, webhook_id)
    pages.switch(request, row, is_on=is_on)
    return _webhook(row)


@router.post("/webhooks/{int:webhook_id}/test", response=records.DeliveryAnswer, url_name="test_webhook")
def test(request: Any, webhook_id: int) -> dict[str, Any]:
    """Send one delivery now; the answer says what came of it."""
    demand_act(request, Act.KEEP_WEBHOOKS)
    return _delivery(pages.try_now(request, pages.own_webhook(request, webhook_id)))


@router.get("/webhooks/{int:webhook_id}/deliveries", response=DeliveryPage, url_name="deliveries")
def deliveries(request: Any, webhook_id: int, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """What was sent to it, newest first, with what came of each try."""
    demand_scope(request, Scope.READ)
    row = pages.own_webhook(request, webhook_id)
    return newest(row.deliveries.select_related("notice"), limit, before, _delivery)


def _delivery(row: Delivery) -> dict[str, Any]:
    names = ("id", "state", "attempts", "due_at", "sent_at", "tries")
    told = {name: getattr(row, name) for name in names}
    return told | {"uid": str(row.uid), "title": row.notice.title}


@router.post(
    "/webhooks/{int:webhook_id}/deliveries/{int:delivery_id}/again",
    response=records.DeliveryAnswer,
    url_name="send_again",
)
def send_again(request: Any, webhook_id: int, delivery_id: int) -> dict[str, Any]:
    """Send a delivery once more, under the same id."""
    demand_act(request, Act.KEEP_WEBHOOKS)
    row = pages.own_webhook(request, webhook_id)
    return _delivery(pages.send_again(request, row, delivery_id))
