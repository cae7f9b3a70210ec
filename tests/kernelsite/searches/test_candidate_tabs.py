"""The candidate page: result sentence, code, diff, checks, timings, log, downloads; hostile text and damaged results."""

from __future__ import annotations

import io
import json
import re
import zipfile

import pytest
from grown import SAMPLES_US, grow

from kernelsite.searches.models import Evaluation, SourceText
from search.formats import flashinfer_trace

TABS = ("code", "diff", "checks", "timings", "provenance", "log")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
BIDI, NUL, HALF = "\N{RIGHT-TO-LEFT OVERRIDE}", "\x00", "\ud800"


@pytest.fixture
def signed_in(client, alice, team):
    client.force_login(alice)
    return client


@pytest.fixture
def structures(launch):
    return grow(launch(budget=24))


@pytest.fixture
def best(structures):
    """The confirmation of the best candidate."""
    return (
        Evaluation.objects.filter(candidate__structure=structures[-1], purpose="confirm")
        .select_related("candidate__structure__search__workload", "candidate__source")
        .get()
    )


def page(client, key, tab="code", **query):
    response = client.get(f"/candidates/{key}/", {"tab": tab} | query)
    assert response.status_code == 200
    return response


def text_of(response):
    return response.content.decode()


def test_every_tab_asks_a_fixed_number_of_queries(signed_in, best, django_assert_max_num_queries):
    page(signed_in, best.key)  # colours are cached
    for tab in TABS:
        with django_assert_max_num_queries(16):
            page(signed_in, best.key, tab)


def test_the_sentence_says_against_what_where_how_often_and_how_right(signed_in, best):
    sentence = " ".join(
        re.search(r'<p class="sentence">(.*?)</p>', text_of(page(signed_in, best.key)), re.S)[1].split()
    )
    workload = best.candidate.structure.search.workload.record
    hidden = sum(case.hidden for case in workload.cases)
    shown = len(workload.cases) - hidden
    assert "against synthetic baseline, on synthetic" in sentence
    assert f"{len(SAMPLES_US)} slope pairs" in sentence
    assert f"Right on {shown} of {shown} cases and {hidden} hidden one" in sentence
    assert "48 checked calls" in sentence


def test_the_walk_follows_the_order_of_the_table(signed_in, best):
    rows = Evaluation.objects.filter(candidate__structure=best.candidate.structure, speedup__isnull=False)
    fastest, second = rows.order_by("-speedup")[:2]
    around = page(signed_in, fastest.key, sort="speedup").context["neighbours"]
    assert (around.before, around.after.pk, around.place) == (None, second.pk, 1)
    text = text_of(page(signed_in, second.key, sort="speedup"))
    assert f'href="/candidates/{fastest.key}/?tab=code&amp;sort=speedup" data-shortcut="["' in text


# Code and text of strangers ------------------------------------------------------------------------


def with_source(row, content):
    SourceText.objects.filter(pk=row.candidate.source_id).update(
        files=[{"path": "kernel.cpp", "content": content}, {"path": "more.h", "content": "int x;\n"}]
    )


def test_lines_have_anchors_and_each_file_its_own(signed_in, best):
    with_source(best, "int a;\nint b;\n")
    text = text_of(page(signed_in, best.key))
    assert 'id="L2"' in text
    assert 'id="F2-L1"' in text
    assert 'id="L3"' not in text


@pytest.mark.parametrize("evil", [HOSTILE, f"a{BIDI}b", f"a{HALF}b", "a\x1b[31mb", "a\rb\u2028c"])
def test_hostile_source_is_text(signed_in, best, evil):
    with_source(best, evil)
    for tab, query in [
        ("code", {}),
        ("diff", {"against": "direct", "view": "split"}),
        ("diff", {"against": "direct"}),
    ]:
        text = text_of(page(signed_in, best.key, tab, **query))
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2028]", text)


def test_hidden_characters_are_written_out_and_counted(signed_in, best):
    with_source(best, f"if (admin{BIDI}) {{}}")
    response = page(signed_in, best.key)
    assert "⟨U+202E⟩" in re.sub("<[^>]*>", "", text_of(response))
    assert response.context["sources"][0].hidden == 1


