"""Who may do what: one table, asked by one decorator on every view that changes something.

Pages are open to every member of a team; what belongs to another team is not found.
"""

from __future__ import annotations

from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.core.exceptions import PermissionDenied

from kernelsite.accounts.models import Membership, Role, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team

_View = TypeVar("_View", bound="Callable[..., HttpResponse]")


class Act(StrEnum):
    """What a person may want to do; its words finish the sentence "you may not …"."""

    LAUNCH = "launch searches"
    STEER = "pause, resume or stop searches"
    EXTEND = "move the caps of a search"
    KEEP_SETS = "save or forget comparisons"
    KEEP_VIEWS = "keep views of pages"
    SHARE = "make, revoke or extend share links"
    SHARE_CODE = "share code or transcripts by link"
    KEEP_SHARING = "switch sharing on or off"
    WRITE_LIBRARIES = "write action libraries"
    WRITE_WORKLOADS = "write workloads"
    PROPOSE = "propose kernels for review"
    REVIEW = "approve kernels, ask for changes or decide at a gate"
    DISMISS = "dismiss decisions of other people"
    KEEP_DEVICES = "drain or enable devices"
    KEEP_MODELS = "change models, their keys and prices"
    KEEP_WEBHOOKS = "add, change or test webhooks"
    KEEP_TEAM = "invite people, change roles or remove members"
    REVOKE_TOKENS = "revoke tokens of other people"


NEEDS: dict[Act, Role] = {
    Act.LAUNCH: Role.MEMBER,
    Act.STEER: Role.MEMBER,
    Act.EXTEND: Role.MEMBER,
    Act.KEEP_SETS: Role.MEMBER,
    Act.KEEP_VIEWS: Role.VIEWER,
    Act.SHARE: Role.MEMBER,
    Act.SHARE_CODE: Role.MAINTAINER,
    Act.KEEP_SHARING: Role.ADMIN,
    Act.WRITE_LIBRARIES: Role.MEMBER,
    Act.WRITE_WORKLOADS: Role.MEMBER,
    Act.PROPOSE: Role.MEMBER,
    Act.REVIEW: Role.REVIEWER,
    Act.DISMISS: Role.MAINTAINER,
    Act.KEEP_DEVICES: Role.MAINTAINER,
    Act.KEEP_MODELS: Role.MAINTAINER,
    Act.KEEP_WEBHOOKS: Role.MAINTAINER,
    Act.KEEP_TEAM: Role.ADMIN,
    Act.REVOKE_TOKENS: Role.ADMIN,
}
"""The least role for each."""

SCOPE_OF: dict[Act, Scope] = {
    Act.LAUNCH: Scope.LAUNCH,
    Act.STEER: Scope.LAUNCH,
    Act.WRITE_WORKLOADS: Scope.LAUNCH,
    Act.EXTEND: Scope.LAUNCH,
    Act.KEEP_SETS: Scope.LAUNCH,
    Act.WRITE_LIBRARIES: Scope.LAUNCH,
    Act.PROPOSE: Scope.REVIEW,
    Act.REVIEW: Scope.REVIEW,
    Act.DISMISS: Scope.REVIEW,
    Act.SHARE: Scope.SHARE,
    Act.SHARE_CODE: Scope.SHARE,
    Act.KEEP_SHARING: Scope.TEAM,
    Act.KEEP_DEVICES: Scope.ADMIN,
    Act.KEEP_MODELS: Scope.TEAM,
    Act.KEEP_WEBHOOKS: Scope.TEAM,
    Act.KEEP_TEAM: Scope.TEAM,
    Act.REVOKE_TOKENS: Scope.TEAM,
}
"""The scope that a token needs besides; what is not here is for people only."""


def may(role: Role | None, act: Act) -> bool:
    """Whether a role is enough; None is nobody's."""
    return role is not None and role.includes(NEEDS[act])


def role_in(team: Team | None, user: AbstractBaseUser | AnonymousUser) -> Role | None:
    """The role of a person in a team; None for a stranger and for who was removed."""
    row = Membership.objects.filter(team=team, user=user.pk or 0).first() if team else None
    return Role(row.role) if row else None


def demand(role: Role | None, act: Act) -> None:
    """Refuse unless the role is enough.

    Raises:
        PermissionDenied: it is not; the message says which role is.
    """
    if not may(role, act):
        raise PermissionDenied(
            f"To {act} you need the role of a {NEEDS[act]} or more. Ask an admin of the team."
        )


def asks(act: Act) -> Callable[[_View], _View]:
    """Decorator of a view: answers 403 unless the person's role in the present team is enough."""

    def decorate(view: _View) -> _View:
        @wraps(view)
        def guarded(request: TeamRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            demand(request.role, act)
            return view(request, *args, **kwargs)

        return cast("_View", guarded)

    return decorate
