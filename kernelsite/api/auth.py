"""Who a request of the API comes from, and what its token may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from ninja.security import HttpBearer

from kernelsite.accounts.models import ApiToken, Scope
from kernelsite.accounts.roles import SCOPE_OF, Act, demand, role_in

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kernelsite.accounts.middleware import TeamRequest


class TooManyRequestsError(Exception):
    """The token's requests of this minute are used up."""


class TokenAuth(HttpBearer):
    """`Authorization: Bearer ks_…`; sets user, team and role of the request as the middleware does for a browser."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """The token, when it is live and its owner is still in its team.

        Raises:
            TooManyRequestsError: it made too many requests in this minute.
        """
        row = ApiToken.objects.find(token)
        role = role_in(row.team, row.user) if row else None
        if row is None or role is None:
            return None
        held: Any = request
        held.user, held.team, held.role = row.user, row.team, role
        held.token_prefix, held.token_scopes = row.prefix, row.scopes
        held.requests_left = row.note_use()
        if held.requests_left < 0:
            raise TooManyRequestsError
        return row


def demand_scope(request: TeamRequest, scope: Scope) -> None:
    """Refuse unless the token has the scope.

    Raises:
        PermissionDenied: it has not.
    """
    if scope not in getattr(request, "token_scopes", ()):
        raise PermissionDenied(f"this token lacks the scope {scope}")


def demand_act(request: TeamRequest, act: Act) -> None:
    """Refuse unless token and person both may.

    Raises:
        PermissionDenied: one of them may not.
    """
    if act not in SCOPE_OF:
        raise PermissionDenied(f"no token may {act}; do it in a browser")
    demand_scope(request, SCOPE_OF[act])
    demand(request.role, act)
