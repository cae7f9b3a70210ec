"""`python -m search import PATH`: workloads of other formats to workload JSON, and what was taken, changed, dropped.

PATH is a file, a folder or a ZIP of FlashInfer-Trace, SOL-ExecBench, KernelBench, GPU MODE, or Python functions with
example inputs. Nothing of it is executed; programs that have to be run once to be understood are named.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from search.formats import FORMATS
from search.formats.containers import Fault, UploadError, read_upload
from search.formats.own import ENDING
from search.formats.reading import json_file

if TYPE_CHECKING:
    from search.formats.containers import Upload

_SHOWN = {"taken": "taken", "changed": "changed", "asked": "needs a probe", "dropped": "dropped"}
_WIDEST = 400


def import_(arguments: list[str]) -> int:
    """Read an upload and write its workloads.

    Returns:
        0: everything was taken. 1: nothing, or not everything. 2: wrong use.
    """
    options = _parser().parse_args(arguments)
    try:
        upload = read_upload(options.path, form=options.format)
    except UploadError as error:
        fault = Fault(
            kind=error.kind, where=error.source or str(options.path), line=error.line, text=error.problem
        )
        return _refused(fault, as_json=options.json)
    written = _write(upload, options.out)
    if options.json:
        sys.stdout.write(json.dumps(_document(upload, written), indent=2) + "\n")
    else:
        sys.stdout.write(_text(upload, written))
    return 1 if upload.faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search import", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--format", default="", choices=["", *FORMATS], help="where it cannot be recognised")
    parser.add_argument("--out", type=Path, help="folder for workload JSON; nothing is written without it")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    return parser


def _refused(fault: Fault, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.dumps({"faults": [fault.dump()], "items": []}, indent=2) + "\n")
    else:
        place = fault.where if fault.line is None else f"{fault.where}:{fault.line}"
        sys.stderr.write(f"{_shown(f'{place}: {fault.text}')}\n")
    return 1


def _write(upload: Upload, out: Path | None) -> dict[str, str]:
    """Paths of the written workloads by name; one that is there with the same content stays."""
    written: dict[str, str] = {}
    if out is None:
        return written
    out.mkdir(parents=True, exist_ok=True)
    for item in upload.items:
        if item.workload is not None:
            path = out / f"{item.name}{ENDING}"
            path.write_bytes(json_file(item.workload.dump()))
            written[item.name] = str(path)
    return written


def _document(upload: Upload, written: dict[str, str]) -> dict[str, object]:
    items = [
        {"kind": item.kind, "name": item.name, "hash": item.hash, "path": written.get(item.name)}
        for item in upload.items
    ]
    faults = [fault.dump() for fault in upload.faults]
    return {"format": upload.format, "items": items, "report": upload.report.dump(), "faults": faults}


def _text(upload: Upload, written: dict[str, str]) -> str:
    lines = [f"{FORMATS[upload.format].title}: {len(upload.items)} items"]
    for field, word in _SHOWN.items():
        lines += [f"  {word}: {one.where}: {one.text}" for one in getattr(upload.report, field)]
    lines += [f"  written: {path}" for path in written.values()]
    return "".join(f"{_shown(line)}\n" for line in lines)


def _shown(line: str) -> str:
    """A line of a stranger's words, without control characters and not endless."""
    return "".join(one if one.isprintable() else "\ufffd" for one in line[:_WIDEST])
