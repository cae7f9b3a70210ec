"""A folder of somebody's workloads, from the file chooser to published versions."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect
from test_shell import findings

from search.formats import FORMATS, Collection
from search.workload import shipped_workload
from tests.kernelsite.workload_texts import PICKS

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}
PATIENCE_MS = 60_000
SOLUTION = {
    "name": "blocked softmax",
    "author": "somebody",
    "spec": {"language": "triton", "target_hardware": ["H200"], "entry_point": "main.py::run"},
    "sources": [{"path": "main.py", "content": "KNOBS = {'BLOCK': 128}\n\n\ndef run(x, y):\n    pass\n"}],
}


@pytest.fixture
def folder(tmp_path):
    """A set of two workloads and a program, with a broken definition and a repository's own files in it."""
    ours = [
        shipped_workload(name).model_copy(update={"name": f"their_{name}", "title": f"their {name}"})
        for name in ("softmax", "rmsnorm")
    ]
    files, _ = FORMATS["flashinfer_trace"].write(Collection(tuple(ours)))
    files["solutions/blocked.json"] = json.dumps(SOLUTION | {"definition": "their softmax"}).encode()
    files["definitions/broken.json"] = b'{"name": "broken",\n "axes": }'
    files |= {".git/config": b"[core]", ".git/index.json": b"{}", "README.md": b"# ours"}
    for path, content in files.items():
        (tmp_path / "their set" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "their set" / path).write_bytes(content)
    return tmp_path / "their set"


def test_a_folder_is_taken_in_read_about_and_published(open_page, artifacts, folder):
    page = open_page("/workloads/")
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_label("Or a folder").set_input_files(folder)
    page.get_by_text("6 files of it can be read.").wait_for()
    assert findings(page) == []
    page.screenshot(path=artifacts / "import-form.png", full_page=True)
    page.get_by_role("button", name="Import").click()
    page.get_by_role("heading", name="their set").wait_for()
    rows = page.locator("tbody tr")
    told = dict(
        zip(rows.locator("th").all_inner_texts(), rows.locator(".pill").all_inner_texts(), strict=True)
    )
    assert sorted(told.values()) == ["draft", "draft", "refused", "starting candidate"]
    broken = rows.filter(has_text="broken.json").inner_text()
    assert "line 2" in broken
    assert findings(page) == []
    page.screenshot(path=artifacts / "import-report.png", full_page=True)
    page.get_by_role("button", name="Publish 2 drafts").click()
    page.get_by_text("2 published.").wait_for()
    page.get_by_role("link", name="their softmax").click()
    page.get_by_role("heading", name="their softmax").wait_for()
    assert page.url.endswith("/workloads/their_softmax/")


def test_a_bad_archive_is_refused_in_words_on_a_phone_without_scripts(
    open_page, artifacts, complaints, tmp_path
):
    archive = tmp_path / "set.zip"
    archive.write_bytes(b"PK\x03\x04 and no more")
    page = open_page("/workloads/import/", PHONE, java_script_enabled=False)
    page.get_by_label("Files").set_input_files(archive)
    page.get_by_role("button", name="Import").click()
    complaints.forgive("422")
    assert "damaged" in page.get_by_role("alert").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=artifacts / "import-refused-phone.png", full_page=True)


def test_what_only_a_run_can_tell_is_run_on_the_worker_and_its_operators_are_ranked(
    open_page, artifacts, tmp_path
):
    (tmp_path / "picks.py").write_bytes(PICKS)
    (tmp_path / "fails.py").write_bytes(PICKS.replace(b"[torch.rand(64, 128)]", b"open('/etc/shadow')"))
    page = open_page("/workloads/import/")
    page.get_by_label("Files").set_input_files([tmp_path / "picks.py", tmp_path / "fails.py"])
    page.get_by_label("Run what has to be run").check()
    assert findings(page) == []
    page.screenshot(path=artifacts / "import-run-form.png", full_page=True)
    page.get_by_role("button", name="Import").click()

    # The report fills in by itself; nobody loads it again.
    items = page.locator("#import-items tbody tr")
    expect(items.filter(has_text="picks").locator(".pill")).to_have_text("draft", timeout=PATIENCE_MS)
    expect(items.filter(has_text="fails").locator(".pill")).to_have_text("refused", timeout=PATIENCE_MS)
    expect(items.filter(has_text="fails")).to_contain_text("/etc/shadow")
    page.get_by_role("button", name="Publish 1 draft").wait_for()
    assert findings(page) == []
    page.screenshot(path=artifacts / "import-run-report.png", full_page=True)

    program = page.locator("#import-programs li").filter(has_text="picks.py")
    program.get_by_role("button", name="Rank its operators").click()
    expect(program.locator(".pill")).to_have_text("passed", timeout=PATIENCE_MS)
    program.get_by_role("link", name="Operators").click()
    softmax = page.locator("#operators tbody tr").filter(has_text="_softmax")
    expect(softmax.get_by_role("checkbox")).to_be_checked()
    assert findings(page) == []
    page.screenshot(path=artifacts / "operators.png", full_page=True)
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=artifacts / "operators-phone.png", full_page=True)
    page.get_by_role("button", name="Make workloads of the chosen").click()
    expect(page.locator("#import-items")).to_contain_text("picks__softmax_64x128")
    page.screenshot(path=artifacts / "import-run-phone.png", full_page=True)
