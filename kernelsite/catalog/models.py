"""`WorkloadVersion` and `LibraryVersion`: immutable documents, each found again by its content hash."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeVar

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from kernelsite.accounts.models import Team
from kernelsite.catalog.imported import StartingCandidate, WorkloadImport
from kernelsite.catalog.library_draft import LibraryDraft
from kernelsite.catalog.probe import WorkloadProbe
from kernelsite.catalog.validation import WorkloadValidation
from kernelsite.catalog.workload_draft import WorkloadDraft
from search.library import ActionLibrary, shipped_library, shipped_workloads
from search.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "LibraryDraft",
    "LibraryVersion",
    "StartingCandidate",
    "WorkloadDraft",
    "WorkloadImport",
    "WorkloadProbe",
    "WorkloadValidation",
    "WorkloadVersion",
    "sync_shipped",
]

SHIPPED_LIBRARIES = ("core",)

_Row = TypeVar("_Row", bound="Version", covariant=True)


class VersionQuerySet(models.QuerySet[_Row]):
    """Many-row logic of versions."""

    def visible_to(self, team: Team | None) -> Self:
        """A team's own versions and the shipped ones."""
        return self.filter(Q(team=team) | Q(team__isnull=True))

    def shipped(self) -> Self:
        """Those that came with Kernelsite."""
        return self.filter(team__isnull=True)

    def newest(self) -> Self:
        """The newest of each slug; of equal numbers a team's own goes before a shipped one."""
        ordered = self.order_by("slug", "-version", F("team").asc(nulls_last=True))
        newest: dict[str, int] = {}
        for pk, slug in ordered.values_list("pk", "slug"):
            newest.setdefault(slug, pk)
        return self.filter(pk__in=newest.values())


class Version(models.Model):
    """One immutable version of a document; without a team it came with Kernelsite and everybody sees it."""

    team = models.ForeignKey(Team, models.CASCADE, null=True, blank=True, related_name="+")
    slug = models.SlugField(max_length=100)
    version = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    document = models.JSONField()
    title = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True
        ordering = ["slug", "-version"]
        constraints = [
            # Two each: for a unique constraint one NULL differs from the next.
            models.UniqueConstraint(fields=["team", "slug", "version"], name="%(class)s_number"),
            models.UniqueConstraint(fields=["team", "hash"], name="%(class)s_hash"),
            models.UniqueConstraint(
                fields=["slug", "version"], condition=Q(team__isnull=True), name="%(class)s_shipped_number"
            ),
            models.UniqueConstraint(
                fields=["hash"], condition=Q(team__isnull=True), name="%(class)s_shipped_hash"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.short})"

    @property
    def short(self) -> str:
        """Name for people, e.g. `softmax@1`."""
        return f"{self.slug}@{self.version}"


class WorkloadStatus(models.TextChoices):
    """Life of a workload version. Its document never changes; a retired one only finishes what runs."""

    PUBLISHED = "published", "Published"
    RETIRED = "retired", "Retired"


class WorkloadQuerySet(VersionQuerySet["WorkloadVersion"]):
    """Many-row logic of workload versions."""

    def launchable(self) -> Self:
        """Those that a new search may use."""
        return self.filter(status=WorkloadStatus.PUBLISHED)

    def found_by(self, words: str) -> Self:
        """Those whose name, title, kind or tags hold every one of some words."""
        rows = self
        for word in words.split()[:8]:
            rows = rows.filter(
                Q(slug__icontains=word)
                | Q(title__icontains=word)
                | Q(op_type__icontains=word)
                | Q(tags__icontains=word)
            )
        return rows

    def tagged(self, tag: str) -> Self:
        """Those with a tag."""
        return self.filter(tags__contains=f" {tag} ")


