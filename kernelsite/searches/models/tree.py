"""`Structure`, `SourceText`, `Candidate`: what a search has found, as a tree."""

from __future__ import annotations

from functools import cached_property

from django.db import models
from django.urls import reverse
from django.utils import timezone

from kernelsite.searches.models.search import Search
from kernelsite.searches.models.words import StructureStatus, choices
from search import records
from search.blueprint import Blueprint


class Structure(models.Model):
    """A blueprint that a search has met, with the denormalised best of its candidates."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="structures")
    number = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=16)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="children")
    blueprint = models.JSONField()
    title = models.CharField(max_length=400)
    status = models.CharField(
        max_length=20, choices=choices(StructureStatus), default=StructureStatus.PROPOSED.value
    )
    retained = models.BooleanField(default=False)
    step = models.PositiveIntegerField()
    """Number of the step that brought it."""
    created_seq = models.PositiveIntegerField()
    candidate_count = models.PositiveIntegerField(default=0)
    open_count = models.PositiveIntegerField(default=0)
    """Evaluations on their way."""
    evaluation_count = models.PositiveIntegerField(default=0)
    passed_count = models.PositiveIntegerField(default=0)
    best_candidate = models.CharField(max_length=60, blank=True, default="")
    best_speedup = models.FloatField(null=True)
    best_low = models.FloatField(null=True)
    best_high = models.FloatField(null=True)
    best_median_us = models.FloatField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["search", "number"]
        constraints = [
            models.UniqueConstraint(fields=["search", "number"], name="structure_number"),
            models.UniqueConstraint(fields=["search", "fingerprint"], name="structure_fingerprint"),
        ]

    def __str__(self) -> str:
        return f"ST-{self.key} {self.title}"

    def get_absolute_url(self) -> str:
        """Page of the structure."""
        return reverse("searches:structure", args=[self.key])

    @property
    def key(self) -> str:
        """Short id, e.g. `142.17`."""
        return f"{self.search_id}.{self.number}"

    @property
    def actions(self) -> list[str]:
        """Ids of the library actions that led here."""
        return list(self.blueprint["actions"])

    @cached_property
    def record(self) -> Blueprint:
        """The blueprint."""
        return Blueprint.load(self.blueprint)


class SourceText(models.Model):
    """Files of a program, stored once for all its knob variants and never read by lists."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="source_texts")
    hash = models.CharField(max_length=64)
    files = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["search", "hash"], name="source_text_once")]

    def __str__(self) -> str:
        return self.hash[:12]


class Candidate(models.Model):
    """A program with knob values; it belongs to one search and is unique there by content."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="candidates")
    structure = models.ForeignKey(Structure, models.CASCADE, related_name="candidates")
    number = models.PositiveIntegerField()
    """Counts within the structure."""
    hash = models.CharField(max_length=64)
    source = models.ForeignKey(SourceText, models.CASCADE, related_name="candidates")
    language = models.CharField(max_length=20, choices=choices(records.Language))
    entry_point = models.CharField(max_length=100)
    knobs = models.JSONField(default=dict)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="children")
    step = models.PositiveIntegerField()
    """Number of the step that brought it first."""
    note = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["search", "structure", "number"]
        constraints = [
            models.UniqueConstraint(fields=["structure", "number"], name="candidate_number"),
            models.UniqueConstraint(fields=["search", "hash"], name="candidate_hash"),
        ]

    def __str__(self) -> str:
        return f"C-{self.key}"

    def get_absolute_url(self) -> str:
        """Page of the candidate."""
        return reverse("searches:candidate", args=[self.key])

    @property
    def key(self) -> str:
        """Short id, e.g. `142.17.031`; reads the structure's row."""
        return f"{self.structure.key}.{self.number:03d}"

    @property
    def record(self) -> records.Candidate:
        """The program; reads the source's and structure's rows."""
        document = {
            "language": self.language,
            "sources": self.source.files,
            "entry_point": self.entry_point,
            "knobs": self.knobs,
            "structure": self.structure.fingerprint,
            "parent": self.parent.hash if self.parent else "",
        }
        return records.Candidate.load(document)
