from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from reviewing import approve, ask_changes, measure, propose, said, settle, subject

from kernelsite.accounts.models import Membership, Role
from kernelsite.fleet.models import Device
from kernelsite.reviews import deeds
from kernelsite.reviews.deeds import ReviewError
from kernelsite.reviews.gates import gates
from kernelsite.reviews.models import Entry, EntryKind, Release, TeamRules
from kernelsite.reviews.standing import approvals, stands
from kernelsite.reviews.waiting import count_for, waiting_for
from kernelsite.searches.models import Evaluation, Search
from search.records import EvaluationStatus, Purpose, Verdict


@pytest.fixture
def review(structure, people):
    return propose(structure, people["mel"])


@pytest.fixture
def green(review, people):
    """A review whose gates are green."""
    measure(review, people["mel"])
    return review


def colours(review):
    return {name: gate.colour for name, gate in gates(subject(review))}


def worth(review):
    return [stand.why_not for stand in stands(subject(review)).values()]


def test_nothing_is_approved_before_every_gate_is_green(review, people):
    assert set(colours(review).values()) == {"wait", "green"}
    with pytest.raises(ReviewError, match="gate is not green"):
        approve(review, people["rita"])
    measure(review, people["mel"], Purpose.PROMOTE)
    assert colours(review)["Measured again"] == "wait"
    with pytest.raises(ReviewError, match="Measured again"):
        approve(review, people["rita"])


def test_an_approval_releases_what_was_measured(green, people, structure):
    approve(green, people["rita"])
    release = Release.objects.get()
    now = subject(green)
    assert now.review.state == "approved"
    assert release.content_hash == now.candidate.hash == now.candidate.record.hash
    assert (release.evaluation_id, release.evaluation.purpose) == (now.evaluation.pk, "promote")
    assert (release.proposed_by, release.approved_by, release.is_solo) == ("mel", ["rita"], False)
    for word in ("softmax r1", release.content_hash, "synthetic baseline", "approved by rita"):
        assert word in release.citation
    with pytest.raises(ReviewError, match="released already, as softmax r1"):
        propose(structure, people["mel"])


def test_measurements_beside_a_search_change_nothing_of_it(review, people, search):
    search.refresh_from_db()
    before = {field: getattr(search, field) for field in SPENT}
    measure(review, people["mel"])
    search.refresh_from_db()
    assert {field: getattr(search, field) for field in SPENT} == before
    rows = Evaluation.objects.filter(purpose__in=["promote", "remeasure"])
    assert {(row.tier, row.state, row.counted, row.charged) for row in rows} == {
        ("full", "done", False, False)
    }


SPENT = (
    "evaluations_spent", "device_seconds_spent", "queued_count", "running_count", "passed_count", "infra_count",
    "best_candidate", "best_speedup",
)  # fmt: skip


def test_a_failing_device_is_asked_again_and_a_failing_program_is_red(review, people):
    deeds.measure(review.pk, Purpose.PROMOTE, said(people["mel"]))
    settle(status=EvaluationStatus.INFRA_ERROR)
    assert Evaluation.objects.filter(purpose="promote").count() == 2
    settle(status=EvaluationStatus.INCORRECT_NUMERICAL)
    assert colours(review)["Promotion tier"] == "red"
    measure(review, people["mel"], Purpose.PROMOTE)
    assert colours(review)["Promotion tier"] == "green"


def test_a_measurement_on_its_way_is_not_asked_for_twice(review, people):
    first, _ = deeds.measure(review.pk, Purpose.PROMOTE, said(people["mel"]))
    second, is_new = deeds.measure(review.pk, Purpose.PROMOTE, said(people["rita"]))
    assert (second.pk, is_new) == (first.pk, False)
    assert Evaluation.objects.filter(purpose="promote").count() == 1


def test_nobody_approves_their_own_proposal(structure, people):
    review = propose(structure, people["ada"])
    measure(review, people["mel"])
    with pytest.raises(ReviewError, match="own proposal"):
        approve(review, people["ada"])
    now = subject(review)
    row = {
        "review": review, "kind": "approved", "by": people["ada"], "proposer": people["ada"], "key": "x",
        "reviser": people["mel"], "revision": now.revision, "evaluation": now.evaluation,
    }  # fmt: skip
    with pytest.raises(IntegrityError, match="entry_four_eyes"), transaction.atomic():
        Entry.objects.create(**row)
    with pytest.raises(IntegrityError, match="entry_four_eyes"), transaction.atomic():
        Entry.objects.create(**row | {"proposer": people["mel"], "reviser": people["ada"]})