def test_a_source_of_50_mb_is_cut_and_downloads_whole(signed_in, best):
    whole = "int x;\n" * (50 * 2**20 // 7)
    with_source(best, whole)
    response = page(signed_in, best.key)
    assert "Only the beginning is shown" in text_of(response)
    assert len(response.content) < 4_000_000
    assert "Too long to compare here" in text_of(page(signed_in, best.key, "diff", against="direct"))


def test_messages_and_logs_are_tidied(signed_in, best):
    row = Evaluation.objects.get(pk=best.pk)
    row.result |= {"log": f"\x1b[31mred\x1b[0m\n 1%\r50%\r100%\r\n{HOSTILE}{BIDI}\n" + "x" * 100_000}
    row.save()
    text = text_of(page(signed_in, best.key, "log"))
    assert "red" in text
    assert "100%" in text
    assert "50%" not in text
    assert "<script>alert" not in text
    assert "characters left out" in text
    assert len(text) < 60_000


def test_a_nonfinite_result_has_a_page_and_no_time(signed_in, best):
    row = Evaluation.objects.get(pk=best.pk)
    row.result |= {"status": "NONFINITE", "message": "`y` holds nan", "cases": [], "speedup": None}
    row.result["median_us"] = None
    row.status, row.speedup, row.low, row.high, row.median_us = "NONFINITE", None, None, None, None
    row.save()
    for tab in TABS:
        assert "holds nan" in text_of(page(signed_in, best.key, tab))
    assert "A speed is reported only for a checked result" in text_of(page(signed_in, best.key, "timings"))


def test_a_result_of_another_version_has_a_page_that_says_so(signed_in, best):
    row = Evaluation.objects.get(pk=best.pk)
    row.result["median_us"] = "NaN"
    row.save()
    for tab in TABS:
        text = text_of(page(signed_in, best.key, tab))
        assert "cannot be read by this version" in text
    assert page(signed_in, best.key).context["tabs"] == ["code", "diff", "provenance"]
    stored = signed_in.get(f"/candidates/{best.key}/evaluation/").content
    assert json.loads(stored)["median_us"] == "NaN"
    for tab in ("blueprint", "contract", "code", "tuning", "candidates", "profile"):
        assert signed_in.get(best.candidate.structure.get_absolute_url(), {"tab": tab}).status_code == 200


# Diff ------------------------------------------------------------------------------------------------


def test_a_diff_against_any_candidate_of_the_team(signed_in, best, structures):
    direct = structures[0].candidates.get()
    context = page(signed_in, best.key, "diff", against=f"C-{direct.key}").context
    assert context["base"] == direct
    assert context["files"][0][1]
    assert page(signed_in, best.key, "diff", against="record").context["base"] is not None


def test_a_diff_against_a_stranger_shows_nothing(client, charlie, signed_in, best, launch, team):
    other = launch(budget=4)
    other.team = charlie.memberships.get().team
    foreign = grow(other)[0].candidates.get()
    context = page(signed_in, best.key, "diff", against=foreign.key).context
    assert context["base"] is None
    assert context["is_missing"]


def test_all_lines_or_changes_unified_or_beside(signed_in, best):
    with_source(best, "".join(f"int x{n};\n" for n in range(50)))
    short = page(signed_in, best.key, "diff", against="direct").context["files"][0][1]
    whole = page(signed_in, best.key, "diff", against="direct", lines="all").context["files"][0][1]
    assert len(whole) >= 50
    assert short
    beside = page(signed_in, best.key, "diff", against="direct", view="split").context["files"][0][1]
    assert {row.new.text for row in beside if row.new} >= {"int x0;", "int x49;"}


# Checks and timings ----------------------------------------------------------------------------------


def test_errors_of_each_case_are_shown_when_the_judge_kept_them(signed_in, best):
    assert "kept no largest error" in text_of(page(signed_in, best.key, "checks"))
    row = Evaluation.objects.get(pk=best.pk)
    stage = next(stage for stage in row.result["stages"] if stage["stage"] == "correctness")
    told = {"y": {"max_abs": 1.25e-7, "max_rel": 3e-5, "used": 0.31}}
    stage["details"]["cases"] = [{"case": "main", "calls": 6, "outputs": told}, "nonsense"]
    row.save()
    text = text_of(page(signed_in, best.key, "checks"))
    assert "31% of the bound" in text
    assert "1.2e-07 absolute" in text


def test_a_failed_correctness_stage_calls_no_case_right(signed_in, best):
    row = Evaluation.objects.get(pk=best.pk)
    row.result |= {"status": "INCORRECT_NUMERICAL", "cases": [], "speedup": None, "median_us": None}
    for stage in row.result["stages"]:
        stage["passed"] = stage["stage"] != "correctness"
    row.status = "INCORRECT_NUMERICAL"
    row.save()
    context = page(signed_in, best.key, "checks").context
    assert {case.verdict for case in context["cases"]} == {"not told"}
    assert context["rightness"] is None


def test_timings_mark_outliers_and_show_the_clocks(signed_in, best):
    response = page(signed_in, best.key, "timings")
    (row,) = response.context["timings"]
    assert [dot.number for dot in row.dots if dot.is_outlier] == [len(SAMPLES_US)]
    assert row.steps.startswith("M0 120")
    text = text_of(response)
    assert "1980 → 1965 MHz" in text
    assert "outlier" in text


# Downloads -------------------------------------------------------------------------------------------


def test_the_standalone_file_holds_the_knob_values(signed_in, best):
    response = signed_in.get(f"/candidates/{best.key}/source/")
    first = response.content.decode().splitlines()[0]
    assert json.loads(first.removeprefix("// KNOBS ")) == best.candidate.knobs
    assert response["Content-Type"] == "application/octet-stream"
    assert re.fullmatch(r'attachment; filename="softmax_[\d_]+\.cpp"', response["Content-Disposition"])
    command = page(signed_in, best.key, "provenance").context["command"]
    assert response["Content-Disposition"].split('"')[1] in command


def test_a_repository_for_the_hub_and_a_file_that_stands_alone(signed_in, best):
    answer = signed_in.get(f"/candidates/{best.key}/hub/?license=MIT")
    packed = zipfile.ZipFile(io.BytesIO(answer.content))
    files = {name: packed.read(name).decode() for name in packed.namelist()}
    assert 'license = "MIT"' in files["softmax/build.toml"]
    assert "softmax/torch-ext/torch_binding.cpp" in files
    assert best.candidate.record.hash in files["softmax/README.md"]
    assert answer["Content-Type"] == "application/octet-stream"
    refused = signed_in.get(f"/candidates/{best.key}/hub/?license=%22%0Aevil")
    assert (refused.status_code, "SPDX" in refused.content.decode()) == (409, True)
    alone = signed_in.get(f"/candidates/{best.key}/standalone/").content.decode()
    assert best.candidate.record.hash in alone
    assert {"hub", "standalone"} <= set(dict(page(signed_in, best.key).context["downloads"]))


def test_cpp_is_no_flashinfer_solution_and_says_why(signed_in, best):
    response = signed_in.get(f"/candidates/{best.key}/solution/")
    assert response.status_code == 409
    assert "our own ABI" in response.content.decode()
    assert "solution" not in dict(page(signed_in, best.key).context["downloads"])


def test_triton_is_a_flashinfer_trace_set(signed_in, best):
    source = 'KNOBS = {"BLOCK": 64}\n\ndef run(x, y):\n    y.copy_(x.softmax(-1))\n'
    row = best.candidate
    SourceText.objects.filter(pk=row.source_id).update(files=[{"path": "main.py", "content": source}])
    row.language, row.knobs = "triton", {"BLOCK": 128}
    row.save()
    solution = json.loads(signed_in.get(f"/candidates/{best.key}/solution/").content)
    assert "'BLOCK': 128" in solution["sources"][0]["content"]
    Evaluation.objects.filter(pk=best.pk).update(finished_at="2026-01-01T00:00:00Z")
    packed = zipfile.ZipFile(io.BytesIO(signed_in.get(f"/candidates/{best.key}/traces/").content))
    collection, _ = flashinfer_trace.parse({name: packed.read(name) for name in packed.namelist()})
    assert collection.solutions[0].name == solution["name"]
    assert collection.traces
    hidden = {case.name for case in row.structure.search.workload.record.cases if case.hidden}
    assert not hidden & {case.name for case in collection.workloads[0].cases}


def test_contract_and_evaluation_are_the_stored_ones(signed_in, best):
    contract = json.loads(signed_in.get(f"/candidates/{best.key}/contract/").content)
    assert contract == best.candidate.structure.record.contract.dump()
    evaluation = json.loads(signed_in.get(f"/candidates/{best.key}/evaluation/").content)
    assert evaluation == Evaluation.objects.get(pk=best.pk).result


def test_downloads_keep_to_the_team(client, charlie, best):
    client.force_login(charlie)
    for kind in ("source", "solution", "traces", "contract", "evaluation"):
        assert client.get(f"/candidates/{best.key}/{kind}/").status_code == 404