class WorkloadVersion(Version):
    """What a kernel must compute; the document is a `search.workload.Workload`."""

    op_type = models.CharField(max_length=100, blank=True)
    tags = models.CharField(max_length=2000, blank=True, default="")
    """The document's, with a space before, between and after, so that the database can look for one."""
    status = models.CharField(max_length=20, choices=WorkloadStatus, default=WorkloadStatus.PUBLISHED)
    source = models.CharField(max_length=200, blank=True, default="")
    """Where an import took it from."""
    based_on = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    """The version that its draft was made from."""
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    acknowledged = models.JSONField(default=list, blank=True)
    """Wrong programs that its cases let pass, by name, which somebody has taken note of."""
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_reason = models.CharField(max_length=500, blank=True, default="")

    objects = WorkloadQuerySet.as_manager()

    class Meta(Version.Meta):
        constraints = [
            *Version.Meta.constraints,
            models.CheckConstraint(
                condition=Q(status__in=WorkloadStatus.values), name="workloadversion_status"
            ),
        ]

    def get_absolute_url(self) -> str:
        """Page of the version."""
        return reverse("catalog:workload_version", args=[self.slug, self.version])

    @cached_property
    def record(self) -> Workload:
        """The workload."""
        return Workload.load(self.document)

    def describe(self, workload: Workload) -> None:
        """Copy what lists show and look for to the row's columns, in memory."""
        self.title, self.op_type = workload.title[:200], workload.op_type[:100]
        self.tags = f" {' '.join(workload.tags)} "[:2000] if workload.tags else ""


class LibraryStatus(models.TextChoices):
    """Life of a library version. A published one never changes; a retired one only finishes what runs."""

    DRAFT = "draft", "Draft"
    PUBLISHED = "published", "Published"
    RETIRED = "retired", "Retired"


class LibraryQuerySet(VersionQuerySet["LibraryVersion"]):
    """Many-row logic of library versions."""

    def launchable(self) -> Self:
        """Those that a new search may use."""
        return self.filter(status=LibraryStatus.PUBLISHED)


class LibraryVersion(Version):
    """Structural actions; the document is a `search.library.ActionLibrary`."""

    status = models.CharField(max_length=20, choices=LibraryStatus, default=LibraryStatus.DRAFT)
    based_on = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    """The version that its draft was made from; empty for an import."""
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = LibraryQuerySet.as_manager()

    class Meta(Version.Meta):
        # Shipped ones first: a form that nobody changes takes the first.
        ordering = [F("team").asc(nulls_first=True), "slug", "-version"]
        constraints = [
            *Version.Meta.constraints,
            models.CheckConstraint(
                condition=Q(status__in=LibraryStatus.values), name="libraryversion_status"
            ),
        ]

    @cached_property
    def record(self) -> ActionLibrary:
        """The library."""
        return ActionLibrary.load(self.document)


@transaction.atomic
def sync_shipped() -> list[Version]:
    """Bring what ships with Kernelsite into the catalogue: one new version per changed document, nothing twice.

    A shipped library that was replaced is retired: running searches keep it, new ones take the new one.

    Returns:
        The versions that this call added.
    """
    workloads: list[tuple[Version, Workload | ActionLibrary]] = []
    for slug, workload in shipped_workloads().items():
        version = WorkloadVersion(slug=slug)
        version.describe(workload)
        workloads.append((version, workload))
    libraries: list[tuple[Version, Workload | ActionLibrary]] = []
    for slug in SHIPPED_LIBRARIES:
        library = shipped_library(slug)
        row = LibraryVersion(slug=slug, title=library.title, status=LibraryStatus.PUBLISHED)
        libraries.append((row, library))
    new = _add(LibraryVersion, libraries)
    for added in new:
        older = LibraryVersion.objects.shipped().filter(slug=added.slug).exclude(pk=added.pk)
        older.update(status=LibraryStatus.RETIRED)
    return _add(WorkloadVersion, workloads) + new


def _add(model: type[Version], shipped: Iterable[tuple[Version, Workload | ActionLibrary]]) -> list[Version]:
    """Save each row with the next number of its slug, unless the document is there already; two queries for all."""
    known = list(model._default_manager.filter(team__isnull=True).values_list("slug", "version", "hash"))
    hashes = {known_hash for _, _, known_hash in known}
    new = []
    for row, record in shipped:
        if (digest := record.hash) not in hashes:
            last = max((version for slug, version, _ in known if slug == row.slug), default=0)
            row.version, row.hash, row.document = last + 1, digest, record.dump()
            new.append(row)
    return list(model._default_manager.bulk_create(new))
