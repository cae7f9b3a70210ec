"""`TeamRules`: how many approvals a team asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from kernelsite.accounts.models import Team

MOST = 5


class TeamRules(models.Model):
    """One row per team that has changed the defaults."""

    team = models.OneToOneField("accounts.Team", models.CASCADE, related_name="review_rules")
    quorum = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(MOST)]
    )
    """Approvals by different people that a release needs."""

    class Meta:
        verbose_name = "review rules"
        constraints = [
            models.CheckConstraint(condition=Q(quorum__gte=1, quorum__lte=MOST), name="rules_quorum")
        ]

    def __str__(self) -> str:
        return f"{self.quorum} approvals in {self.team}"

    @classmethod
    def quorum_of(cls, team: Team) -> int:
        """Approvals that a release of the team needs."""
        return cls.objects.filter(team=team).values_list("quorum", flat=True).first() or 1
