"""Action libraries over the API: list, document, export, import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from ninja import File, Form, Query, Router, Schema, Status, UploadedFile
from ninja.errors import HttpError
from pydantic import Field

from kernelsite.accounts import audit
from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import Before, Limit, newest
from kernelsite.api.schemas import Page
from kernelsite.catalog import library_publish
from kernelsite.catalog.library_files import (
    UPLOAD_LIMIT,
    LibraryFilesError,
    from_upload,
    to_files,
    to_yaml,
    to_zip,
)
from kernelsite.catalog.library_pages import download
from kernelsite.catalog.library_publish import LibraryRefusedError
from kernelsite.catalog.models import LibraryDraft, LibraryVersion
from kernelsite.catalog.views import version_of

if TYPE_CHECKING:
    from django.http import HttpResponse

router = Router(tags=["libraries"])
UNPROCESSABLE = 422
Number = Annotated[int | None, Query(ge=1, le=10**6, description="the newest where it is left out")]


class LibraryRow(Schema):
    """A version of a library; `shipped` ones came with Kernelsite."""

    name: Annotated[str, Field(examples=["core@2"])]
    title: str
    status: str
    hash: str
    shipped: bool


class LibraryPage(Page):
    """One page of them."""

    items: list[LibraryRow]


class LibraryOptions(Schema):
    """What an uploaded library is called, and whether it is published."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
    publish: Annotated[bool, Field(description="publish it where nothing is wrong")] = False


class DraftRow(Schema):
    """A draft with its problems, or the version that it became."""

    name: str
    published: str | None = None
    problems: list[dict[str, Any]] = []


@router.get("/libraries", response=LibraryPage, url_name="libraries")
def libraries(request: Any, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """Every version that the team may see, newest first."""
    demand_scope(request, Scope.READ)
    rows = LibraryVersion.objects.visible_to(request.team).defer("document")
    return newest(rows, limit, before, _row)


def _row(row: LibraryVersion) -> dict[str, Any]:
    words = {name: getattr(row, name) for name in ("title", "status", "hash")}
    return {"name": row.short, "shipped": row.team_id is None, **words}


@router.post("/libraries/import", response={201: DraftRow}, url_name="library_import")
def take_in(
    request: Any,
    file: Annotated[UploadedFile, File(description="one .yaml or .json file, or a .zip of .yaml files")],
    options: Annotated[LibraryOptions, Form()],
) -> Status[DraftRow]:
    """Make a draft of an upload, sound or not; the next version where the team has a library of the name."""
    demand_act(request, Act.WRITE_LIBRARIES)
    try:
        files = from_upload(file.name or "", file.read(UPLOAD_LIMIT + 1))
        newest = LibraryVersion.objects.filter(team=request.team, slug=options.name).first()
        if newest is None:
            library_publish.check_name(request.team, options.name)
        draft = library_publish.new_draft(request.team, request.user, options.name, files, newest)
    except (LibraryFilesError, LibraryRefusedError) as error:
        raise HttpError(UNPROCESSABLE, str(error)) from error
    audit.record(request, "import", draft, after={"files": sorted(draft.files)})
    return Status(201, _published(request, draft) if options.publish else _draft(draft))


def _draft(draft: LibraryDraft) -> DraftRow:
    return DraftRow(name=draft.slug, problems=(draft.report or {}).get("problems", []))


def _published(request: Any, draft: LibraryDraft) -> DraftRow:
    told = _draft(draft)
    try:
        version = library_publish.publish(draft, request.user)
    except LibraryRefusedError:
        return told
    audit.record(request, "publish", version, after={"hash": version.hash})
    return DraftRow(name=version.slug, published=version.short)


@router.get("/libraries/{slug:slug}", response=dict[str, Any], url_name="library")
def library(request: Any, slug: str, version: Number = None) -> dict[str, Any]:
    """The document of a version."""
    return dict(_version(request, slug, version).document)


@router.get("/libraries/{slug:slug}/export.{form}", url_name="library_export")
def export(request: Any, slug: str, form: Literal["yaml", "zip"], version: Number = None) -> HttpResponse:
    """A version as one YAML file, or as a ZIP with a file per action."""
    row = _version(request, slug, version)
    name = f"{row.slug}-{row.version}.{form}"
    if form == "yaml":
        return download(to_yaml(row.record).encode(), name, "application/yaml")
    return download(to_zip(to_files(row.record), row.slug), name, "application/zip")


def _version(request: Any, slug: str, version: int | None) -> LibraryVersion:
    demand_scope(request, Scope.READ)
    return version_of(LibraryVersion.objects.visible_to(request.team), slug, version)[0]
