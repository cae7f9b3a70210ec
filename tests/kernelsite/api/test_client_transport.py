"""The client against a server that answers as it is told to: refusals, lost answers, limits."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType

import pytest

from kernelsite.api.client import ApiError, Client, Credentials, UnreachableError
from kernelsite.api.client import transport as sending

SEARCH = {
    "id": 1, "short": "S-1", "title": "t", "strategy": "two_stage", "agent": "playbook", "seed": 0, "device_class": "cpu",
    "language": "cpp", "workload": {"slug": "softmax", "name": "Softmax", "version": 1, "hash": "0"},
    "library": {"slug": "core", "version": 1}, "created_at": "2026-01-01T00:00:00Z", "state": "running", "wait_reason": "",
    "stage": "explore", "reason": "", "started_at": None, "finished_at": None, "last_event_at": None, "budget": {},
    "eta_s": None, "counts": {}, "best": None,
}  # fmt: skip
DROP = "drop the connection"


@pytest.fixture
def served(monkeypatch):
    """Answers of the server in order, each `(status, document, headers)` or `DROP`; and what it was asked."""
    monkeypatch.setattr(sending.time, "sleep", lambda _: None)
    answers, asked = [], []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append((self.command, self.path, dict(self.headers), body))
            wanted = answers.pop(0)
            if wanted == DROP:
                self.close_connection = True
                return
            status, document, headers = wanted
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    client = Client(Credentials(f"http://127.0.0.1:{server.server_port}/below", "ks_token"))
    yield client, answers, asked
    server.shutdown()
    server.server_close()


def problem(status, detail, **more):
    return status, {"status": status, "detail": detail, **more}, {}


def test_the_token_goes_in_a_header_and_nowhere_else(served):
    client, answers, asked = served
    answers += [(200, SEARCH, {})]
    assert client.searches.get("S-1").row.title == "t"
    method, path, headers, _ = asked[0]
    assert (method, path, headers["Authorization"]) == ("GET", "/below/api/v1/searches/1", "Bearer ks_token")


def test_a_launch_whose_answer_was_lost_is_sent_again_with_its_key(served):
    client, answers, asked = served
    answers += [DROP, problem(503, "later"), (201, SEARCH, {})]
    client.searches.launch("softmax", evaluations=8, strategy="mixed", retain=2, title="t")
    assert len({headers["Idempotency-Key"] for _, _, headers, _ in asked}) == 1
    assert len(asked) == 3
    assert json.loads(asked[2][3]) == {
        "workload": "softmax",
        "title": "t",
        "options": {"budget": {"evaluations": 8}, "strategy": "mixed", "stages": {"retain": 2}},
    }


def test_a_deed_whose_answer_was_lost_is_not_sent_again(served):
    client, answers, asked = served
    answers += [DROP]
    with pytest.raises(UnreachableError, match="does not answer"):
        client.request("POST", "/tokens", {"name": "t"})
    assert len(asked) == 1


def test_a_used_up_limit_is_waited_for(served, monkeypatch):
    client, answers, asked = served
    rests = []
    monkeypatch.setattr(sending.time, "sleep", rests.append)
    answers += [(429, {"detail": "too many"}, {"Retry-After": "17"}), (200, SEARCH, {})]
    client.request("POST", "/searches/1/pause")
    assert (rests, len(asked)) == ([17.0], 2)


def test_refusals_name_their_fields(served):
    client, answers, _ = served
    answers += [problem(422, "wrong fields", errors=[{"field": "options.seed", "message": "not below 0"}])]
    with pytest.raises(ApiError) as caught:
        client.searches.launch("softmax")
    assert caught.value.errors == (("options.seed", "not below 0"),)
    assert str(caught.value) == "wrong fields (422)\n  options.seed: not below 0"


@pytest.mark.parametrize(
    "answer", [(302, {}, {"Location": "http://elsewhere/"}), (404, ["<html>"], {}), (500, "x", {})]
)
def test_other_servers_are_not_believed_and_not_followed(served, answer):
    client, answers, asked = served
    answers += [answer]
    with pytest.raises(ApiError) as caught:
        client.me()
    assert (caught.value.status, len(asked)) == (answer[0], 1)


def test_watching_goes_on_after_a_lost_connection_and_ends_with_the_search(served):
    client, answers, asked = served
    event = {
        "kind": "search.state",
        "at": "2026-01-01T00:00:00Z",
        "text": "t",
        "structure": None,
        "candidate": None,
    }
    live = {
        name: SEARCH[name]
        for name in ("state", "wait_reason", "stage", "reason", "started_at", "finished_at")
    }
    live |= {"last_event_at": None, "budget": {}, "eta_s": None, "counts": {"queued": 3}, "best": None}

    def page(*numbers, last, state="running"):
        items = [event | {"seq": number, "search": live | {"state": state}} for number in numbers]
        return 200, {"epoch": "e", "seq": last, "state": state, "items": items, "next": 0}, {}

    answers += [
        (200, SEARCH, {}),
        page(1, 2, last=2),
        DROP,
        problem(502, "no"),
        page(3, last=3, state="finished"),
        page(last=3, state="finished"),
        (200, SEARCH | {"state": "finished"}, {}),
    ]
    search = client.searches.get(1)
    assert [each.seq for each in search.watch()] == [1, 2, 3]
    afters = [path.partition("after=")[2].partition("&")[0] for _, path, _, _ in asked if "after=" in path]
    assert afters == ["0", "2", "2", "2", "3"]
    assert (search.is_over, search.seq, search.row.counts) == (True, 3, {})


def test_another_database_is_watched_from_its_beginning(served):
    client, answers, _ = served

    def page(epoch, seq, state, items=()):
        return 200, {"epoch": epoch, "seq": seq, "state": state, "items": list(items), "next": 0}, {}

    event = {
        "seq": 1,
        "kind": "k",
        "at": "2026-01-01T00:00:00Z",
        "text": "",
        "search": None,
        "structure": None,
    }
    answers += [
        (200, SEARCH, {}),
        page("old", 9, "running"),
        page("new", 1, "finished"),
        page("new", 1, "finished", [event | {"candidate": None}]),
        page("new", 1, "finished"),
        (200, SEARCH | {"state": "finished"}, {}),
    ]
    assert [each.seq for each in client.searches.get(1).watch(after=9)] == [1]


def test_a_frame_needs_pandas_and_rows_do_not(served, monkeypatch):
    client, answers, _ = served
    row = {
        "id": "1.1.001", "number": 1, "structure": 1, "step": 1, "stage": "explore", "kind": "draft", "purpose": "search",
        "tier": "fast", "state": "done", "status": "PASSED", "speedup": 2.0, "low": 1.9, "high": 2.1, "median_us": 5.0,
        "knobs": {"BM": 64}, "order": 1, "device_seconds": 0.1, "spent_device_seconds": 0.1, "spent_tokens": None,
        "spent_cost_usd": None, "at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    answers += [(200, SEARCH, {}), *[(200, {"items": [row], "next": None}, {})] * 3]
    search = client.searches.get(1)
    assert search.rows()[0]["knob.BM"] == 64
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="rows"):
        search.to_frame()
    pandas = ModuleType("pandas")
    pandas.DataFrame = tuple
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    assert search.to_frame()[0]["speedup"] == 2.0


def test_a_downloaded_file_s_name_is_no_path(served):
    client, answers, _ = served
    for sent in ("../../.bashrc", "..", "a\\b.cpp"):
        answers += [(200, {}, {"Content-Disposition": f'attachment; filename="{sent}"'})]
    names = [client.transport.send("GET", "/x").file_name for _ in range(3)]
    assert names == ["bashrc", "download", "b.cpp"]
