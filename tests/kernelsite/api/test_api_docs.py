"""docs/api.md and docs/cli.md say what is there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from kernelsite.accounts.models import Scope
from kernelsite.accounts.models.token import PER_MINUTE
from kernelsite.api.client import client as parts
from kernelsite.api.docs import ROOT
from kernelsite.api.ks.__main__ import REFUSED, UNREACHABLE, USAGE
from kernelsite.api.ks.parser import COMMANDS, parser
from kernelsite.api.routes import api
from kernelsite.api.schemas import LaunchBody

DOCS = Path(__file__).parents[3] / "docs"
API, CLI = ((DOCS / name).read_text() for name in ("api.md", "cli.md"))


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def test_every_command_is_shown_and_every_shown_line_parses():
    lines = [line for block in blocks(CLI, "sh") for line in block.splitlines()]
    shown = {parser().parse_args(shlex.split(line)[1:]).command for line in lines}
    assert shown == set(COMMANDS)


def test_every_operation_is_in_the_table_and_nothing_else():
    paths = {path.removeprefix(ROOT[:-1]) for path in api.get_openapi_schema(path_prefix=ROOT)["paths"]}
    table = API.partition("## Operations")[2].partition("A launch starts")[0]
    words = re.findall(r"`(?:[A-Z]+ )?(/[^`?]*)(?:\?[^`]*)?`", table)
    assert set(words) <= paths
    # Operations on one thing of a list that is named stand for themselves.
    unsaid = {path for path in paths - set(words) if not any(path.startswith(f"{word}/") for word in words)}
    assert unsaid == set()


def test_scopes_and_limits():
    told = re.findall(r"^\| `(\w+)` \|", API.partition("## Behaviour")[0], re.M)
    assert told == list(Scope)
    assert f"{PER_MINUTE} requests a minute" in API
    statuses = re.findall(r"^\| (\d) \|", CLI, re.M)
    assert statuses == ["0", "1", str(USAGE), str(REFUSED), str(UNREACHABLE)]


def test_the_shown_body_launches(call, site):
    body = json.loads(re.search(r"-d '(.*?)'", API)[1])
    LaunchBody.model_validate(body)
    assert call("post", "/searches", body).status_code == 201


def test_the_shown_python_compiles_and_names_what_is_there():
    (block,) = blocks(API, "python")
    compile(block, "docs", "exec")
    for name in re.findall(r"`client\.(\w+)`", API):
        assert hasattr(parts.Client, name) or f"self.{name} = " in Path(parts.__file__).read_text()
