"""Parts of a `Result`, each read from rows by name: a column that nobody names here stays private."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.catalog.plain import visible
from kernelsite.catalog.templatetags.show import as_json
from kernelsite.compare.statistics import geometric_mean
from kernelsite.searches.evidence import record_of
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Evaluation, ModelCall
from kernelsite.shares.document import (
    TEXT_LIMIT,
    Bar,
    Branch,
    Call,
    CaseRow,
    Fact,
    Headline,
    Line,
    Message,
    Source,
    Workload,
)
from search.agents.llm.texts import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kernelsite.compare.runs import Run
    from kernelsite.searches.models import Candidate, Search, Structure
    from kernelsite.searches.outline import OutlineRow
    from search import workload as core
    from search.records import Evaluation as Record

MOST_CALLS = 40
MOST_BRANCHES = 400
CODE_LIMIT = 300_000
"""Characters of one file."""
LANGUAGES = {"cpp": "C++", "cuda": "CUDA C++", "triton": "Triton", "pytorch": "PyTorch"}
METHODS = {
    "trusted-launch": "trusted launch: our own process replays the recorded launches, no candidate code beside the clock",
    "slope": "slope between passes of K/2 and K slots, outputs of every pass checked",
    "recorded": "recorded on a device earlier and replayed from a landscape",
}


def workload_of(search: Search) -> Workload:
    """What had to be computed, in short."""
    row, record = search.workload, search.workload.record
    return Workload(
        title=row.title,
        version=row.version,
        family=row.op_type,
        inputs=tuple(_tensor(name, tensor) for name, tensor in record.inputs.items()),
        outputs=tuple(_tensor(name, tensor) for name, tensor in record.outputs.items()),
        tolerance=_tolerance(record),
    )


def _tolerance(workload: core.Workload) -> str:
    """How exact an output must be; what a case or an output says itself goes before the workload's own word."""
    if not any(tensor.dtype.is_float for tensor in workload.outputs.values()):
        return "exact"
    own = {case.tolerance for case in workload.cases if case.tolerance and not case.hidden}
    if own or any(tensor.tolerance for tensor in workload.outputs.values()):
        words = [f"|error| ≤ {each.max_atol:g} + {each.max_rtol:g} · |reference|" for each in own]
        return words[0] if len(words) == 1 else "set case by case or output by output"
    bound = workload.tolerance
    return f"|error| ≤ {bound.scale:g} · eps · RMS of the row + {bound.relative:g} · |reference|"


def _tensor(name: str, tensor: core.Tensor) -> str:
    return (
        f"{name}: {tensor.dtype} [{', '.join(tensor.shape)}]" if tensor.shape else f"{name}: {tensor.dtype}"
    )


def best_of(search: Search, key: str) -> Evaluation | None:
    """The evaluation behind a short id of the search."""
    place = read_key(key)
    if place is None:
        return None
    rows = Evaluation.objects.filter(
        search=search.pk,
        candidate__structure__number=place.structure,
        candidate__number=place.number,
        purpose=place.purpose,
        current=True,
    )
    return rows.select_related("candidate__structure", "candidate__source").first()


def headline_of(evaluation: Evaluation | None, *, is_confirmed: bool) -> Headline | None:
    """The result sentence in numbers; None before anything passed."""
    if evaluation is None or evaluation.speedup is None:
        return None
    record = record_of(evaluation)
    return Headline(
        speedup=evaluation.speedup,
        low=evaluation.low,
        high=evaluation.high,
        median_us=evaluation.median_us,
        baseline=evaluation.baseline,
        is_confirmed=is_confirmed,
        cases=len(record.cases) if record else 0,
        samples=sum(case.samples for case in record.cases) if record else 0,
    )


def line_of(run: Run, name: str, hue: int, *, is_thin: bool = False) -> Line:
    """Best so far of one search."""
    records = tuple((float(each.order), each.speedup or 0.0) for each in run.records)
    return Line(name=name, hue=hue, records=records, end=run.spent("evaluations"), is_thin=is_thin)


def sizes_of(workload: core.Workload) -> dict[str, str]:
    """Sizes in words of every case that may be shown."""
    return {
        case.name: " ".join(f"{name}={size}" for name, size in case.axes.items())
        for case in workload.cases
        if not case.hidden
    }


