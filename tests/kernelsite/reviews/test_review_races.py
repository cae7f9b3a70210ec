"""What the database itself must hold: twenty at once, in threads, and rows that never change.

`test_postgres.py` runs it there too.
"""

from __future__ import annotations

import threading

import pytest
from django.db import IntegrityError, connection, transaction
from reviewing import approve, measure, propose, said, subject

from kernelsite.reviews import deeds
from kernelsite.reviews.deeds import CHECKLIST, ReviewError, present
from kernelsite.reviews.models import Entry, EntryKind, Release, Review
from kernelsite.searches.models import Evaluation
from search.records import Purpose

COUNT = 20


@pytest.fixture
def green(transactional_db, structure, people):
    review = propose(structure, people["mel"])
    measure(review, people["mel"])
    return review


def at_once(deeds_):
    barrier, found = threading.Barrier(len(deeds_)), []

    def run(deed):
        barrier.wait()
        try:
            found.append(deed())
        except ReviewError as error:
            found.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(deed,)) for deed in deeds_]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(deeds_), "a thread died"
    return found


def approval(review, user, key):
    word = said(user, key=key, seen=present(subject(review)), checked=tuple(CHECKLIST))
    return lambda: deeds.decide(review.pk, EntryKind.APPROVED, word)


def test_twenty_approvals_with_one_key_have_one_effect(green, people):
    found = at_once([approval(green, people["rita"], "one")] * COUNT)
    assert sum(is_new for _, is_new in found) == 1
    assert len({entry.pk for entry, _ in found}) == 1
    assert Entry.objects.filter(kind="approved").count() == Release.objects.count() == 1


def test_two_people_who_approve_at_once_make_one_release(green, people):
    both = [approval(green, people[name], name) for name in ("rita", "ruth")] * 5
    found = at_once(both)
    assert Release.objects.count() == 1
    assert Entry.objects.filter(kind="released").count() == 1
    assert any(isinstance(each, tuple) and each[1] for each in found)
    assert Review.objects.get().state == "approved"


def test_an_approval_and_a_change_of_the_code_leave_no_release_of_what_nobody_saw(green, people, structure):
    other = structure.candidates.exclude(pk=subject(green).candidate.pk).get()
    word = said(people["mel"])
    at_once([approval(green, people["rita"], "a"), lambda: deeds.revise(green.pk, other, word)])
    release = Release.objects.first()
    if release is None:
        assert subject(green).candidate.pk == other.pk
        with pytest.raises(ReviewError, match="not green"):
            approve(green, people["rita"])
    else:
        assert release.candidate_id != other.pk


def test_twenty_clicks_on_measure_ask_for_one_measurement(green, people):
    before = Evaluation.objects.filter(purpose="promote").count()
    at_once([lambda: deeds.measure(green.pk, Purpose.PROMOTE, said(people["mel"]))] * COUNT)
    assert Evaluation.objects.filter(purpose="promote").count() == before + 1


def test_twenty_proposals_of_one_structure_are_one_review(transactional_db, structure, people):
    at_once([lambda: deeds.propose(structure, said(people["mel"]), "MIT")] * COUNT)
    assert Review.objects.count() == 1
    assert Review.objects.get().revisions.count() == 1


def test_the_database_refuses_to_change_a_release_or_an_entry(green, people):
    approve(green, people["rita"])
    for rows in (Release.objects.all(), Entry.objects.all()):
        with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
            rows.update(key="x") if rows.model is Entry else rows.update(title="x")
