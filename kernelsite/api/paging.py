"""Pages of lists. `next` of an answer goes on in the address: as `before` in lists that are newest first, else as `after`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from ninja import Query

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import Model, QuerySet

_Row = TypeVar("_Row", bound="Model")

MOST = 200
Limit = Annotated[int, Query(ge=1, le=MOST)]
Before = Annotated[int | None, Query(ge=1, le=2**53)]
After = Annotated[int, Query(ge=0, le=2**53)]


def newest(
    rows: QuerySet[_Row], limit: int, before: int | None, show: Callable[[_Row], Any]
) -> dict[str, Any]:
    """One page of rows by falling primary key; `before` is the cursor."""
    found = rows.order_by("-pk")
    if before is not None:
        found = found.filter(pk__lt=before)
    held = list(found[: limit + 1])
    more = held[limit - 1].pk if len(held) > limit else None
    return {"items": [show(row) for row in held[:limit]], "next": more}


def onwards(
    rows: QuerySet[_Row], limit: int, after: int, show: Callable[[_Row], Any], by: str = "pk"
) -> dict[str, Any]:
    """One page of rows by rising `by`, a whole number that no two rows share; `after` is the cursor."""
    held = list(rows.filter(**{f"{by}__gt": after}).order_by(by)[: limit + 1])
    more = getattr(held[limit - 1], by) if len(held) > limit else None
    return {"items": [show(row) for row in held[:limit]], "next": more}
