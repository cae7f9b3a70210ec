"""`python -m search best`: the fastest program of every landscape, as a table or as files to be measured again.

With `--results`, programs that `python -m search find` left in that folder stand in the table too; of two for the same
case of a workload, the faster.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from search.best import EAGER, Best, ResultError, Winner, export, measured, recorded, winner_of
from search.landscapes.files import LandscapeError, find_landscape, landscape_files, read_landscape
from search.records import Language

if TYPE_CHECKING:
    from search.landscapes.landscape import Landscape

HEAD = (
    "workload",
    "case",
    "structure",
    "knobs",
    "median µs",
    "of the floor",
    "over eager",
    "over torch.compile",
    "over the library",
    "tier, day found",
)
COLUMNS = (EAGER, "compile", "library")


def best(arguments: list[str]) -> int:
    """Show or export; exit status 2 for a landscape or a result that cannot be read."""
    options = _parser().parse_args(arguments)
    try:
        found = [_landscape(name) for name in options.landscapes or landscape_files()]
        if options.export:
            _export(found, options.export)
            return 0
        rows = _fastest([_row(one, options.results) for one in found] + _found(options.results))
    except (LandscapeError, ResultError, ValueError, OSError) as error:
        sys.stderr.write(f"best: {error}\n")
        return 2
    text = _table(rows)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")
    sys.stdout.write(
        json.dumps([row.dump() for row in rows], allow_nan=False) + "\n" if options.json else text
    )
    return 0


def _export(found: list[Landscape], folder: Path) -> None:
    """Programs, workloads and the lines that measure them, one landscape a line."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in found:
        device = "cpu" if one.language is Language.CPP else "cuda:0"
        sys.stdout.write(f"{line(winner_of(one), folder, device)}\n")


def line(winner: Winner, folder: Path, device: str) -> str:
    """Export a winner; the command that measures it again on a device of this machine."""
    path = export(winner, folder)
    return (
        f"python3 -m gpuworker evaluate --device {device} --workload {folder / winner.name}.workload.json "
        f"--candidate {path} --language {winner.language} --tier full --baselines eager,compile,library --json "
        f"> {folder / winner.name}.result.json"
    )


def _row(found: Landscape, results: Path | None) -> Best:
    path = results / f"{found.name}.result.json" if results else None
    return measured(winner_of(found), path) if path and path.exists() else recorded(found)


def _found(results: Path | None) -> list[Best]:
    """Rows of searches that were made for this; those that were not measured again are left out."""
    if results is None:
        return []
    winners = [_winner(path) for path in sorted(results.glob("*.winner.json"))]
    paths = [results / f"{winner.name}.result.json" for winner in winners]
    return [measured(winner, path) for winner, path in zip(winners, paths, strict=True) if path.exists()]


def _winner(path: Path) -> Winner:
    try:
        return Winner.model_validate_json(path.read_text("utf-8"))
    except ValueError as error:
        raise ResultError(f"{path}: is no program that `find` left: {error}") from error


def _fastest(rows: list[Best]) -> list[Best]:
    fastest: dict[tuple[str, str, str], Best] = {}
    for row in rows:
        key = (row.device, row.workload, row.case)
        if key not in fastest or row.median_us.value < fastest[key].median_us.value:
            fastest[key] = row
    return sorted(fastest.values(), key=lambda row: (row.device, row.workload, row.case))


def _landscape(name: str) -> Landscape:
    return read_landscape(Path(name)) if Path(name).is_file() else find_landscape(name)


def _table(rows: list[Best]) -> str:
    lines = [HEAD, ["---"] * len(HEAD), *(_cells(row) for row in rows)]
    devices = dict.fromkeys(row.device for row in rows)
    notes = (
        f"\nOn {', '.join(devices)}. Brackets: 95 % intervals of full measurements, tenths and paired intervals of fast "
        "ones. Floor: bytes and operations of the workload at the measured rates of the device.\n"
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n" + notes


def _cells(row: Best) -> list[str]:
    time = row.median_us
    knobs = ", ".join(f"{name} {value}" for name, value in row.knobs.items())
    return [
        row.workload,
        f"{row.case}: {row.sizes}",
        row.structure,
        knobs,
        f"{time.value:.1f} ({time.low:.1f} to {time.high:.1f})",
        "n/a" if row.of_floor is None else f"{row.of_floor:.0%}",
        *(_against(row, name) for name in COLUMNS),
        f"{row.tier} tier, {row.label.rpartition(', ')[2]}",
    ]


def _against(row: Best, name: str) -> str:
    one = row.against.get(name)
    if one is None:
        return "n/a"
    faster = one.speedup
    return f"{faster.value:.2f} ({faster.low:.2f} to {faster.high:.2f}), {one.median_us:.1f} µs"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search best", description=__doc__)
    parser.add_argument(
        "--landscapes", nargs="+", metavar="NAME", help="names or files; otherwise all that ship"
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="of <name>.result.json, as `gpuworker evaluate` prints them, and of what `find` left",
    )
    parser.add_argument(
        "--export", type=Path, metavar="FOLDER", help="write programs and workloads there instead"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    return parser