def cases_of(record: Record | None, workload: core.Workload) -> tuple[CaseRow, ...]:
    """Cases of one evaluation, one bar each; hidden ones are left out."""
    sizes = sizes_of(workload)
    timed = [case for case in record.cases if case.case in sizes] if record else []
    return tuple(
        CaseRow(
            name=case.case,
            sizes=sizes[case.case],
            bars=(
                Bar(
                    name="best candidate",
                    hue=0,
                    speedup=case.speedup.value,
                    low=case.speedup.low,
                    high=case.speedup.high,
                    median_us=case.median_us,
                    baseline_us=case.baseline_us,
                ),
            ),
        )
        for case in timed
    )


def tree_of(rows: Sequence[OutlineRow], best: int) -> tuple[Branch, ...]:
    """The structures as an outline; `best` is the number of the one with the best candidate."""
    return tuple(
        Branch(
            depth=each["depth"],
            name=visible(each["name"])[:300],
            speedup=each["row"]["best"]["speedup"] if each["row"]["best"] else None,
            evaluations=each["row"]["evaluations"],
            is_retained=each["row"]["retained"],
            is_best=each["row"]["number"] == best,
        )
        for each in rows[:MOST_BRANCHES]
    )


def code_of(candidate: Candidate | None) -> tuple[Source, ...]:
    """Files of a candidate; reads its source's row."""
    if candidate is None:
        return ()
    return tuple(
        Source(path=file["path"], language=candidate.language, content=_cut(file["content"], CODE_LIMIT))
        for file in candidate.source.files
    )


def knobs_of(candidate: Candidate | None) -> dict[str, str]:
    """Knob values of a candidate as text."""
    return {name: as_json(value) for name, value in candidate.knobs.items()} if candidate else {}


def transcript_of(structure: Structure | None) -> tuple[tuple[Call, ...], int]:
    """The latest calls to models for a structure, oldest first, and how many earlier ones are left out."""
    if structure is None:
        return (), 0
    rows = ModelCall.objects.filter(step__structure=structure)
    left_out = max(0, rows.count() - MOST_CALLS)
    return tuple(_call(row) for row in rows.order_by("id")[left_out:]), left_out


def _call(row: ModelCall) -> Call:
    asked = [(each["role"], each["content"]) for each in row.attempt["request"]["messages"]]
    answer = (row.reply or {}).get("text", "")
    texts = [*asked, ("answer", answer)] if answer else asked
    return Call(
        role=row.role,
        messages=tuple(
            Message(role=str(role), content=_cut(without_secrets(str(text)), TEXT_LIMIT))
            for role, text in texts
        ),
    )


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}\n… {len(text) - limit:,} characters left out"


def method_of(evaluation: Evaluation | None) -> tuple[Fact, ...]:
    """How the best result was measured."""
    record = record_of(evaluation)
    if record is None:
        return ()
    place = record.environment
    floors = [case.floor_us / case.median_us for case in record.cases if case.floor_us]
    facts = {
        "Baseline": record.baseline,
        "Device": place.device,
        "Driver": place.driver,
        "Runtime": place.runtime,
        "Timing": METHODS.get(record.method or "", ""),
        "Policy": place.policy,
        "Tier": f"{record.tier}, {record.purpose}",
        "Repeats": f"{sum(case.samples for case in record.cases)} timed pairs, cases timed: {len(record.cases)}",
        "Interval": "95 %, bootstrap over paired samples; the headline is the geometric mean over cases",
        "Floor": f"moving the data alone takes at least {geometric_mean(floors):.0%} of that time"
        if floors
        else "",
        "Judge": f"harness {place.harness}",
    }
    return tuple(Fact(name=name, value=visible(value)) for name, value in facts.items() if value)


def language_of(search: Search) -> str:
    """The language of its kernels as people write it."""
    return LANGUAGES.get(search.language, "")


def device_of(evaluation: Evaluation | None) -> str:
    """Model of the device."""
    record = record_of(evaluation)
    return visible(record.environment.device) if record else ""


def day(at: datetime | None) -> str:
    """A day, ISO 8601; empty for none."""
    return f"{at:%Y-%m-%d}" if at else ""
