"""What every route answers to whom. A route of the URL configuration without a row here fails the test."""

from __future__ import annotations

from dataclasses import dataclass, field

ROLES = ("viewer", "member", "reviewer", "maintainer", "admin")
PERSONAS = ("anonymous", "guest", "stranger", *ROLES, "removed")
"""`guest` has a share link and no account; `stranger` is admin of another team; `removed` was an admin of this one."""


@dataclass(frozen=True)
class Row:
    """One request; `path` is filled from the world's names."""

    path: str
    answers: dict[str, int]
    method: str = "GET"
    data: dict = field(default_factory=dict)
    audited: bool = True
    """Whether a successful POST writes exactly one entry."""


def answers(members, *, anonymous=302, stranger=404, removed=404, least="viewer", below=403):
    roles = {role: members if ROLES.index(role) >= ROLES.index(least) else below for role in ROLES}
    return {"anonymous": anonymous, "guest": anonymous, "stranger": stranger, **roles, "removed": removed}


def page(path):
    """Of a thing of the team."""
    return Row(path, answers(200))


def hall(path, removed=200):
    """The same for everybody who is logged in; what it lists is the team's."""
    return Row(path, answers(200, stranger=200, removed=removed))


def form(path, least):
    return Row(path, answers(200, stranger=200, removed=403, least=least))


def deed(path, least, ok=302, data=None, stranger=404, audited=True, removed=403):
    return Row(
        path, answers(ok, stranger=stranger, removed=removed, least=least), "POST", data or {}, audited
    )


def api_page(path, stranger=404):
    return Row(path, answers(200, anonymous=401, stranger=stranger, removed=401))


def api_deed(path, least, ok=200, data=None, stranger=404, method="POST", audited=True, below=403):
    told = answers(ok, anonymous=401, stranger=stranger, removed=401, least=least, below=below)
    return Row(path, told, method, data or {}, audited)


def everybody(path, status=200):
    return Row(path, dict.fromkeys(PERSONAS, status))


def own_affair(path, method="GET", data=None, status=302):
    """A person's own, in a team or not; POSTs among them are told to nobody."""
    return Row(path, answers(status, stranger=status, removed=status), method, data or {}, audited=False)


S = "/searches/{search}/"
V1 = "/api/v1/searches/{search}"
MODEL = {"name": "other", "base_url": "http://127.0.0.1:1/v1", "model": "m"}
W = "/settings/webhooks/{webhook}/"
HOOK = {"name": "chat", "url": "http://127.0.0.1:9/x", "style": "slack", "events": ["record"]}
LOOK = {"theme": "dark", "density": "roomy", "time_zone": "UTC", "shortcuts": "on"}
LAUNCH = {"workload": "softmax", "options": {"budget": {"evaluations": 8}, "device_class": "cpu"}}
API_SHARE = {"kind": "search", "thing": "{search}"}
SHARE = {"kind": "search", "id": "{search}", "title": "Shared", "days": "7", "state": "frozen", "tree": "on"}
RELU = "first_relu_64x128"
PRICE = {"input_usd": "1", "output_usd": "2", "valid_from": "2030-01-01"}

