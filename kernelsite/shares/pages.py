"""What the templates of a shared result need besides the `Result` itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelsite.catalog.highlight import lines
from kernelsite.searches.pages.sources import SHOWN_LINES
from kernelsite.shares import plots

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from kernelsite.shares.document import Result


@dataclass(frozen=True)
class ShownFile:
    """A source with colours."""

    path: str
    lines: list[SafeString]
    is_cut: bool


def shown(result: Result) -> dict[str, Any]:
    """Context of `shares/_result.html`."""
    files = [(file.path, lines(file.content, file.language)) for file in result.code]
    return {
        "result": result,
        "plot": plots.best_so_far(result),
        "cases": plots.cases(result),
        "files": [ShownFile(path, text[:SHOWN_LINES], len(text) > SHOWN_LINES) for path, text in files],
    }


def listed(result: Result) -> list[tuple[str, str]]:
    """What becomes public, in words: name and what it holds."""
    rows = [
        ("Title", result.title),
        ("Workload", f"{result.workload.title} v{result.workload.version}: names, shapes and types of its tensors, tolerance"),
        ("Device and dates", ", ".join(word for word in (result.device, result.language, result.began, result.ended) if word)),
        ("Best result", "speed-up with interval, time, baseline" if result.headline else "none yet"),
        ("Counts", f"{result.counts.evaluations} evaluations, {result.counts.structures} structures"),
    ]  # fmt: skip
    if result.groups:
        rows.append(("Groups", ", ".join(group.name for group in result.groups)))
    if result.lines:
        rows.append(("Best-so-far curve", f"{len(result.lines)} line{'s' * (len(result.lines) > 1)}"))
    if result.cases:
        rows.append(("Cases", f"names, sizes and speed-ups of {len(result.cases)}; hidden cases never"))
    rows.append(
        ("How it was measured", ", ".join(fact.name.lower() for fact in result.method) or "nothing yet")
    )
    if result.tree:
        rows.append(("Structures", f"actions and best speed-ups of {len(result.tree)}"))
    if result.code:
        rows.append(("Code", f"{', '.join(file.path for file in result.code)} with its knob values"))
    if result.transcript:
        rows.append(
            (
                "Transcript",
                f"{len(result.transcript)} calls with prompts, which hold the workload's reference and programs",
            )
        )
    return rows
