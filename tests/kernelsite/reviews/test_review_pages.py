from __future__ import annotations

import io
import json
import re
import zipfile

import pytest
from django.test import Client
from reviewing import approve, ask_changes, measure, propose

from kernelsite.accounts.models import AuditEntry, Membership, Team
from kernelsite.notices.models import Notice
from kernelsite.reviews.deeds import CHECKLIST
from kernelsite.reviews.models import Entry, Release, Review, TeamRules
from kernelsite.searches.models import Candidate, Evaluation, Search
from search.records import Candidate as Program

HOSTILE = "<script>alert(1)</script>\u202egnp"


@pytest.fixture
def browse(people):
    """A logged-in client by name."""

    def browse(name):
        client = Client()
        client.force_login(people[name])
        return client

    return browse


@pytest.fixture
def review(structure, people):
    return propose(structure, people["mel"])


@pytest.fixture
def green(review, people):
    measure(review, people["mel"])
    return review


@pytest.fixture
def release(green, people):
    approve(green, people["rita"])
    return Release.objects.get()


def field(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', page.content.decode())[1]


def test_from_the_structures_page_to_a_release(browse, structure):
    mel, rita = browse("mel"), browse("rita")
    page = mel.get(structure.get_absolute_url()).content.decode()
    assert f"/structures/{structure.key}/propose/" in page
    answer = mel.post(f"/structures/{structure.key}/propose/", {"license": "MIT", "text": "fast", "key": "1"})
    review = Review.objects.get()
    assert answer.url == review.get_absolute_url()
    assert "in review" in mel.get(structure.get_absolute_url()).content.decode()
    for purpose in ("promote", "remeasure"):
        mel.post(f"/reviews/{review.pk}/measure", {"purpose": purpose, "key": purpose})
    assert Evaluation.objects.filter(state="queued", purpose__in=("promote", "remeasure")).count() == 2
    from reviewing import settle

    settle()
    page = rita.get(review.get_absolute_url())
    form = {"key": field(page, "key"), "seen": field(page, "seen"), "checked": list(CHECKLIST)}
    rita.post(f"/reviews/{review.pk}/approve", form)
    release = Release.objects.get()
    assert "released as softmax r1" in mel.get(structure.get_absolute_url()).content.decode()
    assert "softmax r1" in mel.get("/workloads/softmax/").content.decode()
    assert [row.verb for row in AuditEntry.objects.order_by("id")] == [
        "propose",
        "measure",
        "measure",
        "approve",
    ]
    assert mel.get(release.get_absolute_url()).status_code == 200
    told = {(row.event, user) for row in Notice.objects.all() for user in heard(row)}
    assert told >= {
        ("review.asked", "rita"),
        ("review.asked", "max"),
        ("review.decided", "mel"),
        ("release", "vic"),
    }
    assert not told & {("review.asked", "mel"), ("review.asked", "vic"), ("review.decided", "ruth")}


def heard(notice):
    return set(notice.receipts.values_list("user__username", flat=True))


def test_what_was_refused_says_why_and_keeps_what_was_typed(browse, review):
    answer = browse("rita").post(f"/reviews/{review.pk}/approve", {"text": "looks <good>", "key": "1"})
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "Nothing was changed." in text
    assert "looks &lt;good&gt;</textarea>" in text
    assert not Entry.objects.filter(kind="approved").exists()
    assert not AuditEntry.objects.exists()


def test_a_second_click_is_the_first_ones(browse, green):
    rita = browse("rita")
    page = rita.get(green.get_absolute_url())
    form = {"key": field(page, "key"), "seen": field(page, "seen"), "text": "why?"}
    first, second = (rita.post(f"/reviews/{green.pk}/comment", form) for _ in range(2))
    assert first.url == second.url
    assert Entry.objects.filter(kind="commented").count() == 1
    rita.post(f"/reviews/{green.pk}/changes", form)  # the other button of the same form
    assert Entry.objects.filter(kind="changes").count() == 1
    assert AuditEntry.objects.filter(verb="comment").count() == 1


def test_a_line_comment_stands_under_its_line(browse, review):
    rita = browse("rita")
    form = {"text": HOSTILE, "path": "kernel.cpp", "line": "2", "key": "1"}
    rita.post(f"/reviews/{review.pk}/comment", form)
    text = rita.get(review.get_absolute_url()).content.decode()
    under = text[text.index('id="L2"') : text.index('id="L3"')]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩gnp" in under
    assert "<script>alert" not in text
    assert 'value="2"' in rita.get(f"{review.get_absolute_url()}?line=2").content.decode()


def test_the_page_says_what_an_approval_is_worth(browse, green, people, structure):
    TeamRules.objects.create(team=people["team"], quorum=2)
    approve(green, people["rita"])
    page = browse("ruth").get(green.get_absolute_url()).content.decode()
    assert "1 of 2 approvals" in page
    other = structure.candidates.exclude(pk=green.revision.candidate.pk).get()
    browse("mel").post(f"/reviews/{green.pk}/revise", {"candidate": f"C-{other.key}", "key": "r"})
    page = browse("ruth").get(green.get_absolute_url()).content.decode()
    assert "0 of 2 approvals" in page
    assert "stale" in page
    assert other.hash in page
    assert heard(Notice.objects.get(event="review.stale")) == {"rita"}


@pytest.mark.parametrize(
    ("speedup", "said"),
    [(0.8, "It is slower than its baseline"), (1.001, "It may be no faster than its baseline"), (1.2, "")],
)
def test_whoever_approves_a_slow_kernel_sees_that_it_is(browse, review, people, speedup, said):
    measure(review, people["mel"], speedup=speedup)
    before = browse("rita").get(review.get_absolute_url()).content.decode()
    approve(review, people["rita"])
    after = browse("mel").get(Release.objects.get().get_absolute_url()).content.decode()
    for page in (before, after):
        assert ("than its baseline" in page) is bool(said)
        assert said in page


def test_the_difference_to_the_last_release_is_shown(browse, release, search, people):
    other = propose(search.structures.get(number=2), people["mel"])
    page = browse("rita").get(other.get_absolute_url()).content.decode()
    assert "Against softmax r1" in page
    assert 'class="add"' in page


def test_the_queue_shows_whose_turn_it_is(browse, review, people, search):
    rita = browse("rita")
    assert review.short in rita.get("/reviews/").content.decode()
    assert '<b class="count"' in rita.get("/").content.decode()
    assert "Reviews waiting for me" in rita.get("/").content.decode()
    mel = browse("mel")
    assert review.short in mel.get("/reviews/?show=mine").content.decode()
    assert review.short not in mel.get("/reviews/?show=me").content.decode()
    assert '<b class="count"' not in mel.get("/").content.decode()
    ask_changes(review, people["rita"])
    assert "Nothing waits for you" in rita.get("/reviews/").content.decode()


def test_next_goes_through_what_waits(browse, review, people, search):
    second = propose(search.structures.get(number=2), people["mel"])
    rita = browse("rita")
    assert rita.get("/reviews/next/").url == review.get_absolute_url()
    assert rita.get(f"/reviews/next/?after={review.pk}").url == second.get_absolute_url()
    assert rita.get(f"/reviews/next/?after={second.pk}").url == review.get_absolute_url()
    for row in (review, second):
        ask_changes(row, people["rita"])
    assert rita.get("/reviews/next/").url == "/reviews/"
    Search.objects.filter(pk=search.pk).update(state="waiting", wait_reason="review")
    assert rita.get("/reviews/next/").url == f"/searches/{search.pk}/gate/"


def test_admins_change_the_quorum(browse):
    assert browse("max").post("/reviews/rules", {"quorum": "2"}).status_code == 403
    for word in ("0", "99", "x", ""):
        browse("ada").post("/reviews/rules", {"quorum": word})
        assert not TeamRules.objects.exists()
    browse("ada").post("/reviews/rules", {"quorum": "2"})
    assert TeamRules.objects.get().quorum == 2
    entry = AuditEntry.objects.get()
    assert (entry.before, entry.after) == ({"quorum": 1}, {"quorum": 2})


def test_a_proposal_is_withdrawn_by_its_proposer_or_a_maintainer(browse, review, people):
    Membership.objects.filter(user=people["vic"]).update(role="member")
    assert browse("vic").post(f"/reviews/{review.pk}/withdraw", {"key": "w"}).status_code == 403
    browse("mel").post(f"/reviews/{review.pk}/withdraw", {"key": "w"})
    review.refresh_from_db()
    assert review.state == "withdrawn"


def test_a_release_is_taken_away_in_every_layout(browse, release):
    mel, files = browse("mel"), {}
    for kind in ("source", "contract", "evaluation", "hf"):
        answer = mel.get(f"/releases/{release.pk}/{kind}/")
        assert answer.status_code == 200, answer.content
        name = re.search(r'filename="([^"]+)"', answer["Content-Disposition"])[1]
        assert name.startswith("softmax_r1")
        files[kind] = answer.content
    assert b"KNOBS" in files["source"]
    assert json.loads(files["evaluation"])["purpose"] == "promote"
    names = zipfile.ZipFile(io.BytesIO(files["hf"])).namelist()
    assert {"build.toml", "README.md"} <= set(names)
    assert mel.get(f"/releases/{release.pk}/solution/").status_code == 409  # C++ has an ABI of its own
    page = mel.get(release.get_absolute_url()).content.decode()
    assert "--candidate softmax_r1.cpp" in page
    assert release.citation in page


def test_a_program_that_is_not_what_was_approved_is_not_handed_out(browse, release):
    Candidate.objects.filter(pk=release.candidate_id).update(entry_point="other")
    answer = browse("mel").get(f"/releases/{release.pk}/source/")
    assert answer.status_code == 409
    assert "not the one that was approved" in answer.content.decode()
    assert "Nothing is handed out" in browse("mel").get(release.get_absolute_url()).content.decode()


def test_a_later_result_leaves_a_release_as_it_was(browse, release, structure, people):
    """F147: what was approved is pinned by its hash; what came later is named beside it."""
    other = structure.candidates.exclude(pk=release.candidate_id).get()
    structure.best_candidate, structure.best_speedup = other.key, 9.0
    structure.save()
    second = propose(structure, people["mel"])
    measure(second, people["mel"])
    approve(second, people["rita"])
    page = browse("mel").get(release.get_absolute_url()).content.decode()
    assert release.content_hash in page
    assert "There is a newer release" in page
    assert "softmax r2" in page


def test_things_of_another_team_are_not_there(browse, release, people):
    other = Team.objects.create(name="Others", slug="others")
    Membership.objects.filter(user=people["rita"]).update(team=other, role="admin")
    stranger = browse("rita")
    assert release.name not in stranger.get("/reviews/").content.decode()
    for path in (
        release.get_absolute_url(),
        f"/releases/{release.pk}/source/",
        release.review.get_absolute_url(),
        f"/structures/{release.candidate.structure.key}/propose/",
        f"/searches/{release.candidate.search_id}/gate/",
    ):
        assert stranger.get(path).status_code == 404, path
    assert stranger.post(f"/reviews/{release.review_id}/comment", {"text": "hello"}).status_code == 404


def test_approve_cannot_be_framed(browse, green):
    """F175."""
    answer = browse("rita").get(green.get_absolute_url())
    assert answer["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]


def test_what_is_downloaded_is_the_program_of_the_hash(release):
    row = release.candidate
    program = Program.load(row.record.dump())
    assert program.hash == release.content_hash
