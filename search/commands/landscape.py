"""`python -m search landscape`: what a landscape holds, and which actions and knobs matter in it."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.agents.expected import expected, tried_first
from search.importance import action_importance, knob_importance
from search.landscapes.files import LandscapeError, find_landscape, landscape_files, read_landscape
from search.statistics import rank_correlation

if TYPE_CHECKING:
    from search.landscapes.landscape import Landscape

FIRST_TRIES = ("by_plan", "by_defaults", "by_chance")
"""Share of a structure's best speed-up that its first candidate has; a failure has none."""
SHOWN = 12
"""Structures and actions in the text; the JSON holds all."""


def landscape(arguments: list[str]) -> int:
    """Describe one landscape, or list them; exit status 2 where there is none of that name."""
    options = _parser().parse_args(arguments)
    if options.name is None:
        sys.stdout.writelines(f"{name}\n" for name in landscape_files())
        return 0
    try:
        path = Path(options.name)
        found = read_landscape(path) if path.is_file() else find_landscape(options.name)
    except LandscapeError as error:
        sys.stderr.write(f"landscape: {error}\n")
        return 2
    document = described(found)
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n" if options.json else _told(document))
    return 0


def described(found: Landscape) -> dict[str, Any]:
    """Structures by their best point, statuses, and importance; speed-ups are over the landscape's baseline."""
    values: dict[int, list[tuple[dict[str, Any], float]]] = {}
    for (place, point), worth in found.truth.items():
        names = [knob.name for knob in found.structures[place].blueprint.knobs]
        values.setdefault(place, []).append((dict(zip(names, point, strict=True)), worth))
    structures = [_structure(found, place, points) for place, points in values.items()]
    best = {frozenset(one["actions"]): one["best_speedup"] for one in structures}
    priced = [one for one in structures if one["expected"] is not None]
    ranks = rank_correlation([one["expected"] for one in priced], [one["best_speedup"] for one in priced])
    return {
        "name": found.name,
        "label": found.label,
        "workload": found.workload.name,
        "case": found.case,
        "baseline": found.baseline,
        "runtime": found.environment.runtime,
        "driver": found.environment.driver,
        "design": found.design,
        "points": len(found.rows),
        "missing": found.missing(),
        "statuses": dict(Counter(map(str, found.measurements.status))),
        "cost_model_rank_correlation": ranks,
        "first_try": {name: _mean([one[name] for one in structures]) for name in FIRST_TRIES},
        "structures": sorted(structures, key=lambda one: -one["best_speedup"]),
        "actions": [one.dump() for one in action_importance(best, seed=found.seed)],
    }


def _structure(found: Landscape, place: int, points: list[tuple[dict[str, Any], float]]) -> dict[str, Any]:
    blueprint = found.structures[place].blueprint
    knobs, worth = max(points, key=lambda point: point[1])
    default = {knob.name: knob.default for knob in blueprint.knobs}
    first = tried_first(blueprint, found.workload, found.environment.device_class, found.case)
    measured = sum(1 for structure, _ in found.rows if structure == place)
    return {
        "title": blueprint.title,
        "actions": list(blueprint.actions),
        "expected": expected(blueprint, found.workload, found.environment.device_class, found.case),
        "best_speedup": worth,
        "best_knobs": knobs,
        "default_speedup": _at(default, points),
        "by_plan": (_at(first, points) or 0.0) / worth,
        "by_defaults": (_at(default, points) or 0.0) / worth,
        "by_chance": sum(value for _, value in points) / measured / worth,
        "passed": len(points),
        "knobs": [one.dump() for one in knob_importance(points)],
    }


def _at(knobs: dict[str, Any], points: list[tuple[dict[str, Any], float]]) -> float | None:
    return next((value for values, value in points if values == knobs), None)


def _mean(shares: list[float]) -> float:
    return sum(shares) / max(1, len(shares))


def _told(document: dict[str, Any]) -> str:
    lines = [f"{document['name']}: {document['workload']} {document['case']}, {document['label']}"]
    lines.append(f"speed-up over {document['baseline']}; {document['points']} points: {document['statuses']}")
    if (ranks := document["cost_model_rank_correlation"]) is not None:
        lines.append(f"rank correlation of the cost model with the best of each structure: {ranks:.2f}")
    first = document["first_try"]
    lines.append(
        f"first try of a structure against its best: {first['by_plan']:.2f} with the knobs that its plan promises most "
        f"of, {first['by_defaults']:.2f} with its defaults, {first['by_chance']:.2f} anywhere in its grid"
    )
    lines += [
        f"  {one['best_speedup']:8.3f}  {one['title']}  (default {one['default_speedup'] or 0:.3f}; "
        + ", ".join(f"{knob['knob']} {knob['share']:.0%}" for knob in one["knobs"][:3])
        + ")"
        for one in document["structures"][:SHOWN]
    ]
    lines.append("actions, mean gain over the same structure without:")
    lines += [
        f"  {one['gain']['value']:+8.3f} ({one['gain']['low']:+.3f} to {one['gain']['high']:+.3f}) log  "
        f"{one['action']}, {one['pairs']} pairs"
        for one in document["actions"][:SHOWN]
    ]
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search landscape", description=__doc__)
    parser.add_argument("name", nargs="?", help="name or file; without it the names of all")
    parser.add_argument("--json", action="store_true")
    return parser
