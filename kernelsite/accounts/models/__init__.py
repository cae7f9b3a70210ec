"""Tables of teams, people's roles, profiles and sessions, invitations, tokens, log-in attempts and the audit trail."""

from __future__ import annotations

from kernelsite.accounts.models.attempt import LoginAttempt
from kernelsite.accounts.models.audit import AuditEntry
from kernelsite.accounts.models.invitation import Invitation
from kernelsite.accounts.models.letter import Letter, LetterKind
from kernelsite.accounts.models.profile import Density, Profile, Theme
from kernelsite.accounts.models.session import Session
from kernelsite.accounts.models.team import Membership, Role, Team
from kernelsite.accounts.models.token import ApiToken, Scope

__all__ = [
    "ApiToken",
    "AuditEntry",
    "Density",
    "Invitation",
    "Letter",
    "LetterKind",
    "LoginAttempt",
    "Membership",
    "Profile",
    "Role",
    "Scope",
    "Session",
    "Team",
    "Theme",
]
