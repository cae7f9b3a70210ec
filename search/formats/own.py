"""Our own documents: `NAME.workload.json`, one workload a file. Nothing is lost, hidden cases included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats.format import Collection, Format, FormatError, Notes, add_file
from search.formats.reading import check_paths, json_file, read_record
from search.workload import Workload

if TYPE_CHECKING:
    from search.formats.format import Files, Report

TITLE = "Kernelsite"
ENDING = ".workload.json"


def recognises(files: Files) -> bool:
    """Whether there is such a file."""
    return any(path.endswith(ENDING) for path in files)


def parse(files: Files) -> tuple[Collection, Report]:
    """Every workload.

    Raises:
        FormatError: none can be read; the first reason.
    """
    check_paths(files)
    notes, first = Notes(), None
    workloads: dict[str, Workload] = {}
    for path in sorted(path for path in files if path.endswith(ENDING)):
        try:
            workload = read_record(Workload, files[path], path)
            if workload.name in workloads:
                raise FormatError(f"{workload.name} is there twice", path, field="name")
        except FormatError as error:
            first = first or error
            notes.refuse(path, error)
            continue
        workloads[workload.name] = workload
        notes.take(path, f"workload {workload.name} with {len(workload.cases)} cases")
    if not workloads:
        raise first or FormatError(f"there is no file that ends in {ENDING}")
    return Collection(tuple(workloads.values())), notes.report()


def write(collection: Collection) -> tuple[dict[str, bytes], Report]:
    """One file a workload."""
    notes = Notes()
    files: dict[str, bytes] = {}
    for workload in collection.workloads:
        path = f"{workload.name[:200]}{ENDING}"
        add_file(files, path, json_file(workload.dump()))
        notes.take(path, f"workload {workload.name} with {len(workload.cases)} cases")
    for name in (
        *(one.name for one in collection.solutions),
        *(str(one.solution) for one in collection.traces),
    ):
        notes.drop(name, f"{TITLE} documents hold workloads only")
    return files, notes.report()


FORMAT = Format("kernelsite", TITLE, recognises, parse, write)
