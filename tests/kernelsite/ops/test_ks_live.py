"""`ks` and the client against a whole site that runs: a search from launch to export, and every page's commands."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import stat
import subprocess
import sys
import time
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

sys.path.append(str(Path(__file__).parents[1] / "browser"))
from site_process import Site

from kernelsite.api.client import ApiError, Client, Credentials
from kernelsite.searches.commands import COMMANDS, commands_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
DEVICE = "recorded:cpu_softmax"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("ks-site")) as site:
        yield site


@pytest.fixture(scope="module")
def browser(site):
    """Logged in with cookies; gets and posts pages."""
    opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def ask(path, data=None):
        if data is None:
            return opener.open(f"{site.url}{path}", timeout=20).read().decode()
        page = ask(data.pop("from", path))
        secret = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
        body = urlencode(data | {"csrfmiddlewaretoken": secret}, doseq=True).encode()
        request = Request(f"{site.url}{path}", body, {"Referer": f"{site.url}/"})
        return opener.open(request, timeout=20).read().decode()

    ask("/accounts/login/", {"username": "admin", "password": site.password})
    return ask


@pytest.fixture(scope="module")
def token(browser):
    """Made on the page, as a person does it."""
    wanted = {
        "name": "ks",
        "days": "2",
        "scopes": ["read", "launch", "share", "admin", "team"],
        "from": "/settings/tokens/",
    }
    return re.search(r"ks_\w{49}", browser("/settings/tokens/new", wanted))[0]


@pytest.fixture(scope="module")
def ks(site, token, tmp_path_factory):
    """Runs `ks` as its own process, logged in through stdin."""
    file = tmp_path_factory.mktemp("home") / "credentials.json"
    outside = {"KERNELSITE_TOKEN", "KERNELSITE_URL"}
    environment = {name: value for name, value in os.environ.items() if name not in outside}
    environment |= {"KERNELSITE_CREDENTIALS": str(file), "PYTHONPATH": str(ROOT)}

    def start(*words, **more):
        command = [sys.executable, "-m", "kernelsite.api.ks", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=environment, stdout=pipe, stderr=pipe, stdin=pipe, text=True, **more
        )

    def ks(*words, status=0, stdin=""):
        process = start(*words)
        out, errors = process.communicate(stdin, timeout=60)
        assert process.returncode == status, out + errors
        return out

    told = ks("login", site.url, stdin=f"{token}\n")
    assert "launch" in told
    assert token not in told
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ks.start = start
    return ks


@pytest.fixture(scope="module")
def search(ks, site):
    """A finished search, watched by a process while the web server was killed."""
    words = ["launch", "softmax", "--device", DEVICE, "--evaluations", "16", "--key", "live", "--json"]
    made = json.loads(ks(*words))
    assert json.loads(ks(*words)) == made
    watching = ks.start("watch", made["short"], "--json")
    first = json.loads(watching.stdout.readline())
    site.kill("web")
    out, errors = watching.communicate(timeout=90)
    assert watching.returncode == 0, errors
    *events, last = [first, *map(json.loads, out.splitlines())]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert last["search"]["state"] == "finished"
    return last["search"]


def test_a_search_is_watched_to_its_end_and_its_program_taken_home(ks, search, tmp_path):
    lines = ks("watch", search["short"])
    assert f"[{search['state']}] · " in lines
    assert f"C-{search['best']['candidate']}" in lines.splitlines()[-1]
    told = ks("best", search["short"], "-o", str(tmp_path))
    (program,) = tmp_path.iterdir()
    assert f"written: {program}" in told
    assert 'extern "C"' in program.read_text()
    rows = list(csv.DictReader(io.StringIO(ks("export", search["short"]))))
    assert len({row["order"] for row in rows if row["order"]}) == search["budget"]["evaluations"]["spent"]
    assert search["best"]["candidate"] in {row["id"] for row in rows}
    assert search["short"] in ks("list", "--state", "finished")


def test_the_client_reads_the_same(site, token, search):
    client = Client(Credentials(site.url, token))
    found = client.searches.get(search["short"])
    best = found.best()
    assert best.sources[0].content
    assert best.id == found.row.best.candidate == search["best"]["candidate"]
    assert len(list(found.structures())) == len(found.snapshot()["structures"])
    assert [event.seq for event in found.watch(after=found.snapshot()["seq"] - 2)][-1] == found.seq
    with pytest.raises(ApiError) as caught:
        found.resume()
    assert caught.value.status == 409


def test_a_link_is_made_opened_by_a_stranger_and_ended(ks, search):
    made = json.loads(ks("share", search["short"], "--title", "For guests", "--json"))
    page = build_opener().open(made["link"], timeout=20).read().decode()
    assert "For guests" in page
    assert f"{made['id']}" in ks("share", "--list").split()
    ks("share", "--revoke", str(made["id"]))
    with pytest.raises(HTTPError) as caught:
        build_opener().open(made["link"], timeout=20)
    assert caught.value.code == 404
    assert ks("share", "--list") == "no link\n"


def test_an_event_is_heard_at_once(site, token):
    """The bell of the broker ends a long poll; the look every five seconds would take longer."""
    client = Client(Credentials(site.url, token))
    # Nothing judges this class, so the search waits and tells nothing by itself.
    search = client.searches.launch("softmax", evaluations=4, device_class="nowhere")
    deadline = time.monotonic() + 20
    while search.refresh().row.state != "waiting" and time.monotonic() < deadline:
        time.sleep(0.2)
    after = search.events(limit=200).seq
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys, time; time.sleep(1.0)"], stdout=subprocess.DEVNULL
    )
    process.wait()
    search.pause()
    page = search.events(after, wait_s=20)
    assert page.items
    assert time.monotonic() - began < 4.5
    search.stop()


def test_every_page_s_commands_run(site, browser, ks, token, search):
    """As they stand on the page: `ks` lines by the shell's rules, curl's address with the token."""
    candidate = search["best"]["candidate"]
    pages = {
        "searches:home": "/", "searches:searches": "/searches/", "searches:search": f"/searches/{search['id']}/",
        "searches:structure": f"/structures/{search['best']['structure']}/",
        "searches:candidate": f"/candidates/{candidate}/", "calls:list": f"/searches/{search['id']}/calls/",
        "compare:new": "/searches/new/", "compare:comparisons": "/compare/", "fleet:workers": "/workers/",
        "endpoints:list": "/settings/models/", "team:team": "/settings/team/", "team:tokens": "/settings/tokens/",
        "team:activity": "/activity/", "shares:shares": "/shares/", "shares:settings": "/settings/sharing/",
        "reviews:queue": "/reviews/",
        "reviews:gate": f"/searches/{search['id']}/gate/", "catalog:workloads": "/workloads/",
        "catalog:libraries": "/libraries/", "notices:inbox": "/notices/", "notices:webhooks": "/settings/webhooks/",
    }  # fmt: skip
    device = next(iter(Client(Credentials(site.url, token)).devices)).id
    pages["fleet:worker"] = f"/workers/{device}/"
    client, ran = Client(Credentials(site.url, token)), 0
    for view, path in pages.items():
        page = browser(path)
        lines = [
            shlex.split(line)
            for line in re.findall(r'<code id="as-[^"]+">([^<]+)</code>', page.replace("&quot;", '"'))
        ]
        assert len(lines) == 1 + len(COMMANDS[view].ks), view
        for line in lines:
            if line[0] == "ks":
                assert ks(*line[1:]), line
            else:
                assert line[:3] == ["curl", "-H", "Authorization: Bearer $KERNELSITE_TOKEN"]
                assert client.request("GET", line[3].removeprefix(f"{site.url}/api/v1")) is not None
            ran += 1
    assert ran >= 25
    assert {"S-1"} <= set(ks("list").split())
    assert commands_of("no:such", {}) is None