def test_whoever_chose_the_candidate_does_not_approve_it_either(green, people, structure):
    other = structure.candidates.exclude(pk=subject(green).candidate.pk).get()
    deeds.revise(green.pk, other, said(people["rita"]))
    measure(green, people["mel"])
    with pytest.raises(ReviewError, match="own proposal"):
        approve(green, people["rita"])
    approve(green, people["ruth"])
    assert Release.objects.get().content_hash == other.hash


def test_a_team_of_one_may_and_it_stays_marked(structure, people):
    Membership.objects.exclude(user=people["ada"]).delete()
    TeamRules.objects.create(team=people["team"], quorum=2)
    review = propose(structure, people["ada"])
    measure(review, people["ada"])
    approve(review, people["ada"])
    assert Release.objects.get().is_solo
    assert Entry.objects.get(kind="approved").is_solo


def test_a_quorum_of_two_needs_two_people(green, people):
    TeamRules.objects.create(team=people["team"], quorum=2)
    approve(green, people["rita"])
    _, is_new = approve(green, people["rita"])
    assert not is_new
    assert not Release.objects.exists()
    approve(green, people["ruth"])
    assert Release.objects.get().approved_by == ["rita", "ruth"]


def test_other_code_makes_an_approval_stale(green, people, structure):
    TeamRules.objects.create(team=people["team"], quorum=2)
    approve(green, people["rita"])
    assert worth(green) == [""]
    other = structure.candidates.exclude(pk=subject(green).candidate.pk).get()
    deeds.revise(green.pk, other, said(people["mel"]))
    assert worth(green) == ["stale"]
    measure(green, people["mel"])
    approve(green, people["ruth"])
    assert not Release.objects.exists()
    assert [entry.by.username for entry in approvals(subject(green))] == ["ruth"]


def test_another_evaluation_makes_an_approval_stale(green, people):
    TeamRules.objects.create(team=people["team"], quorum=2)
    approve(green, people["rita"])
    deeds.measure(green.pk, Purpose.PROMOTE, said(people["mel"]))
    assert worth(green) == ["stale"]
    settle()
    assert worth(green) == ["stale"]
    approve(green, people["rita"])
    approve(green, people["ruth"])
    assert Release.objects.count() == 1


def test_nobody_decides_on_what_they_have_not_seen(green, people, structure):
    seen = deeds.present(subject(green))
    other = structure.candidates.exclude(pk=subject(green).candidate.pk).get()
    deeds.revise(green.pk, other, said(people["mel"]))
    measure(green, people["mel"])
    with pytest.raises(ReviewError, match="has changed since"):
        approve(green, people["rita"], seen=seen)


def test_the_check_list_is_ticked_whole(green, people):
    word = said(people["rita"], seen=deeds.present(subject(green)), checked=("contract",))
    with pytest.raises(ReviewError, match="correctness, independent, licence, readability left"):
        deeds.decide(green.pk, EntryKind.APPROVED, word)


def test_a_request_for_changes_stands_until_its_maker_or_a_maintainer_lifts_it(green, people):
    objection, _ = ask_changes(green, people["ruth"])
    approve(green, people["rita"])
    assert not Release.objects.exists()
    with pytest.raises(ReviewError, match="say why"):
        deeds.dismiss(green.pk, objection.pk, said(people["max"]))
    deeds.dismiss(green.pk, objection.pk, said(people["max"], "she is on holiday, and it was settled"))
    assert Release.objects.get().approved_by == ["rita"]


def test_an_approval_replaces_the_same_persons_request(green, people):
    ask_changes(green, people["rita"])
    approve(green, people["rita"])
    assert worth(green) == ["overtaken", ""]
    assert Release.objects.count() == 1


def test_a_demoted_approver_does_not_count(green, people):
    TeamRules.objects.create(team=people["team"], quorum=2)
    approve(green, people["rita"])
    Membership.objects.filter(user=people["rita"]).update(role="member")
    approve(green, people["ruth"])
    assert not Release.objects.exists()
    assert worth(green) == ["no longer a reviewer", ""]


