"""What people and devices do in tests of reviews."""

from __future__ import annotations

import itertools

from kernelsite.reviews import deeds
from kernelsite.reviews.deeds import CHECKLIST, Said, present
from kernelsite.reviews.models import EntryKind, Review
from kernelsite.reviews.subject import Subject
from kernelsite.searches import attempts, dispatch
from kernelsite.searches.models import OPEN_ATTEMPTS, Evaluation
from search.records import ClauseVerdict, EvaluationStatus, Interval, Purpose, Verdict

keys = itertools.count(1)


def said(user, text="", **more):
    return Said(user=user, key=more.pop("key", f"key {next(keys)}"), text=text, **more)


def subject(review):
    return Subject(Review.objects.get(pk=review.pk))


def propose(structure, user):
    return deeds.propose(structure, said(user), "MIT")[0]


def answered(
    evaluation, *, status=EvaluationStatus.PASSED, speedup=None, by="host cpu", verdict=Verdict.PASS
):
    """The device's answer to an attempt, as a document."""
    from synthetic_device import answer

    request = dispatch.request_of(evaluation)
    record = answer(request, status)
    clauses = request.contract.clauses if request.contract else ()
    update = {
        "measured_by": by,
        "verdicts": tuple(
            ClauseVerdict(clause=clause, verdict=verdict if number == 0 else Verdict.PASS)
            for number, clause in enumerate(clauses)
        ),
    }
    if speedup:
        update["speedup"] = Interval(value=speedup, low=speedup * 0.99, high=speedup * 1.01)
    return record.model_copy(update=update).dump()


def settle(**more):
    """Every open attempt beside a search gets its answer."""
    rows = Evaluation.objects.filter(state__in=OPEN_ATTEMPTS, purpose__in=["promote", "remeasure"])
    for row in rows.select_related(
        "candidate__source", "candidate__structure", "candidate__parent", "search"
    ):
        attempts.start(row.pk, row.token)
        attempts.record(row.pk, row.token, answered(row, **more))


def measure(review, user, *purposes, **more):
    for purpose in purposes or (Purpose.PROMOTE, Purpose.REMEASURE):
        deeds.measure(review.pk, purpose, said(user))
        settle(**more)


def approve(review, user, **more):
    seen = more.pop("seen", present(subject(review)))
    word = said(user, seen=seen, checked=tuple(CHECKLIST), **more)
    return deeds.decide(review.pk, EntryKind.APPROVED, word)


def ask_changes(review, user, text="too clever"):
    return deeds.decide(review.pk, EntryKind.CHANGES, said(user, text, seen=present(subject(review))))
