"""Rows of reviews: `Review` with its `Revision`s and the `Entry`s of its timeline, `Release`, `TeamRules`."""

from __future__ import annotations

from kernelsite.reviews.models.entry import Entry, EntryKind
from kernelsite.reviews.models.release import Release
from kernelsite.reviews.models.review import Review, ReviewState, Revision
from kernelsite.reviews.models.rules import TeamRules

__all__ = ["Entry", "EntryKind", "Release", "Review", "ReviewState", "Revision", "TeamRules"]
