"""`docs/model_faults.md` names a test for each fault of a model server; they must be there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[3]
TEXT = (TESTS.parent / "docs" / "model_faults.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", TEXT)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_is_there(file, name):
    assert re.search(rf"(?m)^def {name}\(", (TESTS / file).read_text("utf-8"))


def test_each_of_the_25_has_a_test():
    rows = dict(re.findall(r"(?m)^\| F(\d+) \|(.*)\|$", TEXT))
    assert sorted(map(int, rows)) == list(range(176, 201))
    assert all("::test_" in line.rsplit("|", 1)[-1] for line in rows.values())