def test_what_the_judge_could_not_decide_needs_a_person(review, people):
    measure(review, people["mel"], verdict=Verdict.UNDECIDABLE)
    gate = dict(gates(subject(review)))["Contract"]
    assert gate.colour == "red"
    (clause,) = gate.unsettled
    with pytest.raises(ReviewError, match="say why"):
        deeds.acknowledge(review.pk, clause, said(people["rita"]))
    with pytest.raises(ReviewError, match="no such clause"):
        deeds.acknowledge(review.pk, "made up", said(people["rita"], "yes"))
    with pytest.raises(ReviewError, match="own proposal"):
        deeds.acknowledge(review.pk, clause, said(people["mel"], "trust me"))
    deeds.acknowledge(review.pk, clause, said(people["rita"], "read line by line"))
    approve(review, people["ruth"])
    assert Release.objects.exists()


def test_a_violated_contract_is_red(review, people):
    measure(review, people["mel"], verdict=Verdict.VIOLATED)
    assert colours(review)["Contract"] == "red"


def test_two_sessions_must_agree(review, people):
    measure(review, people["mel"], Purpose.PROMOTE, speedup=2.0)
    measure(review, people["mel"], Purpose.REMEASURE, speedup=1.5)
    assert colours(review)["Measured again"] == "red"
    measure(review, people["mel"], Purpose.REMEASURE, speedup=2.1)
    assert colours(review)["Measured again"] == "green"


def test_where_another_device_is_online_it_must_be_the_other(green, people, device):
    assert "same device" in dict(gates(subject(green)))["Measured again"].text
    Device.objects.create(name="other cpu", device_class="cpu", last_seen_at=device.last_seen_at)
    assert colours(green)["Measured again"] == "red"
    measure(green, people["mel"], Purpose.REMEASURE, by="other cpu")
    assert colours(green)["Measured again"] == "green"


def test_a_landscapes_answer_is_no_measurement(green, people):
    Search.objects.update(device_class="recorded:softmax_h200")
    assert colours(green)["Promotion tier"] == "red"


def test_two_proposals_of_one_structure_are_one_review(review, structure, people):
    again, is_new = deeds.propose(structure, said(people["rita"]), "MIT")
    assert (again.pk, is_new) == (review.pk, False)
    deeds.withdraw(review.pk, said(people["mel"]))
    with pytest.raises(ReviewError, match="withdrawn"):
        ask_changes(review, people["rita"])
    assert propose(structure, people["rita"]).pk != review.pk


def test_comments_stand_on_lines_that_are_there(review, people):
    entry, _ = deeds.comment(review.pk, said(people["rita"], "why?", path="kernel.cpp", line=1))
    assert (entry.path, entry.line) == ("kernel.cpp", 1)
    for path, line in (("kernel.cpp", 999), ("other.cpp", 1), ("", 3), ("kernel.cpp", 0)):
        with pytest.raises(ReviewError, match="no line"):
            deeds.comment(review.pk, said(people["rita"], "why?", path=path, line=line))
    with pytest.raises(ReviewError, match="needs a text"):
        deeds.comment(review.pk, said(people["rita"]))


def test_who_waits_for_whom(review, people):
    team = people["team"]
    waits = {
        name: waiting_for(team, user.pk, role_of(user)).count()
        for name, user in people.items()
        if name != "team"
    }
    assert waits == {"ada": 1, "max": 1, "rita": 1, "ruth": 1, "mel": 0, "vic": 0}
    ask_changes(review, people["rita"])
    assert count_for(team, people["rita"].pk, role_of(people["rita"])) == 0
    assert count_for(team, people["ruth"].pk, role_of(people["ruth"])) == 1
    TeamRules.objects.create(team=team, quorum=3)
    measure(review, people["mel"])
    approve(review, people["ruth"])
    assert count_for(team, people["ruth"].pk, role_of(people["ruth"])) == 0
    measure(review, people["mel"], Purpose.PROMOTE)
    assert count_for(team, people["ruth"].pk, role_of(people["ruth"])) == 1


def role_of(user):
    return Role(Membership.objects.get(user=user).role)
