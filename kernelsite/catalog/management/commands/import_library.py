"""`manage.py import_library PATH`: takes a library from a YAML file, a ZIP archive or a folder of YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from kernelsite.accounts.models import Team
from kernelsite.catalog import library_publish
from kernelsite.catalog.library_files import UPLOAD_LIMIT, LibraryFilesError, checked, from_upload
from kernelsite.catalog.library_publish import LibraryRefusedError
from kernelsite.catalog.models import LibraryVersion

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from kernelsite.catalog.models import LibraryDraft


class Command(BaseCommand):
    """Makes a draft, and with `--publish` a version of it."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to take, and for whom."""
        parser.add_argument("path", type=Path)
        parser.add_argument("--name", help="name of the library; by default that of the file or folder")
        parser.add_argument("--team", help="slug of the team; needed where there are several")
        parser.add_argument("--publish", action="store_true", help="publish it, if nothing is wrong")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take it, say what is wrong."""
        path: Path = options["path"]
        try:
            draft = _draft(team_of(options["team"]), options["name"] or path.stem, _files(path))
            self.stdout.write(f"draft of {draft.slug}: {len(draft.files)} files")
            if options["publish"]:
                self._publish(draft)
            else:
                self._say(draft)
        except (OSError, UnicodeDecodeError, LibraryFilesError, LibraryRefusedError) as error:
            raise CommandError(str(error)) from error

    def _publish(self, draft: LibraryDraft) -> None:
        try:
            self.stdout.write(f"published {library_publish.publish(draft, None).short}")
        except LibraryRefusedError:
            self._say(draft)
            raise

    def _say(self, draft: LibraryDraft) -> None:
        for problem in (draft.report or {}).get("problems", []):
            place = f"{problem['file'] or draft.slug}:{problem['line'] or 1}"
            entry = f" {problem['kind']} {problem['name']}:" if problem["kind"] else ""
            field = f" field {problem['field']}:" if problem["field"] else ""
            self.stderr.write(f"{place}:{entry}{field} {problem['text']}")


def team_of(slug: str | None) -> Team:
    """The team named, or the only one.

    Raises:
        CommandError: there is none, or there are several to choose from.
    """
    teams = list(Team.objects.filter(slug=slug) if slug else Team.objects.all()[:2])
    if len(teams) != 1:
        raise CommandError(f"no team {slug!r}" if slug else "name the team with --team")
    return teams[0]


def _draft(team: Team, name: str, files: dict[str, str]) -> LibraryDraft:
    newest = LibraryVersion.objects.filter(team=team, slug=name).order_by("-version").first()
    if newest is None:
        library_publish.check_name(team, name)
    return library_publish.new_draft(team, None, name, files, newest)


def _files(path: Path) -> dict[str, str]:
    if path.is_dir():
        return checked({file.name: file.read_text("utf-8") for file in sorted(path.glob("*.yaml"))})
    with path.open("rb") as stream:
        return from_upload(path.name, stream.read(UPLOAD_LIMIT + 1))
