"""Memories in words: what this search tried (short-term) and what actions brought elsewhere (long-term)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search.agents.agent import Tried
from search.agents.llm.fencing import fence, one_line
from search.agents.llm.render_workload import without_hidden
from search.agents.llm.wording import counted
from search.traits import traits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from search.agents.agent import Experience, Scene

MOST_STRUCTURES = 40
MOST_TRIALS = 12
MOST_EXPERIENCE = 24
REPEATS = 2
"""Duplicates in a row after which a prompt asks for something different."""
MOST_REPEATS = 5
"""Duplicates in a row of which the last is no answer any more: strategies then turn to something else."""


def tried(scene: Scene) -> tuple[Tried, ...]:
    """Finished steps in order; where the scene does not list them, those whose candidate it shows."""
    steps = scene.tried or _shown(scene)
    return tuple(replace(step, failure=without_hidden(step.failure, scene.workload)) for step in steps)


def structures_text(steps: Sequence[Tried], *, most: int = MOST_STRUCTURES) -> str:
    """One line per structure: its best speed-up, else how it failed; the fastest first, fenced."""
    groups: dict[str, list[Tried]] = {}
    for step in steps:
        if step.structure:
            groups.setdefault(step.structure, []).append(step)
    if not groups:
        return ""
    ranked = sorted(groups.values(), key=lambda group: (-_best(group), group[0].number))
    lines = [_structure(group) for group in ranked[:most]]
    if len(ranked) > most:
        lines.append(f"and {len(ranked) - most} slower ones")
    return fence("\n".join(lines), "structures tried in this search", 6000)


def trials_text(steps: Iterable[Tried], structure: str, *, most: int = MOST_TRIALS) -> str:
    """The newest trials of one structure, with knobs and why they failed, fenced."""
    own = [step for step in steps if step.structure == structure][-most:]
    return fence("\n".join(map(_trial, own)), "trials of this structure", 4000) if own else ""


def repeats(steps: Sequence[Tried]) -> int:
    """Duplicates at the end of the list, without anything new between them."""
    count = 0
    for step in reversed(steps):
        if not step.reused:
            break
        count += 1
    return count


def diversity_text(steps: Sequence[Tried]) -> str:
    """A word against repeating, when the last answers were programs that were known already."""
    count = repeats(steps)
    if count < REPEATS:
        return ""
    return (
        f"The last {count} answers repeated programs that had been measured already. They brought nothing."
        " Give something that differs from everything above in a way that matters for its speed, not in names,"
        " comments or layout."
    )


def experience_text(scene: Scene) -> str:
    """Gains of actions on workloads that share a trait with this one, this device class first; fenced."""
    known = traits(scene.workload)
    rows = [row for row in scene.experience if row.trait in known and row.trials > 0]
    rows.sort(key=lambda row: (row.device_class != scene.device_class, -row.trials, row.action, row.trait))
    lines = [_experience(row) for row in rows[:MOST_EXPERIENCE]]
    return fence("\n".join(lines), "finished searches of this team", 4000) if lines else ""


def _shown(scene: Scene) -> tuple[Tried, ...]:
    found: list[Tried] = []
    seen: set[str] = set()
    for number in sorted(scene.candidates):
        candidate, evaluation = scene.candidates[number], scene.evaluations.get(number)
        blueprint = scene.blueprints.get(candidate.structure)
        found.append(
            Tried(
                number=number,
                structure=candidate.structure,
                title=blueprint.title if blueprint else candidate.structure,
                status=evaluation.status if evaluation else None,
                speedup=evaluation.speedup.value if evaluation and evaluation.speedup else None,
                failure=evaluation.message if evaluation else "",
                knobs=candidate.knobs,
                reused=candidate.hash in seen,
            )
        )
        seen.add(candidate.hash)
    return tuple(found)


def _best(group: Iterable[Tried]) -> float:
    return max((step.speedup or 0.0 for step in group), default=0.0)


def _structure(group: list[Tried]) -> str:
    best, title = _best(group), one_line(group[0].title, 160)
    trials = counted(len(group), "trial")
    if best:
        return f"- {title}: {best:.3g}x after {trials}"
    last = group[-1]
    return f"- {title}: never right after {trials}; last {_ending(last)}"


def _trial(step: Tried) -> str:
    knobs = " ".join(f"{name}={value}" for name, value in step.knobs.items())
    speed = f"{step.speedup:.3g}x" if step.speedup else _ending(step)
    same = ", a duplicate" if step.reused else ""
    note = f"; {one_line(step.note, 160)}" if step.note else ""
    return f"- step {step.number}: {speed}{same} {knobs}{note}".rstrip()


def _ending(step: Tried) -> str:
    status = step.status or "no program"
    return f"{status}: {one_line(step.failure)}" if step.failure else str(status)


def _experience(row: Experience) -> str:
    return (
        f"- {row.action} on {row.trait}, {one_line(row.device_class, 40)}:"
        f" {row.gain:.3g}x, better in {row.wins} of {row.trials}"
    )