TABLE = {
    "searches:home": [hall("/")],
    "searches:find": [hall("/find/?q=softmax")],
    "searches:searches": [hall("/searches/")],
    "searches:running_json": [hall("/searches/running.json")],
    "searches:search": [page(S)],
    "searches:snapshot": [page(S + "snapshot.json")],
    "searches:events": [page(S + "events.json")],
    "searches:log": [page(S + "log.json")],
    "searches:beliefs": [page(S + "beliefs.json")],
    "searches:candidates_csv": [page(S + "candidates.csv")],
    "searches:act": [deed(S + f"actions/{word}", "member", 303) for word in ("pause", "resume", "stop")],
    "searches:structure": [page("/structures/{search}.1/")],
    "searches:structure_csv": [page("/structures/{search}.1/candidates.csv")],
    "searches:candidate": [page("/candidates/{search}.3.001/")],
    "searches:candidate_file": [
        page("/candidates/{search}.3.001/source/"),
        page("/candidates/{search}.3.001/evaluation/"),
    ],
    "calls:list": [page(S + "calls/")],
    "calls:jsonl": [page(S + "calls.jsonl")],
    "calls:call": [page(S + "calls/{call}/")],
    "calls:json": [page(S + "calls/{call}.json")],
    "calls:caps": [deed(S + "caps", "member", 303, {"tokens": "90000"})],
    "compare:new": [
        form("/searches/new/", "member"),
        deed("/searches/new/", "member", 422, stranger=422, audited=False),
    ],
    "compare:comparisons": [hall("/compare/")],
    "compare:pick": [hall("/compare/pick/")],
    "compare:parts": [hall("/compare/parts/?p=ST-{search}.1")],
    "compare:save": [
        deed("/compare/save/", "member", 302, {"s": "{search}", "slug": "a-set", "title": "A set"})
    ],
    "compare:curves": [page("/compare/curves.json?s={search}")],
    "compare:data": [page("/compare/data.json?s={search}"), page("/compare/data.csv?s={search}")],
    "compare:comparison": [page("/compare/{comparison}/")],
    "compare:saved": [page("/compare/kept/")],
    "compare:forget": [deed("/compare/kept/forget/", "member")],
    "compare:views": [
        hall("/views/"),
        deed("/views/", "viewer", 302, {"path": "/searches/", "query": "sort=best"}, stranger=302),
    ],
    "compare:view": [Row("/views/kept-by-alice/", answers(302))],
    "compare:forget_view": [
        Row(
            "/views/kept-by-alice/forget/",
            answers(302, removed=403, least="admin", below=404),
            "POST",
            {},
            True,
        )
    ],
    "shares:shares": [hall("/shares/")],
    "shares:new": [
        Row("/shares/new/?kind=search&id={search}", answers(200, removed=403, least="member")),
        deed("/shares/new/", "member", 200, SHARE),
        deed("/shares/new/", "maintainer", 200, SHARE | {"code": "on"}),
        deed("/shares/new/", "maintainer", 200, SHARE | {"transcript": "on"}),
    ],
    "shares:revoke": [deed("/shares/{share}/revoke", "member")],
    "shares:extend": [
        deed("/shares/{share}/extend", "member", data={"days": "9"}),
        deed("/shares/{code_share}/extend", "maintainer", data={"days": "9"}),
    ],
    "shares:settings": [hall("/settings/sharing/", removed=403)],
    "shares:set_rules": [
        deed("/settings/sharing/rules", "admin", data={"longest_days": "9"}, stranger=302),
    ],
    # Closes links of every team, so an admin of any of them may.
    "shares:set_site": [deed("/settings/sharing/site", "admin", data={"open": "no"}, stranger=302)],
    "shares:page": [everybody("/p/{guest_token}/"), everybody("/p/x/", 404)],
    "shares:data": [everybody("/p/{guest_token}/data.json"), everybody("/p/x/data.json", 404)],
    "shares:picture": [everybody("/p/{guest_token}/picture.png"), everybody("/p/x/picture.png", 404)],
    "shares:figure": [
        everybody("/p/{guest_token}/figures/best-so-far.svg"),
        everybody("/p/x/figures/best-so-far.svg", 404),
    ],
    "reviews:gate": [
        page(S + "gate/"),
        deed(S + "gate/", "reviewer", 422, audited=False, removed=404),
    ],
    "reviews:propose": [
        Row("/structures/{search}.1/propose/", answers(200, least="member")),
        deed("/structures/{search}.1/propose/", "member", data={"license": "MIT"}, removed=404),
    ],
    "reviews:queue": [hall("/reviews/", removed=403)],
    "reviews:next": [Row("/reviews/next/", answers(302, stranger=302, removed=302))],
    "reviews:rules": [deed("/reviews/rules", "admin", data={"quorum": "2"}, stranger=302)],
    "reviews:review": [page("/reviews/{review}/")],
    # The member has proposed it.
    "reviews:act": [
        deed("/reviews/{review}/comment", "member", data={"text": "?"}, removed=404),
        deed("/reviews/{review}/measure", "member", data={"purpose": "promote"}, removed=404),
        deed("/reviews/{review}/revise", "member", 422, audited=False, removed=404),
        Row(
            "/reviews/{review}/withdraw",
            answers(302, least="member") | {"reviewer": 403},
            "POST",
        ),
        deed("/reviews/{review}/changes", "reviewer", data={"text": "no", "seen": "1-0"}, removed=404),
        deed("/reviews/{review}/approve", "reviewer", 422, audited=False, removed=404),
        deed("/reviews/{review}/acknowledge", "reviewer", 422, audited=False, removed=404),
        deed("/reviews/{review}/dismiss", "maintainer", 422, audited=False, removed=404),
    ],
    "reviews:release": [page("/releases/{release}/")],
    "reviews:release_file": [page("/releases/{release}/source/")],
    "catalog:workloads": [hall("/workloads/")],
    "catalog:workload": [hall("/workloads/softmax/")],
    "catalog:workload_version": [hall("/workloads/softmax/v/1/"), page("/workloads/rows/v/1/")],
    "catalog:workloads_csv": [hall("/workloads/workloads.csv")],
    "catalog:workload_diff": [hall("/workloads/diff/"), page("/workloads/diff/?old=rows@1&new=softmax@1")],
    "catalog:workload_new": [
        form("/workloads/new/", "member"),
        deed("/workloads/new/", "member", data={"name": "fresh", "title": ""}, stranger=302),
    ],
    "catalog:workload_fork": [
        form("/workloads/softmax/v/1/fork/", "member"),
        deed("/workloads/rows/v/1/fork/", "member", data={"name": "fresh"}),
    ],
    "catalog:workload_act": [
        deed("/workloads/rows/v/1/edit/", "member"),
        deed("/workloads/rows/v/1/validate/", "member"),
        deed("/workloads/rows/v/1/acknowledge/", "member", audited=False),
        deed("/workloads/rows/v/1/retire/", "member"),
    ],
    "catalog:workload_draft": [
        page("/workloads/drafts/begun/"),
        deed("/workloads/drafts/begun/", "member", data={"step": "save"}, audited=False, removed=404),
        deed("/workloads/drafts/sound/", "member", data={"step": "validate"}, removed=404),
        deed("/workloads/drafts/sound/", "member", data={"step": "publish"}, removed=404),
        deed("/workloads/drafts/begun/", "member", data={"step": "discard"}, removed=404),
    ],
    "catalog:workload_check": [
        deed("/workloads/drafts/begun/check/", "member", 200, audited=False, removed=404)
    ],
    "catalog:validation_cancel": [deed("/workloads/validations/{validation}/cancel/", "member")],
    "catalog:workload_import": [
        form("/workloads/import/", "member"),
        deed("/workloads/import/", "member", 422, stranger=422, audited=False),
    ],
    "catalog:workload_import_program": [
        deed("/workloads/import/program/", "member", 302, stranger=302, audited=False)
    ],
    "catalog:workload_import_report": [page("/workloads/imports/{import}/")],
    "catalog:workload_import_publish": [deed("/workloads/imports/{import}/publish/", "member")],
    "catalog:probe_run": [deed("/workloads/imports/{import}/probes/", "member", data={"place": "0"})],
    "catalog:probe_cancel": [deed("/workloads/imports/{import}/probes/{probe}/cancel/", "member")],
    "catalog:probe_operators": [page("/workloads/imports/{import}/probes/{profile}/")],
    "catalog:probe_make": [
        deed("/workloads/imports/{import}/probes/{profile}/make/", "member", data={"operator": RELU})
    ],
    "catalog:workload_export": [hall("/workloads/softmax/v/1/export/kernelsite/")],
    "catalog:libraries": [hall("/libraries/")],
    "catalog:library": [hall("/libraries/core/")],
    "catalog:library_version": [hall("/libraries/core/v/{library}/")],
    "catalog:library_import": [
        form("/libraries/import/", "member"),
        deed("/libraries/import/", "member", 422, stranger=422, audited=False),
    ],
    "catalog:library_diff": [hall("/libraries/diff/")],
    "catalog:library_draft": [
        page("/libraries/drafts/small/"),
        deed("/libraries/drafts/small/", "member", data={"step": "discard"}, removed=404),
        deed("/libraries/drafts/small/", "member", data={"step": "publish"}, removed=404),
    ],
    "catalog:library_file": [
        page("/libraries/drafts/small/file/"),
        deed(
            "/libraries/drafts/small/file/",
            "member",
            data={"new_name": "20_new.yaml", "text": "actions: []"},
            removed=404,
        ),
    ],
    "catalog:library_draft_zip": [page("/libraries/drafts/small/export.zip")],
    "catalog:library_statistics": [hall("/libraries/core/v/{library}/statistics/")],
    "catalog:library_export": [
        hall("/libraries/core/v/{library}/export.yaml"),
        hall("/libraries/core/v/{library}/export.zip"),
        page("/libraries/ours/v/1/export.yaml"),
    ],
    "catalog:library_fork": [
        form("/libraries/core/v/{library}/fork/", "member"),
        deed("/libraries/core/v/{library}/fork/", "member", data={"name": "forked"}, stranger=302),
    ],
    "catalog:library_act": [
        deed("/libraries/ours/v/1/edit/", "member"),
        deed("/libraries/ours/v/1/retire/", "member"),
    ],
    "fleet:workers": [hall("/workers/")],
    "fleet:worker": [hall("/workers/{device}/")],
    # Devices serve every team of a site, so a maintainer of any of them may keep them.
    "fleet:act": [deed("/workers/{device}/drain/", "maintainer", stranger=302)],
    "endpoints:list": [hall("/settings/models/")],
    "endpoints:new": [form("/settings/models/new/", "maintainer")],
    "endpoints:endpoint": [page("/settings/models/{endpoint}/")],
    "endpoints:add_price": [deed("/settings/models/{endpoint}/prices", "maintainer", 302, PRICE)],
    "endpoints:drop_price": [deed("/settings/models/{endpoint}/prices/{price}/drop", "maintainer")],
    "endpoints:act": [
        deed("/settings/models/{endpoint}/disable", "maintainer"),
        deed("/settings/models/{endpoint}/delete", "maintainer"),
    ],
    "notices:inbox": [hall("/notices/")],
    "notices:read": [own_affair("/notices/read", "POST")],
    "notices:settings": [hall("/settings/notifications/"), own_affair("/settings/notifications/", "POST")],
    "notices:webhooks": [hall("/settings/webhooks/")],
    "notices:new_webhook": [deed("/settings/webhooks/new", "maintainer", 200, HOOK, stranger=200)],
    "notices:webhook": [page(W), deed(W, "maintainer", data=HOOK, removed=404)],
    "notices:act": [
        deed(W + "off", "maintainer"),
        deed(W + "on", "maintainer"),
        deed(W + "secret", "maintainer", 200),
        deed(W + "delete", "maintainer"),
    ],
    "notices:again": [deed(W + "deliveries/{delivery}/again", "maintainer")],
    "team:profile": [hall("/settings/profile/"), own_affair("/settings/profile/", "POST", LOOK)],
    # Nobody in this table has a password, so none is the right one.
    "team:email": [own_affair("/settings/profile/address", "POST", status=422)],
    "team:password": [own_affair("/settings/profile/password", "POST", status=422)],
    "team:end_sessions": [
        Row(
            "/settings/profile/sessions",
            answers(302, stranger=302, removed=302),
            "POST",
            {"which": "others"},
        )
    ],
    "team:team": [hall("/settings/team/", removed=403)],
    "team:invite": [
        deed(
            "/settings/team/invite",
            "admin",
            200,
            {"email": "new@example.org", "role": "member"},
            stranger=200,
        )
    ],
    "team:revoke_invitation": [deed("/settings/team/invitations/{invitation}/revoke", "admin")],
    "team:change": [
        deed("/settings/team/members/{viewer}", "admin", 302, {"role": "member"}),
        deed("/settings/team/members/{viewer}", "admin", 302, {"role": "removed"}),
    ],
    # Where one works is no change of anything that others see.
    "team:switch": [
        Row("/settings/team/switch", answers(302), "POST", {"team": "{team}"}, audited=False),
    ],
    "team:tokens": [hall("/settings/tokens/", removed=403)],
    "team:new_token": [
        Row(
            "/settings/tokens/new",
            answers(200, stranger=200, removed=403),
            "POST",
            {"name": "nightly", "days": "30", "scopes": ["read"]},
        )
    ],
    # The token is another member's: only admins find it.
    "team:revoke_token": [
        Row("/settings/tokens/{token}/revoke", answers(302, least="admin", below=404), "POST"),
    ],
    "team:activity": [hall("/activity/")],
    "team:activity_csv": [hall("/activity.csv")],
    "accounts:login": [
        Row("/accounts/login/", {**dict.fromkeys(PERSONAS, 302), "anonymous": 200, "guest": 200})
    ],
    "accounts:logout": [Row("/accounts/logout/", dict.fromkeys(PERSONAS, 302), "POST", audited=False)],
    "accounts:forgotten": [
        everybody("/accounts/forgotten/"),
        Row("/accounts/forgotten/", dict.fromkeys(PERSONAS, 200), "POST", {"email": "a@example.org"}, False),
    ],
    "accounts:reset_confirm": [everybody("/accounts/reset/x/y/")],
    "accounts:address": [Row("/accounts/address/x/", answers(404))],
    "accounts:accept": [
        everybody("/accounts/invitations/{secret}/"),
        everybody("/accounts/invitations/x/", 404),
    ],
    "api:docs": [hall("/api/docs/")],
    "api:openapi": [hall("/api/openapi.json")],
    "api:missing": [everybody("/api/v1/nothing", 404)],
    "api:searches": [api_page("/api/v1/searches", stranger=200)],
    "api:launch": [api_deed("/api/v1/searches", "member", 201, LAUNCH, stranger=201)],
    "api:launch_form": [api_page("/api/v1/launch-form", stranger=200)],
    "api:search": [api_page(V1)],
    "api:settings": [api_page(V1 + "/settings")],
    "api:snapshot": [api_page(V1 + "/snapshot")],
    "api:pause": [api_deed(V1 + "/pause", "member")],
    "api:resume": [api_deed(V1 + "/resume", "member")],
    "api:stop": [api_deed(V1 + "/stop", "member")],
    "api:caps": [api_deed(V1 + "/caps", "member", data={"tokens": 90000, "cost_usd": None}, method="PUT")],
    "api:events": [api_page(V1 + "/events?after=1")],
    "api:calls": [api_page(V1 + "/calls")],
    "api:call": [api_page(V1 + "/calls/{call}")],
    "api:structures": [api_page(V1 + "/structures")],
    "api:candidates": [api_page(V1 + "/candidates")],
    "api:structure": [api_page("/api/v1/structures/{search}.1")],
    "api:candidate": [api_page("/api/v1/candidates/{search}.3.001")],
    "api:evaluations": [api_page("/api/v1/candidates/{search}.3.001/evaluations")],
    "api:candidate_file": [api_page("/api/v1/candidates/{search}.3.001/files/source")],
    "api:comparisons": [api_page("/api/v1/comparisons", stranger=200)],
    "api:launch_comparison": [api_deed("/api/v1/comparisons", "member", 201, LAUNCH, stranger=201)],
    "api:comparison": [api_page("/api/v1/comparisons/{comparison}")],
    "api:side_by_side": [api_page("/api/v1/side-by-side?s={search}")],
    "api:saved_sets": [api_page("/api/v1/saved-sets", stranger=200)],
    "api:saved_set": [api_page("/api/v1/saved-sets/kept")],
    # Names are a team's own; what a stranger cannot find there are the searches.
    "api:save_set": [
        api_deed(
            "/api/v1/saved-sets/a-set",
            "member",
            201,
            {"title": "A set", "searches": ["{search}"]},
            stranger=422,
            method="PUT",
        )
    ],
    "api:forget_set": [api_deed("/api/v1/saved-sets/kept", "member", 204, method="DELETE")],
    "api:devices": [api_page("/api/v1/devices", stranger=200)],
    "api:device": [api_page("/api/v1/devices/{device}", stranger=200)],
    "api:decide": [api_deed("/api/v1/devices/{device}/drain", "maintainer", stranger=200)],
    "api:models": [api_page("/api/v1/models", stranger=200)],
    "api:model": [api_page("/api/v1/models/{endpoint}")],
    "api:add_model": [api_deed("/api/v1/models", "maintainer", 201, MODEL, stranger=201)],
    "api:change_model": [
        api_deed("/api/v1/models/{endpoint}", "maintainer", data={"concurrency": 2}, method="PATCH")
    ],
    "api:delete_model": [api_deed("/api/v1/models/{endpoint}", "maintainer", 204, method="DELETE")],
    "api:add_price": [api_deed("/api/v1/models/{endpoint}/prices", "maintainer", data=PRICE)],
    "api:drop_price": [
        api_deed("/api/v1/models/{endpoint}/prices/{price}", "maintainer", 204, method="DELETE")
    ],
    "api:act_on_model": [api_deed("/api/v1/models/{endpoint}/disable", "maintainer")],
    "api:me": [api_page("/api/v1/me", stranger=200)],
    "api:team": [api_page("/api/v1/team", stranger=200)],
    "api:invite": [
        api_deed("/api/v1/team/invitations", "admin", 201, {"email": "new@example.org"}, stranger=201)
    ],
    "api:take_back_invitation": [
        api_deed("/api/v1/team/invitations/{invitation}", "admin", 204, method="DELETE")
    ],
    "api:change_member": [
        api_deed("/api/v1/team/members/{viewer}", "admin", data={"role": "member"}, method="PATCH")
    ],
    "api:remove_member": [api_deed("/api/v1/team/members/{viewer}", "admin", 204, method="DELETE")],
    "api:tokens": [api_page("/api/v1/tokens", stranger=200)],
    "api:make_token": [api_deed("/api/v1/tokens", "viewer", 201, {"name": "t"}, stranger=201)],
    # The token is another member's: only admins find it.
    "api:end_token": [
        Row(
            "/api/v1/tokens/{token}",
            answers(204, anonymous=401, removed=401, least="admin", below=404),
            "DELETE",
        )
    ],
    "api:reviews": [api_page("/api/v1/reviews", stranger=200)],
    "api:review": [api_page("/api/v1/reviews/{review}")],
    "api:propose": [api_deed("/api/v1/reviews", "member", 201, {"structure": "{search}.1"})],
    # As `reviews:act`.
    "api:act_on_review": [
        api_deed("/api/v1/reviews/{review}/comment", "member", data={"text": "?"}),
        api_deed("/api/v1/reviews/{review}/measure", "member", data={"purpose": "promote"}),
        api_deed("/api/v1/reviews/{review}/changes", "reviewer", data={"text": "no", "seen": "1-0"}),
        Row(
            "/api/v1/reviews/{review}/approve",
            answers(409, anonymous=401, removed=401, least="reviewer"),
            "POST",
            audited=False,
        ),
        Row(
            "/api/v1/reviews/{review}/dismiss",
            answers(409, anonymous=401, removed=401, least="maintainer"),
            "POST",
            audited=False,
        ),
    ],
    "api:releases": [api_page("/api/v1/releases", stranger=200)],
    "api:release": [api_page("/api/v1/releases/{release}")],
    "api:release_file": [api_page("/api/v1/releases/{release}/files/source")],
    "api:gate": [api_page(V1 + "/gate")],
    "api:decide_gate": [
        Row(V1 + "/gate", answers(409, anonymous=401, removed=401, least="reviewer"), "POST", audited=False)
    ],
    "api:shares": [api_page("/api/v1/shares", stranger=200)],
    "api:make_share": [
        api_deed("/api/v1/shares", "member", 201, API_SHARE),
        api_deed("/api/v1/shares", "maintainer", 201, API_SHARE | {"code": True}),
    ],
    "api:end_share": [api_deed("/api/v1/shares/{share}", "member", 204, method="DELETE")],
    "api:extend_share": [
        api_deed("/api/v1/shares/{share}/extend", "member", data={"days": 9}),
        api_deed("/api/v1/shares/{code_share}/extend", "maintainer", data={"days": 9}),
    ],
    "api:sharing": [api_page("/api/v1/sharing", stranger=200)],
    "api:set_sharing": [
        api_deed(
            "/api/v1/sharing", "admin", data={"is_open": True, "longest_days": 9}, stranger=200, method="PUT"
        )
    ],
    "api:notices": [api_page("/api/v1/notices", stranger=200)],
    # A person's own affair; the trail does not tell it.
    "api:read_notices": [
        Row("/api/v1/notices/read", answers(200, anonymous=401, stranger=200, removed=401), "POST", {}, False)
    ],
    "api:webhooks": [api_page("/api/v1/webhooks", stranger=200)],
    "api:add_webhook": [api_deed("/api/v1/webhooks", "maintainer", 201, HOOK, stranger=201)],
    "api:remove_webhook": [api_deed("/api/v1/webhooks/{webhook}", "maintainer", 204, method="DELETE")],
    "api:webhook_on": [api_deed("/api/v1/webhooks/{webhook}/on", "maintainer")],
    "api:webhook_off": [api_deed("/api/v1/webhooks/{webhook}/off", "maintainer")],
    "api:test_webhook": [api_deed("/api/v1/webhooks/{webhook}/test", "maintainer")],
    "api:deliveries": [api_page("/api/v1/webhooks/{webhook}/deliveries")],
    "api:send_again": [api_deed("/api/v1/webhooks/{webhook}/deliveries/{delivery}/again", "maintainer")],
    "api:activity": [api_page("/api/v1/activity", stranger=200)],
    "api:workloads": [api_page("/api/v1/workloads", stranger=200)],
    "api:workload": [api_page("/api/v1/workloads/softmax", stranger=200)],
    "api:workload_export": [api_page("/api/v1/workloads/softmax/export/kernelsite", stranger=200)],
    "api:workload_import": [
        api_deed("/api/v1/workloads/import", "member", 422, stranger=422, audited=False, below=422),
    ],
    "api:workload_import_report": [api_page("/api/v1/workloads/imports/{import}")],
    "api:probes": [api_page("/api/v1/workloads/imports/{import}/probes")],
    "api:probe_run": [
        api_deed("/api/v1/workloads/imports/{import}/probes", "member", 202, {"programs": [0]}),
    ],
    "api:probe_cancel": [api_deed("/api/v1/workloads/imports/{import}/probes/{probe}/cancel", "member")],
    "api:probe_operators": [api_page("/api/v1/workloads/imports/{import}/probes/{profile}/operators")],
    "api:probe_make": [
        api_deed(
            "/api/v1/workloads/imports/{import}/probes/{profile}/operators",
            "member",
            data={"operators": [RELU]},
        )
    ],
    "api:libraries": [api_page("/api/v1/libraries", stranger=200)],
    "api:library": [api_page("/api/v1/libraries/core", stranger=200)],
    "api:library_export": [api_page("/api/v1/libraries/core/export.yaml", stranger=200)],
    "api:library_import": [
        api_deed("/api/v1/libraries/import", "member", 422, stranger=422, audited=False, below=422),
    ],
    "ops:healthz": [everybody("/healthz")],
    # 503 while no broker runs, as in tests.
    "ops:readyz": [everybody("/readyz", 503)],
}

SOCKETS = {"ws/searches/<int:search_id>/": answers(True, anonymous=False, stranger=False, removed=False)}
